//! Limits of the expressions of a query while they are computed.
//!
//! They are computed without waiting, on a worker that others wait for. So a first try has little
//! time and little memory: what needs more is computed for fewer rows at once, and what one row
//! needs on a thread beside the workers, with the memory that the query can have.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use runtime::time::{self, Instant};
use sql::Limits;
use types::{SqlError, SqlResult};

use crate::memory::Reservation;
use crate::run::Run;
use crate::scope::{Scope, halted};

/// Time of a first try: a slice of a worker is not much longer, and a thread costs some hundred
/// times less.
const TRY_TIME: Duration = Duration::from_millis(10);

/// Memory of values that a first try makes: what a batch of the usual size has. Every part of a
/// source in work may have as much in hand.
pub(crate) const TRY_BYTES: usize = 1 << 20;

/// Asks for the part of a query that computes if its rows are still wanted.
pub(crate) struct Wanted {
    run: Arc<Run>,
    scope: Arc<Scope>,
}

/// A first try.
pub(crate) struct Try {
    wanted: Wanted,
    begun: Instant,
    taken: AtomicUsize,
    is_large: AtomicBool,
    is_long: AtomicBool,
}

/// Memory that every thread beside the workers may take without asking: there are few of them. An
/// expression over values of ordinary size needs no more.
pub(crate) const FREE_BYTES: usize = 4 << 20;

/// All that a query can have.
pub(crate) struct Whole {
    wanted: Wanted,
    taken: AtomicUsize,
    pub(crate) memory: Arc<Reservation>,
}

impl Wanted {
    pub(crate) fn new(run: &Arc<Run>, scope: &Arc<Scope>) -> Wanted {
        Wanted { run: Arc::clone(run), scope: Arc::clone(scope) }
    }
}

impl Limits for Wanted {
    fn go_on(&self) -> SqlResult<()> {
        let cancel = &self.run.query.cancel;
        if cancel.is_cancelled() || cancel.is_overdue() {
            return Err(SqlError::cancelled());
        }
        if self.scope.is_stopped() { Err(halted()) } else { Ok(()) }
    }
}

impl Try {
    pub(crate) fn new(run: &Arc<Run>, scope: &Arc<Scope>) -> Try {
        let (taken, begun) = (AtomicUsize::new(0), time::now());
        let (is_large, is_long) = (AtomicBool::new(false), AtomicBool::new(false));
        Try { wanted: Wanted::new(run, scope), begun, taken, is_large, is_long }
    }

    /// True if it ended since its values are large.
    pub(crate) fn is_large(&self) -> bool {
        self.is_large.load(Relaxed)
    }

    /// True if it ended since it took long.
    pub(crate) fn is_long(&self) -> bool {
        self.is_long.load(Relaxed)
    }
}

impl Limits for Try {
    fn go_on(&self) -> SqlResult<()> {
        self.wanted.go_on()?;
        match self.begun.elapsed() > TRY_TIME {
            true => {
                self.is_long.store(true, Relaxed);
                Err(halted())
            }
            false => Ok(()),
        }
    }

    fn room(&self, bytes: usize) -> SqlResult<()> {
        match self.taken.load(Relaxed).saturating_add(bytes) > TRY_BYTES {
            true => {
                self.is_large.store(true, Relaxed);
                Err(halted())
            }
            false => Ok(()),
        }
    }

    fn take(&self, bytes: usize) -> SqlResult<()> {
        self.room(bytes)?;
        self.taken.fetch_add(bytes, Relaxed);
        Ok(())
    }
}

impl Whole {
    pub(crate) fn new(run: &Arc<Run>, scope: &Arc<Scope>) -> Whole {
        let memory = run.query.memory.reserve_collected("expression");
        Whole { wanted: Wanted::new(run, scope), taken: AtomicUsize::new(0), memory }
    }

    /// Gives back what a turn has taken: what an operator keeps of it, it counts itself.
    pub(crate) fn end_turn(&self) {
        if self.taken.swap(0, Relaxed) > FREE_BYTES {
            self.memory.shrink(self.memory.used());
        }
    }

    /// All bytes of values that were computed.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// Of `bytes` more than have been taken, those that are asked for.
    fn asked(taken: usize, bytes: usize) -> usize {
        let beyond = |sum: usize| sum.saturating_sub(FREE_BYTES);
        beyond(taken.saturating_add(bytes)) - beyond(taken)
    }
}

impl Limits for Whole {
    fn go_on(&self) -> SqlResult<()> {
        self.wanted.go_on()
    }

    fn room(&self, bytes: usize) -> SqlResult<()> {
        let asked = Whole::asked(self.taken(), bytes);
        self.memory.grow(asked)?;
        self.memory.shrink(asked);
        Ok(())
    }

    fn take(&self, bytes: usize) -> SqlResult<()> {
        // Only the thread that computes takes.
        let taken = self.taken.fetch_add(bytes, Relaxed);
        self.memory.grow(Whole::asked(taken, bytes))
    }
}
