//! Why tasks give no output.

use std::fmt;

/// Why a task gave no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aborted {
    /// It was aborted, or its runtime stopped.
    Cancelled,
    /// It panicked with this message.
    Panicked(String),
}

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aborted::Cancelled => f.write_str("the task was cancelled"),
            Aborted::Panicked(message) => write!(f, "the task panicked: {message}"),
        }
    }
}

impl std::error::Error for Aborted {}
