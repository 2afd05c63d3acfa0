//! What the log says of a connection: how it began and ended, what failed, what took long.
//!
//! Nothing that a client sent as a value is said: of an error's message, quotations that do not stand
//! in the statement's shown text are left out; its detail and hint, which may name values of rows,
//! are for the client only. Plans show `?` for constants.

use std::sync::atomic::Ordering::Relaxed;

use engine::{SqlError, StatementActivity};
use runtime::net::Address;

use crate::connection::Connection;
use crate::events::shortened;
use crate::log::{Entry, Severity};

impl Connection {
    /// A line about this connection.
    fn entry(&self, severity: Severity, message: impl Into<String>) -> Entry<'_> {
        let mut entry = self.shared.log.entry(severity, message);
        if let Some(key) = &self.key {
            entry = entry.with("pid", key.process);
        }
        match self.slot {
            Some(_) => entry.with("user", self.session.user()),
            None => entry.with("client", host(&self.peer)),
        }
    }

    /// A client has logged in.
    pub(crate) fn record_arrival(&self) {
        if !self.shared.tells_connections.load(Relaxed) {
            return;
        }
        let entry = self.entry(Severity::Log, "connection authorized");
        let entry = entry.with("client", host(&self.peer));
        match self.stream.encryption() {
            Some(encryption) => entry.with("tls", encryption).write(),
            None => entry.write(),
        }
    }

    /// A client was not let in.
    pub(crate) fn record_refusal(&self, error: &SqlError) {
        // The message names role, database and host at most.
        self.entry(Severity::Fatal, &*error.message).with("sqlstate", error.state.0).write();
    }

    /// The beginning was no beginning: no handshake, no protocol, too slow.
    pub(crate) fn record_failed_start(&self, error: &std::io::Error) {
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            return;
        }
        let entry = self.entry(Severity::Log, "connection ended before it was authorized");
        entry.with("reason", error.to_string()).write();
    }

    /// The connection ends.
    pub(crate) fn depart(&self) {
        if self.slot.is_some() && self.shared.tells_connections.load(Relaxed) {
            self.entry(Severity::Log, "disconnection").write();
        }
    }

    /// A statement has run: said if it took long.
    pub(crate) fn record_statement(&mut self) {
        let slow_ms = self.shared.slow_ms.load(Relaxed);
        if slow_ms < 0 {
            return;
        }
        let Some(statement) = self.statement() else { return };
        let Some(elapsed) = statement.elapsed.filter(|e| e.as_millis() as i64 >= slow_ms) else {
            return;
        };
        let ms = elapsed.as_micros() as f64 / 1e3;
        let entry = self
            .entry(Severity::Log, format!("duration: {ms:.3} ms"))
            .with("duration_ms", ms)
            .with("query_id", statement.query_id)
            .with("application_name", &*statement.application_name)
            .with("statement", shortened(&statement.text));
        match &statement.live {
            None => entry.write(),
            Some(live) => {
                let figures = live.account.snapshot();
                entry
                    .with("mode", live.mode.name())
                    .with("cpu_ms", figures.cpu_ns as f64 / 1e6)
                    .with("reads", figures.reads)
                    .with("plan", engine::explain_masked(&live.plan).join("\n"))
                    .write();
            }
        }
    }

    /// A statement has failed, in one of the phases of its life.
    pub(crate) fn record_error(&mut self, error: &SqlError, severity: Severity) {
        let ran = std::mem::take(&mut self.ran);
        let text = self.text.clone().unwrap_or_default();
        let message = without_values(&error.message, &text);
        let mut entry = self.entry(severity, message).with("sqlstate", error.state.0);
        if ran && let Some(statement) = self.statement() {
            entry = entry.with("query_id", statement.query_id);
        }
        if !text.is_empty() {
            entry = entry.with("statement", shortened(&text));
        }
        entry.write();
    }

    fn statement(&self) -> Option<StatementActivity> {
        self.session.activity().statement()
    }
}

fn host(peer: &Address) -> String {
    match peer {
        Address::Unix(_) => "[local]".to_owned(),
        Address::Tcp(peer) => peer.to_string(),
    }
}

/// A message without what it quotes, unless that is one quotation that stands in `text`: anything
/// between the first quote and the last may be the value of a parameter, which may hold quotes too.
fn without_values(message: &str, text: &str) -> String {
    let quotes = ['"', '\''];
    let (Some(first), Some(last)) = (message.find(quotes), message.rfind(quotes)) else {
        return message.to_owned();
    };
    let (before, after) = (&message[..=first], &message[last..]);
    if first == last {
        return format!("{before}..");
    }
    let inner = &message[first + 1..last];
    match !inner.is_empty() && !inner.contains(quotes) && text.contains(inner) {
        true => message.to_owned(),
        false => format!("{before}..{after}"),
    }
}

#[cfg(test)]
mod tests;
