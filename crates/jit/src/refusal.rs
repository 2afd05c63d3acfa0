//! Why something was not compiled: typed, so that whoever falls back can say so.

use std::fmt;

/// Why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotCompiled {
    /// No code is generated for this processor.
    Processor(String),
    /// The system refuses executable memory.
    ExecutableMemory {
        /// The system call that failed.
        call: &'static str,
        /// Its error number.
        errno: i32,
    },
    /// The code would exceed the memory that code may take.
    Budget {
        /// Bytes that it needs.
        bytes: usize,
        /// Bytes that all code may take.
        limit: usize,
    },
    /// More steps than a function may have.
    Steps(usize),
    /// A step uses a column that is not given.
    Column(usize),
    /// A step uses a vector of another type than it takes, or one that comes after it.
    Type(usize),
    /// The generator has no code for an operation.
    Generator(String),
}

impl NotCompiled {
    /// How many reasons there are.
    pub(crate) const REASONS: usize = 7;

    /// The position of the reason among all.
    pub(crate) fn index(&self) -> usize {
        match self {
            NotCompiled::Processor(_) => 0,
            NotCompiled::ExecutableMemory { .. } => 1,
            NotCompiled::Budget { .. } => 2,
            NotCompiled::Steps(_) => 3,
            NotCompiled::Column(_) => 4,
            NotCompiled::Type(_) => 5,
            NotCompiled::Generator(_) => 6,
        }
    }
}

impl fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotCompiled::Processor(why) => {
                write!(f, "no code is generated for this processor: {why}")
            }
            NotCompiled::ExecutableMemory { call, errno } => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "executable memory is refused: {call}: {error}")
            }
            NotCompiled::Budget { bytes, limit } => {
                write!(f, "{bytes} bytes of code exceed what is left of {limit}")
            }
            NotCompiled::Steps(steps) => write!(f, "{steps} steps are too many for one function"),
            NotCompiled::Column(at) => write!(f, "there is no column {at}"),
            NotCompiled::Type(step) => write!(f, "step {step} takes a vector of another type"),
            NotCompiled::Generator(why) => write!(f, "the code generator failed: {why}"),
        }
    }
}

impl std::error::Error for NotCompiled {}
