//! What a statement tells its client besides the result.

use types::{SqlError, SqlState};

/// A message that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `NOTICE` or `WARNING`.
    pub severity: &'static str,
    /// What it says.
    pub message: SqlError,
}

impl Notice {
    /// Something that went as asked, but perhaps not as meant.
    pub fn information(message: impl Into<String>) -> Notice {
        Notice { severity: "NOTICE", message: SqlError::new(SqlState("00000"), message) }
    }

    /// Something that was not done.
    pub fn warning(message: impl Into<String>) -> Notice {
        Notice::warning_of(SqlState("01000"), message)
    }

    /// A warning of a kind of its own.
    pub fn warning_of(state: SqlState, message: impl Into<String>) -> Notice {
        Notice { severity: "WARNING", message: SqlError::new(state, message) }
    }

    /// Whether a client is told that wants nothing less severe than `least`.
    pub(crate) fn reaches(&self, least: &str) -> bool {
        match least.to_ascii_lowercase().as_str() {
            "error" | "fatal" | "panic" => false,
            "warning" => self.severity == "WARNING",
            _ => true,
        }
    }
}
