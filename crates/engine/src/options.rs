//! How a database is opened.

/// Options of [`crate::Database::create`] and [`crate::Database::open`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory of the buffer pool, in bytes.
    pub memory_bytes: usize,
    /// Which ring does the I/O.
    pub ring: RingKind,
    /// Worker threads; by default one per core.
    pub workers: usize,
    /// Bypass the operating system's page cache.
    pub direct: bool,
}

/// The I/O back end that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKind {
    /// `uring` where the kernel allows it, else `threads`; the choice is reported.
    Auto,
    /// io_uring, or an error.
    Uring,
    /// A pool of threads that read and write.
    Threads,
}

/// Of a machine's memory, the default pool takes a quarter, as PostgreSQL advises for its own.
const MEMORY_SHARE: usize = 4;

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_bytes: runtime::probe::memory_bytes() / MEMORY_SHARE,
            ring: RingKind::Auto,
            workers: runtime::probe::core_count(),
            direct: true,
        }
    }
}

impl std::str::FromStr for RingKind {
    type Err = String;

    fn from_str(text: &str) -> Result<RingKind, String> {
        match text {
            "auto" => Ok(RingKind::Auto),
            "uring" => Ok(RingKind::Uring),
            "threads" => Ok(RingKind::Threads),
            _ => Err(format!("ring must be auto, uring or threads, not \"{text}\"")),
        }
    }
}
