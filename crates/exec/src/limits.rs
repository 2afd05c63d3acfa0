//! Limits of the expressions of a query while they are computed.
//!
//! They are computed without waiting, on a worker that others wait for. So a first try has little
//! time and little memory: what needs more is computed for fewer rows at once, and what one row
//! needs on a thread beside the workers, with the memory that the query can have.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use plan::Parameters;
use plan::limits::Limits;
use runtime::time::{self, Instant};
use types::{SqlError, SqlResult};

use crate::memory::values::ValueAccount;
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

/// All that a query can have.
pub(crate) struct Whole {
    wanted: Wanted,
    pub(crate) values: ValueAccount,
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

    fn parameters(&self) -> Option<&Parameters> {
        self.run.query.bindings.as_deref().map(|bindings| &bindings.parameters)
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

    fn parameters(&self) -> Option<&Parameters> {
        self.wanted.parameters()
    }
}

impl Whole {
    pub(crate) fn new(run: &Arc<Run>, scope: &Arc<Scope>) -> Whole {
        let memory = run.query.memory.reserve_collected("expression");
        Whole { wanted: Wanted::new(run, scope), values: ValueAccount::new(memory) }
    }
}

impl Limits for Whole {
    fn go_on(&self) -> SqlResult<()> {
        self.wanted.go_on()
    }

    fn room(&self, bytes: usize) -> SqlResult<()> {
        self.values.room(bytes)
    }

    fn take(&self, bytes: usize) -> SqlResult<()> {
        self.values.take(bytes)
    }

    fn parameters(&self) -> Option<&Parameters> {
        self.wanted.parameters()
    }
}
