//! What happens in a run, as server-sent events: `plan` once, `tick` ten times a second, `end`.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use runtime::net::Socket;
use runtime::time;
use serde_json::{Map, Value, json};

use super::run::{Run, Sample};
use crate::http::response::{Response, head};
use crate::http::send;

/// Between two ticks.
const TICK: Duration = Duration::from_millis(100);
/// Watchers at once, over all runs: connections of theirs are not ended for the sake of others.
const WATCHER_COUNT_MAX: usize = 64;
/// What the page counts offsets in.
const UNIT_BYTES: u64 = 4096;

/// Somebody who watches a run, and what they know already.
pub(crate) struct Watcher {
    run: Arc<Run>,
    plan_told: bool,
    samples_told: usize,
    point_told: u64,
    /// Counts it, as long as it is there.
    _counted: Arc<()>,
}

/// How many watchers there are.
#[derive(Default)]
pub(crate) struct Watchers(Arc<()>);

impl Watchers {
    /// Lets somebody watch a run.
    ///
    /// # Errors
    /// The response when too many watch already.
    pub fn watch(&self, run: Arc<Run>) -> Result<Watcher, Response> {
        let counted = self.0.clone();
        if Arc::strong_count(&self.0) > 1 + WATCHER_COUNT_MAX {
            return Err(Response::text(429, "too many pages watch runs"));
        }
        Ok(Watcher { run, plan_told: false, samples_told: 0, point_told: 0, _counted: counted })
    }
}

impl Watcher {
    /// Sends events until the run is over. The connection ends then.
    ///
    /// # Errors
    /// The client is gone.
    pub async fn send(mut self, socket: &Socket) -> io::Result<()> {
        let head = head(200, "text/event-stream", &[], false);
        send(socket, format!("{head}\r\n").as_bytes()).await?;
        loop {
            // The timeout is the rhythm, not a failure.
            let _ = time::timeout(TICK, self.run.ended.wait()).await;
            let over = self.run.ended.is_set();
            send(socket, self.news(over).as_bytes()).await?;
            if over {
                return Ok(());
            }
        }
    }

    fn news(&mut self, over: bool) -> String {
        let mut text = String::new();
        if !self.plan_told
            && let Some(live) = self.run.live()
        {
            let id = |id: usize| Map::from_iter([("id".to_owned(), Value::from(id))]);
            event(&mut text, "plan", &engine::explain_json(&live.plan, &id, true).to_string());
            self.plan_told = true;
        }
        let tick = self.tick();
        event(&mut text, "tick", &tick);
        if over {
            event(&mut text, "end", &self.end().to_string());
        }
        text
    }

    fn tick(&mut self) -> String {
        let samples = self.run.samples(self.samples_told);
        self.samples_told += samples.len();
        let mut text = String::from("{\"samples\":");
        list(&mut text, samples.iter().map(sample));
        text.push_str(",\"nodes\":");
        let nodes = self.run.live().map(|live| live.progress.snapshot().nodes);
        list(&mut text, nodes.unwrap_or_default().iter().map(node));
        let news = self.run.trace.after(self.point_told);
        self.point_told = news.points.last().map_or(self.point_told, |point| point.number);
        // The trace began before the query did: times are those of the query.
        let lead = self
            .run
            .live()
            .map_or(0, |live| (live.started - self.run.trace.started()).as_nanos() as u64);
        text.push_str(",\"points\":");
        list(
            &mut text,
            news.points.iter().map(|point| {
                let time_us = point.time_ns.saturating_sub(lead) / 1000;
                let pages = u64::from(point.bytes).div_ceil(UNIT_BYTES);
                [time_us, point.offset / UNIT_BYTES, pages, u64::from(point.rank)]
            }),
        );
        let _ = write!(text, ",\"requests\":{},\"rank_limit\":{}}}", news.total, news.rank_limit);
        text
    }

    fn end(&self) -> Value {
        let Some(end) = self.run.end.get() else { return Value::Null };
        json!({
            "status": end.status,
            "mode": self.run.mode.name(),
            "error": end.error,
            "result": end.result,
            "elapsed_us": end.elapsed.as_micros() as u64,
            "planning_us": end.planning.map(|planning| planning.as_micros() as u64),
        })
    }
}

fn event(text: &mut String, name: &str, data: &str) {
    let _ = write!(text, "event: {name}\ndata: {data}\n\n");
}

fn sample(sample: &Sample) -> [u64; 9] {
    let [created, running, waiting, done] = sample.tasks;
    let Sample { time_us, cpu_us, reads, read_bytes, latency_us, .. } = *sample;
    [time_us, created, running, waiting, done, cpu_us, reads, read_bytes, latency_us]
}

fn node(n: &engine::NodeSnapshot) -> [u64; 6] {
    [n.rows, n.tasks, n.reads, n.read_bytes, n.wait_ns / 1000, n.busy_ns / 1000]
}

/// Writes rows of numbers one after the other: `[1,2,3,4]` for two rows of two.
fn list<const N: usize>(text: &mut String, rows: impl Iterator<Item = [u64; N]>) {
    text.push('[');
    for (index, number) in rows.flatten().enumerate() {
        if index > 0 {
            text.push(',');
        }
        let _ = write!(text, "{number}");
    }
    text.push(']');
}
