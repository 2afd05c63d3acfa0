//! The log: one line for each thing that happened, as text or as JSON.
//!
//! Values that clients send never appear: statements are shown as their texts with the passwords cut
//! out, parameters not at all, and of an error only its code and its message without what it quotes.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::{Map, Value};

/// How much somebody should care, in PostgreSQL's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// For the record.
    Log,
    /// Something is not as it should be.
    Warning,
    /// A statement failed.
    Error,
    /// A connection ended.
    Fatal,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Log => "LOG",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
        }
    }
}

/// Where the lines go. It must not block: connections call it.
type Sink = Box<dyn Fn(String) + Send + Sync>;

/// The log of a server.
pub struct Log {
    json: AtomicBool,
    sink: Sink,
}

/// A line that is being put together.
pub struct Entry<'a> {
    log: &'a Log,
    severity: Severity,
    message: String,
    fields: Map<String, Value>,
}

impl Log {
    /// A log whose lines, without their ends, go to `sink`, which must not block.
    pub fn new(sink: impl Fn(String) + Send + Sync + 'static) -> Log {
        Log { json: AtomicBool::new(false), sink: Box::new(sink) }
    }

    /// A log that nobody reads.
    pub fn nowhere() -> Log {
        Log::new(|_| {})
    }

    /// Whether lines are JSON from now on.
    pub fn set_json(&self, json: bool) {
        self.json.store(json, Relaxed);
    }

    /// Begins a line.
    pub fn entry(&self, severity: Severity, message: impl Into<String>) -> Entry<'_> {
        Entry { log: self, severity, message: message.into(), fields: Map::new() }
    }

    /// A line for the record.
    pub fn note(&self, message: impl Into<String>) {
        self.entry(Severity::Log, message).write();
    }
}

impl Entry<'_> {
    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Writes the line.
    pub fn write(self) {
        let (time, log) = (time_text(runtime::time::unix_us()), self.log);
        let line = match log.json.load(Relaxed) {
            true => self.json(time),
            false => self.text(&time),
        };
        (log.sink)(line);
    }

    fn json(self, time: String) -> String {
        let mut line = Map::new();
        line.insert("time".into(), time.into());
        line.insert("severity".into(), self.severity.name().into());
        line.insert("message".into(), self.message.into());
        line.extend(self.fields);
        Value::Object(line).to_string()
    }

    fn text(self, time: &str) -> String {
        let message = one_line(&self.message);
        let mut line = format!("{time} {}: {message}", self.severity.name());
        for (name, value) in &self.fields {
            // Texts are quoted as in JSON, so a line stays a line.
            line += &format!(" {name}={value}");
        }
        line
    }
}

/// Without what would begin another line, or move a terminal's cursor.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// An instant in UTC, to the millisecond, as RFC 3339 has it.
fn time_text(unix_us: i64) -> String {
    let (days, us) = (unix_us.div_euclid(DAY_US), unix_us.rem_euclid(DAY_US));
    let civil = types::datetime::civil_of(days);
    let (s, ms) = (us / 1_000_000, us / 1_000 % 1_000);
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    let (year, month, day) = (civil.year, civil.month, civil.day);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{ms:03}Z")
}

const DAY_US: i64 = 86_400_000_000;

#[cfg(test)]
mod tests;
