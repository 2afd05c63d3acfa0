//! Lines of the log.

use std::sync::{Arc, Mutex};

use super::*;

/// The line that is written, as text and as JSON, without its time.
fn check(write: impl Fn(&Log)) -> [String; 2] {
    let lines = Arc::new(Mutex::new(vec![]));
    let theirs = lines.clone();
    let log = Log::new(move |line| theirs.lock().expect("no panic").push(line));
    write(&log);
    log.set_json(true);
    write(&log);
    let lines = lines.lock().expect("no panic");
    let text = lines[0].split_once(' ').expect("a time").1.to_owned();
    let mut json: Map<String, Value> = serde_json::from_str(&lines[1]).expect("JSON");
    json.remove("time");
    [text, Value::Object(json).to_string()]
}

#[test]
fn a_line_is_a_line() {
    let lines = check(|log| {
        log.entry(Severity::Error, "bad\nnews\u{1b}[2J")
            .with("statement", "select\n\"a\"")
            .with("query_id", 7)
            .write();
    });
    assert_eq!(lines[0], r#"ERROR: bad news [2J query_id=7 statement="select\n\"a\"""#);
    let parsed: Value = serde_json::from_str(&lines[1]).expect("JSON");
    assert_eq!(parsed["statement"], "select\n\"a\"");
    assert!(!lines[1].contains('\n'));
}

#[test]
fn times_are_utc() {
    assert_eq!(time_text(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(time_text(951_782_399_123_456), "2000-02-28T23:59:59.123Z");
    assert_eq!(time_text(-1), "1969-12-31T23:59:59.999Z");
}
