//! Limits of the expressions of a program: they are computed without giving way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use plan::Parameters;
use plan::limits::Limits;
use runtime::time::{self, Instant};
use types::SqlResult;

use super::ROOM;
use crate::scope::halted;

/// Time of an expression for all rows: a slice of a worker is not much longer.
const TIME_MAX: Duration = Duration::from_millis(10);

/// Little time and memory; what needs more is computed by a pipeline, which has ways for that.
pub(super) struct Small {
    parameters: Parameters,
    begun: Instant,
    taken: AtomicUsize,
    is_over: AtomicBool,
}

impl Small {
    pub(super) fn new(parameters: &Parameters) -> Small {
        let (taken, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        Small { parameters: parameters.clone(), begun: time::now(), taken, is_over }
    }

    /// True if the work was ended since it needs more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    fn end(&self) -> SqlResult<()> {
        self.is_over.store(true, Relaxed);
        Err(halted())
    }
}

impl Limits for Small {
    fn go_on(&self) -> SqlResult<()> {
        if self.begun.elapsed() > TIME_MAX { self.end() } else { Ok(()) }
    }

    fn room(&self, bytes: usize) -> SqlResult<()> {
        match self.taken.load(Relaxed).saturating_add(bytes) > ROOM.bytes {
            true => self.end(),
            false => Ok(()),
        }
    }

    fn take(&self, bytes: usize) -> SqlResult<()> {
        self.room(bytes)?;
        self.taken.fetch_add(bytes, Relaxed);
        Ok(())
    }

    fn parameters(&self) -> Option<&Parameters> {
        Some(&self.parameters)
    }
}
