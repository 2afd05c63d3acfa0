//! Planning beside the workers: a worker never computes for long without giving way, and the planner,
//! which cannot give way, may. What is large is planned on a thread of its own, a few at once.
//!
//! Whoever waits for such a plan can be cancelled at once, whatever the planner does then: it is asked
//! to end, and what it finds is thrown away.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use exec::{Governor, ValueAccount};
use plan::Plan;
use plan::limits::{InterruptCheck, Limits};
use runtime::sync::{Cancel, Semaphore};
use runtime::time;
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult, SqlState, zone};

use crate::system::catalog::SystemCatalog;

/// Longest planning. The largest queries that people write take a second or two in debug builds.
const PLANNING_MAX: Duration = Duration::from_secs(60);

/// A query with what it was planned with, and how long that took.
pub(crate) type Planned = (SystemCatalog, Arc<Plan>, Duration);

/// Goes on until somebody cancels.
pub(crate) fn until_cancelled(cancel: Cancel) -> InterruptCheck {
    Arc::new(move || match cancel.is_cancelled() || cancel.is_overdue() {
        true => Err(SqlError::cancelled()),
        false => Ok(()),
    })
}

/// The same, or the time is up.
fn for_a_while(cancels: [Cancel; 2]) -> InterruptCheck {
    let begun = time::now();
    Arc::new(move || {
        if cancels.iter().any(|cancel| cancel.is_cancelled() || cancel.is_overdue()) {
            return Err(SqlError::cancelled());
        }
        if begun.elapsed() < PLANNING_MAX {
            return Ok(());
        }
        let message = "the statement takes too long to plan";
        Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            .with_hint("Divide it, for example by a temporary table between its parts."))
    })
}

/// Cancels when it goes: nobody waits any more.
struct Unwanted(Cancel);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs a statement: what plans or computes for it does so in its session's context, and as long as it
/// is not cancelled.
pub(crate) async fn entered<T>(
    context: zone::Context,
    cancel: Cancel,
    governor: &Governor,
    statement: impl Future<Output = T>,
) -> T {
    let limits = Arc::new(StatementLimits::new(governor, until_cancelled(cancel)));
    let mut statement = pin!(statement);
    poll_fn(|cx| {
        let _entered = zone::enter(context);
        let polled = plan::limits::with_limits(limits.clone(), || statement.as_mut().poll(cx));
        limits.values.give_back();
        polled
    })
    .await
}

/// Limits of the expressions of a statement that are computed outside of a plan: its values, those
/// of the rows that it changes.
struct StatementLimits {
    check: InterruptCheck,
    values: ValueAccount,
}

impl StatementLimits {
    fn new(governor: &Governor, check: InterruptCheck) -> StatementLimits {
        let memory = governor.without_plan().reserve_collected("expression");
        StatementLimits { check, values: ValueAccount::new(memory) }
    }
}

impl Limits for StatementLimits {
    fn go_on(&self) -> SqlResult<()> {
        (self.check)()
    }

    fn room(&self, bytes: usize) -> SqlResult<()> {
        self.values.room(bytes)
    }

    fn take(&self, bytes: usize) -> SqlResult<()> {
        self.values.take(bytes)
    }
}

/// What `work` gives, as long as `check` says so. The error of work that was ended is that it was
/// ended: the library makes another one of it where it tries one signature after the other.
fn patiently<T>(
    governor: &Governor,
    check: InterruptCheck,
    work: impl FnOnce() -> SqlResult<T>,
) -> SqlResult<T> {
    let limits = Arc::new(StatementLimits::new(governor, check.clone()));
    plan::limits::with_limits(limits, work).map_err(|error| check().err().unwrap_or(error))
}

/// Plans statements, on their worker or beside it.
#[derive(Clone)]
pub(crate) struct Planner {
    pub(crate) permits: Semaphore,
    pub(crate) governor: Governor,
    pub(crate) context: zone::Context,
}

impl Planner {
    /// What `work` gives. If it is large it is done on a thread beside the workers, and no longer than a
    /// while.
    ///
    /// # Errors
    /// Those of `work`; 57014.
    pub(crate) async fn plan<T: Send + 'static>(
        &self,
        is_large: bool,
        cancel: &Cancel,
        work: impl FnOnce() -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        let context = self.context;
        if !is_large {
            let _entered = zone::enter(context);
            return patiently(&self.governor, until_cancelled(cancel.clone()), work);
        }
        let unwanted = Unwanted(Cancel::default());
        let (cancels, governor) = ([cancel.clone(), unwanted.0.clone()], self.governor.clone());
        let work = move || {
            let _entered = zone::enter(context);
            patiently(&governor, for_a_while(cancels), work)
        };
        self.beside(cancel, work).await?
    }

    /// As many pieces of such work at once as there are planners.
    pub(crate) async fn beside<T: Send + 'static>(
        &self,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> SqlResult<T> {
        let permit = unless_cancelled(cancel, self.permits.acquire()).await?;
        let work = move || {
            let _permit = permit;
            work()
        };
        let done = unless_cancelled(cancel, runtime::offload(work)).await?;
        done.map_err(|aborted| SqlError::internal(format!("planning failed: {aborted}")))
    }
}
