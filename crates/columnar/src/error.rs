//! What may go wrong: bytes that are no chunk, bytes that are not at hand, arrays that do not fit.

use std::fmt;
use std::ops::Range;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be encoded or decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes are not what a writer wrote.
    Damage(Damage),
    /// Bytes of the body that are needed are in none of the pieces. The range is in whole sectors:
    /// who reads it, adds it as one piece and tries again gets further.
    Absent(Range<u64>),
    /// Columns of this type are not stored in blocks, or not compared.
    Unsupported(String),
    /// Arrays, columns or rows do not fit the request: the caller's mistake.
    Mismatch(String),
    /// The chunk would have more rows or bytes than the format allows.
    TooLarge,
}

/// Where bytes are damaged, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The byte string.
    pub part: Part,
    /// Offset in it, of the field that is wrong or of the structure that it belongs to.
    pub offset: u64,
    /// What is wrong.
    pub reason: &'static str,
}

/// The two byte strings of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The header.
    Header,
    /// The body.
    Body,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Damage(damage) => damage.fmt(f),
            Error::Absent(range) => {
                write!(f, "bytes {} to {} of the body are not at hand", range.start, range.end)
            }
            Error::Unsupported(what) => write!(f, "not stored in blocks of columns: {what}"),
            Error::Mismatch(what) => f.write_str(what),
            Error::TooLarge => f.write_str("too many rows or bytes for one chunk"),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Header => "header",
            Part::Body => "body",
        };
        write!(f, "chunk is damaged at byte {} of its {part}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for Error {}
