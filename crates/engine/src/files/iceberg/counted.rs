//! Memory for metadata, counted as the query's. There is no plan yet whose operators could have it.

use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use exec::Reservation;
use types::SqlResult;

/// Memory that is counted until it is dropped.
pub(super) struct Counted {
    memory: Arc<Reservation>,
    bytes: usize,
}

/// Bytes of a file of metadata, which are counted as long as they are there.
pub(super) struct Whole {
    pub(super) bytes: Bytes,
    pub(super) _counted: Counted,
}

impl Counted {
    /// None as yet.
    pub(super) fn new(memory: &Arc<Reservation>) -> Counted {
        Counted { memory: memory.clone(), bytes: 0 }
    }

    /// Counts so many bytes, whatever it counted before.
    ///
    /// # Errors
    /// 53200 when more are not to be had.
    pub(super) fn set(&mut self, bytes: usize) -> SqlResult<()> {
        match bytes.checked_sub(self.bytes) {
            Some(0) => return Ok(()),
            Some(more) => self.memory.grow(more)?,
            None => self.memory.shrink(self.bytes - bytes),
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Counts so many more.
    ///
    /// # Errors
    /// As [`Counted::set`].
    pub(super) fn add(&mut self, bytes: usize) -> SqlResult<()> {
        self.set(self.bytes.saturating_add(bytes))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.memory.shrink(self.bytes);
    }
}

impl Deref for Whole {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
