//! A client of HTTP beside those of the database: it asks for health and metrics, and has the console run queries.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime::net::Address;
use runtime::time;
use serde_json::{Value, json};
use stdx::Prng;

use crate::exchange::{END, Exchange, exchange, request};
use crate::player::{Report, Stop};

/// Requests of a client.
const REQUEST_COUNT: usize = 12;
/// Longest pause between two, in simulated time.
const PAUSE_US: u64 = 100_000;

/// Requests with one answer each: the call, its status and its body.
const FIXED: [(&str, u16, &str); 6] = [
    ("GET /healthz", 200, "ok\n"),
    ("GET /readyz", 200, "ready\n"),
    ("GET /nothing", 404, "there is nothing here\n"),
    ("DELETE /metrics", 405, "only GET here\n"),
    ("GET /api/info", 403, "the page is too old: load it again\n"),
    ("nonsense", 400, "this is no HTTP request\n"),
];

pub struct Scraper {
    prng: Prng,
    server: Address,
    /// Whether connections end by themselves.
    is_unkind: bool,
    /// Each counter of the metrics as it was last seen.
    counters: BTreeMap<String, f64>,
    /// That of a page of the console.
    token: Option<String>,
    report: Report,
}

impl Scraper {
    pub fn new(server: Address, seed: u64, is_unkind: bool) -> Scraper {
        let (prng, report) = (Prng::new(seed), Report::default());
        Scraper { prng, server, is_unkind, counters: BTreeMap::new(), token: None, report }
    }

    /// Asks for this and that.
    pub async fn play(mut self) -> (Report, Result<(), Stop>) {
        for _ in 0..REQUEST_COUNT {
            time::sleep(Duration::from_micros(self.prng.below(PAUSE_US))).await;
            if let Err(defect) = self.step().await {
                return (self.report, Err(Stop::Defect(format!("http: {defect}"))));
            }
        }
        (self.report, Ok(()))
    }

    async fn step(&mut self) -> Result<(), String> {
        match self.prng.below(4) {
            0 => self.metrics().await,
            1 => self.console().await,
            _ => {
                let (call, status, body) = FIXED[self.prng.below(FIXED.len() as u64) as usize];
                match self.ask(&request(call, "", ""), status).await? {
                    Some(found) if found != body => Err(format!("{call}: {found:?}")),
                    _ => Ok(()),
                }
            }
        }
    }

    /// The body of an answer with that status; `None`: it has not come, and need not have.
    async fn ask(&mut self, request: &str, status: u16) -> Result<Option<String>, String> {
        let Ok(exchange) = exchange(&self.server, &mut self.prng, request).await else {
            return Ok(None);
        };
        let Some(Exchange { answer, is_late, is_slow }) = exchange else { return Ok(None) };
        let call = request.lines().next().unwrap_or_default();
        match answer {
            Some(answer) if answer.status == 408 && is_late => Ok(None),
            Some(answer) if answer.status != status => Err(format!("{call}: {answer:?}")),
            Some(answer) if answer.is_whole => {
                self.report.answers += 1;
                Ok(Some(answer.body))
            }
            _ if is_late || is_slow || self.is_unkind => Ok(None),
            answer => Err(format!("{call}: {answer:?} is all")),
        }
    }

    /// Counters do not go back.
    async fn metrics(&mut self) -> Result<(), String> {
        let Some(body) = self.ask(&request("GET /metrics", "", ""), 200).await? else {
            return Ok(());
        };
        if !body.ends_with("# EOF\n") {
            return Err(format!("metrics without an end: {body}"));
        }
        for line in body.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').ok_or_else(|| line.to_owned())?;
            let value: f64 = value.parse().map_err(|_| line.to_owned())?;
            let kind = name.split('{').next().unwrap_or_default();
            if !["_total", "_bucket", "_count"].iter().any(|end| kind.ends_with(end)) {
                continue;
            }
            let before = self.counters.insert(name.to_owned(), value);
            if before.is_some_and(|before| before > value) {
                return Err(format!("{line}, after {before:?}"));
            }
        }
        Ok(())
    }

    /// A run of the console: started, perhaps cancelled, and watched to its end.
    async fn console(&mut self) -> Result<(), String> {
        let Some(token) = self.token().await? else { return Ok(()) };
        let shown = format!("X-Dovetail-Token: {token}\r\n");
        let rows = 1 + self.prng.below(20_000);
        let mode = ["ooo", "serial", "static"][self.prng.below(3) as usize];
        let sql = format!("select count(*) from generate_series(1, {rows})");
        let wish = json!({ "sql": sql, "mode": mode }).to_string();
        let started = self.ask(&request("POST /api/run", &shown, &wish), 200).await?;
        let Some(started) = started else { return Ok(()) };
        let started: Value = serde_json::from_str(&started).map_err(|e| e.to_string())?;
        let run = format!("/api/runs/{}", started["id"].as_str().unwrap_or_default());
        let is_cancelled = self.prng.chance(0.3);
        if is_cancelled {
            self.ask(&request(&format!("POST {run}/cancel"), &shown, ""), 200).await?;
        }
        let events = request(&format!("GET {run}/events"), &shown, "");
        let Some(events) = self.ask(&events, 200).await? else { return Ok(()) };
        let end = events.split_once(END).map_or("", |(_, end)| end);
        let end: Value = serde_json::from_str(end.trim()).map_err(|e| format!("{e}: {events}"))?;
        match (&end["status"], &end["result"]["rows"][0][0]) {
            (Value::String(status), _) if is_cancelled && status == "cancelled" => Ok(()),
            (Value::String(status), Value::String(count))
                if status == "done" && *count == rows.to_string() =>
            {
                Ok(())
            }
            _ => Err(format!("{sql}: {end}")),
        }
    }

    /// The token of a page, which serves for many requests.
    async fn token(&mut self) -> Result<Option<String>, String> {
        if self.token.is_some() {
            return Ok(self.token.clone());
        }
        let Some(page) = self.ask(&request("GET /", "", ""), 200).await? else { return Ok(None) };
        let rest = page.split("name=\"dovetail-token\" content=\"").nth(1);
        let token = rest.and_then(|rest| rest.split('"').next()).ok_or("a page without a token")?;
        self.token = Some(token.to_owned());
        Ok(self.token.clone())
    }
}
