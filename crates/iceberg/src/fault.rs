//! What can be wrong with metadata.

use std::fmt;

/// What went wrong, in words for whoever gave the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// What an error counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The bytes are not what they should be.
    Damaged,
    /// They are what the specification allows, and this crate does not read.
    Unsupported,
    /// They are more than is read.
    TooLarge,
    /// What was asked for is not in the table.
    Absent,
}

/// What functions of this crate give.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn damaged(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Damaged, message: message.into() }
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Unsupported, message: message.into() }
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::TooLarge, message: message.into() }
    }

    pub(crate) fn absent(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Absent, message: message.into() }
    }

    /// What it counts as.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
