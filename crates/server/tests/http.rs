//! Health and metrics as a scraper sees them, and what a stranger may send.
#![allow(clippy::disallowed_methods, reason = "clients are outside of the seam")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use engine::{Database, Options};
use server::{Address, Server, ServerOptions};

/// A server over an empty database; it ends with the test's process.
fn serve(name: &str) -> SocketAddr {
    let folder = std::env::temp_dir().join(format!("dovetail-http-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let db = Database::create(&folder.join("t.dovetail"), Options::default()).expect("a database");
    let http_listen = vec![Address::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let options = ServerOptions { http_listen, ..ServerOptions::default() };
    let server = Server::start(&db, &options).expect("a server");
    let Address::Tcp(address) = server.http_addresses()[0] else { panic!("not TCP") };
    // The last handle must not be dropped on a worker.
    std::mem::forget((db, server));
    std::fs::remove_dir_all(&folder).ok();
    address
}

/// Sends `text` and returns all that comes until the server closes.
fn talk(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    // The server may refuse and close before it has read all.
    let _ = stream.write_all(text.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("text")
}

fn get(address: SocketAddr, path: &str) -> String {
    talk(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

#[test]
fn health_and_metrics_answer() {
    let address = serve("health");
    assert!(get(address, "/healthz").ends_with("\r\n\r\nok\n"));
    assert!(get(address, "/readyz").ends_with("\r\n\r\nready\n"));
    assert!(get(address, "/nothing").starts_with("HTTP/1.1 404 "));
    let metrics = get(address, "/metrics");
    let body = metrics.split_once("\r\n\r\n").expect("a head").1;
    assert!(body.ends_with("# EOF\n"), "{body}");
    assert!(body.contains("dovetail_build_info{version="), "{body}");
    check_open_metrics(body);
}

/// Each sample belongs to the family declared last; counters end in `_total`; values are numbers.
fn check_open_metrics(body: &str) {
    let (mut family, mut kind) = (String::new(), String::new());
    for line in body.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, of) = declared.split_once(' ').expect("a kind");
            (family, kind) = (name.to_owned(), of.to_owned());
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let name = name.split('{').next().expect("a name");
            let suffix = name.strip_prefix(&family).unwrap_or_else(|| panic!("{line}"));
            let known: &[&str] = match kind.as_str() {
                "counter" => &["_total"],
                "info" => &["_info"],
                "histogram" => &["_bucket", "_count", "_sum"],
                _ => &[""],
            };
            assert!(known.contains(&suffix), "{line}");
            assert!(value.parse::<f64>().is_ok_and(|v| v >= 0.0), "{line}");
        }
    }
}

#[test]
fn connections_are_kept_and_pipelined() {
    let address = serve("keep");
    let two = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n\
               HEAD /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = talk(address, two);
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
    assert!(!answer.ends_with("ready\n"), "{answer}");
}

#[test]
fn bad_requests_are_refused() {
    let address = serve("bad");
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(40_000));
    let cases = [
        ("nonsense\r\n\r\n", "HTTP/1.1 400 "),
        (long.as_str(), "HTTP/1.1 431 "),
        ("POST /healthz HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", "HTTP/1.1 413 "),
        ("DELETE /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 405 "),
        // The head never ends: an answer comes when the time is over.
        ("GET /healthz HTTP/1.1\r\nHost: a\r\n", "HTTP/1.1 408 "),
    ];
    for (text, expected) in cases {
        let answer = talk(address, text);
        assert!(answer.starts_with(expected), "{}: {answer}", &text[..text.len().min(60)]);
    }
}

/// The token of a fresh page.
fn token(address: SocketAddr) -> String {
    let page = get(address, "/");
    assert!(page.contains("Content-Security-Policy: default-src 'none'; script-src 'nonce-"));
    let rest = page.split("name=\"dovetail-token\" content=\"").nth(1).expect("a token");
    rest.split('"').next().expect("a token").to_owned()
}

/// A request to the console; `fields` are further header fields, each with its line end.
fn api(address: SocketAddr, call: &str, host: &str, fields: &str, body: &str) -> String {
    let len = body.len();
    let text = format!(
        "{call} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {len}\r\n\
         {fields}\r\n{body}"
    );
    talk(address, &text)
}

#[test]
fn the_console_answers_its_own_pages_only() {
    let address = serve("guard");
    let token = token(address);
    let shown = format!("X-Dovetail-Token: {token}\r\n");
    let foreign = format!("{shown}Origin: http://evil.example\r\n");
    let own = format!("{shown}Origin: http://localhost:1\r\n");
    let cases = [
        ("localhost:1", shown.as_str(), "HTTP/1.1 200 "),
        ("localhost:1", own.as_str(), "HTTP/1.1 200 "),
        ("localhost:1", "", "HTTP/1.1 403 "),
        ("localhost:1", "X-Dovetail-Token: 0123\r\n", "HTTP/1.1 403 "),
        ("localhost:1", foreign.as_str(), "HTTP/1.1 403 "),
        ("evil.example", shown.as_str(), "HTTP/1.1 421 "),
    ];
    for (host, fields, expected) in cases {
        let answer = api(address, "GET /api/info", host, fields, "");
        assert!(answer.starts_with(expected), "{host} {fields}: {answer}");
    }
    assert!(api(address, "GET /", "evil.example", "", "").starts_with("HTTP/1.1 421 "));
}

#[test]
fn runs_are_started_watched_and_refused() {
    let address = serve("runs");
    let shown = format!("X-Dovetail-Token: {}\r\n", token(address));
    let run = |body: &str| api(address, "POST /api/run", "localhost", &shown, body);
    let started =
        run(r#"{"sql": "select g, g * 2 as d from generate_series(1, 300) g", "mode": "ooo"}"#);
    assert!(started.starts_with("HTTP/1.1 200 "), "{started}");
    let id = started.rsplit("\"id\":\"").next().expect("an id").trim_end_matches("\"}");
    let events = api(address, &format!("GET /api/runs/{id}/events"), "localhost", &shown, "");
    assert!(events.contains("event: plan\n") && events.contains("event: tick\n"), "{events}");
    let end = events.split("event: end\ndata: ").nth(1).expect("an end");
    let end: serde_json::Value = serde_json::from_str(end.trim()).expect("JSON");
    assert_eq!(end["status"], "done", "{end}");
    assert_eq!(end["result"]["row_count"], 300);
    assert_eq!(end["result"]["rows"].as_array().map(Vec::len), Some(200));
    assert_eq!(end["result"]["rows"][1], serde_json::json!(["2", "4"]));
    let refused = [
        (r#"{"sql": "create table x (a int)", "mode": "ooo"}"#, "25006"),
        (r#"{"sql": "select 1; select 2", "mode": "ooo"}"#, "0A000"),
        (r#"{"sql": "selekt", "mode": "ooo"}"#, "42601"),
        (r#"{"sql": "select 1", "mode": "sideways"}"#, "22023"),
        (r#"{"sql": "select 1", "mode": "static", "partitions": 99999}"#, "22023"),
        ("{", "22023"),
    ];
    for (body, state) in refused {
        let answer = run(body);
        assert!(answer.starts_with("HTTP/1.1 422 ") && answer.contains(state), "{body}: {answer}");
    }
}
