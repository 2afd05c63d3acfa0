//! Planning beside the workers: a worker never computes for long without giving way, and the planner,
//! which cannot give way, may. What is large is planned on a thread of its own, a few at once.
//!
//! Whoever waits for such a plan can be cancelled at once, whatever the planner does then: it is asked
//! to end, and what it finds is thrown away.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use runtime::sync::{Cancel, Semaphore};
use runtime::time;
use sql::plan::Plan;
use sql::{Bound, InterruptCheck, Query, Statement};
use types::{SqlError, SqlResult, SqlState, zone};

use crate::columns;
use crate::session::Session;
use crate::session::transaction::TransactionStatus;
use crate::system::catalog::SystemCatalog;
use crate::waiting::unless_cancelled;

/// Statements that are planned at once on threads of their own, for each worker: more would only take
/// the processor from each other.
pub(crate) const PLANNERS_PER_WORKER: usize = 2;

/// Longest planning. The largest queries that people write take a second or two in debug builds.
const PLANNING_MAX: Duration = Duration::from_secs(60);

/// A query with what it was planned with, and how long that took.
pub(crate) type Planned = (SystemCatalog, Arc<Plan>, Duration);

/// Goes on until somebody cancels.
pub(crate) fn until_cancelled(cancel: Cancel) -> InterruptCheck {
    Arc::new(move || match cancel.is_cancelled() {
        true => Err(SqlError::cancelled()),
        false => Ok(()),
    })
}

/// The same, or the time is up.
fn for_a_while(cancels: [Cancel; 2]) -> InterruptCheck {
    let begun = time::now();
    Arc::new(move || {
        if cancels.iter().any(Cancel::is_cancelled) {
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
    statement: impl Future<Output = T>,
) -> T {
    let (check, mut statement) = (until_cancelled(cancel), pin!(statement));
    poll_fn(|cx| {
        let _entered = zone::enter(context);
        sql::with_interrupt_check(check.clone(), || statement.as_mut().poll(cx))
    })
    .await
}

/// What `work` gives, as long as `interrupt` says so. The error of work that was ended is that it was
/// ended: the library makes another one of it where it tries one signature after the other.
fn patiently<T>(check: InterruptCheck, work: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
    sql::with_interrupt_check(check.clone(), work).map_err(|error| check().err().unwrap_or(error))
}

/// Plans statements, on their worker or beside it.
#[derive(Clone)]
pub(crate) struct Planner {
    permits: Semaphore,
    context: zone::Context,
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
            return patiently(until_cancelled(cancel.clone()), work);
        }
        let unwanted = Unwanted(Cancel::default());
        let cancels = [cancel.clone(), unwanted.0.clone()];
        let work = move || {
            let _entered = zone::enter(context);
            patiently(for_a_while(cancels), work)
        };
        self.beside(cancel, work).await?
    }

    /// As many pieces of such work at once as there are planners.
    async fn beside<T: Send + 'static>(
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

impl Session {
    pub(crate) fn planner(&self) -> Planner {
        Planner { permits: self.database().planners().clone(), context: self.context() }
    }

    /// Does work that comes before a statement begins, such as parsing, on a thread beside the workers;
    /// it can be cancelled.
    ///
    /// # Errors
    /// 57014; XX000 when it panics.
    pub async fn beside_workers<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> SqlResult<T> {
        let cancel = Cancel::default();
        self.listen_to(cancel.clone());
        self.planner().beside(&cancel, work).await
    }

    /// Plans a query. Outside of a block, tables that other databases write are brought up to what is there now.
    pub(crate) async fn plan(&self, query: &Query, cancel: &Cancel) -> SqlResult<Planned> {
        let planned = self.plan_over_what_is_known(query, cancel).await?;
        match Box::pin(self.follow(&planned, cancel)).await? {
            true => self.plan_over_what_is_known(query, cancel).await,
            false => Ok(planned),
        }
    }

    /// Brings the tables of a plan that other databases write up to what is there now; whether one was old.
    async fn follow(&self, (catalog, plan, _): &Planned, cancel: &Cancel) -> SqlResult<bool> {
        let is_in_block = self.transaction_status() != TransactionStatus::Idle;
        if is_in_block || self.database().block().is_some() {
            return Ok(false);
        }
        let mut was_old = false;
        for entry in columns::remote::refresh::following(&plan.root, catalog.snapshot()) {
            let is_old = columns::remote::refresh::is_old(catalog.snapshot(), &entry);
            if unless_cancelled(cancel, is_old).await?? {
                let writing = self.writing_alone().await?;
                let refreshed = columns::remote::refresh::refresh(&writing, &entry.def.name);
                let refreshed = unless_cancelled(cancel, refreshed).await.flatten();
                writing.settle(refreshed).await?;
                was_old = true;
            }
        }
        Ok(was_old)
    }

    async fn plan_over_what_is_known(&self, query: &Query, cancel: &Cancel) -> SqlResult<Planned> {
        match query.bound.as_ref().filter(|bound| bound.generic().is_some()) {
            Some(bound) => self.plan_again(bound, cancel).await,
            None => self.plan_anew(query, cancel).await,
        }
    }

    /// Puts values into a generic plan, unless that is good no more.
    async fn plan_again(&self, bound: &Bound, cancel: &Cancel) -> SqlResult<Planned> {
        if let Some(planned) = self.planned_before(bound, &self.system_catalog()) {
            return Ok(planned);
        }
        match bound.again()? {
            Statement::Query(query) => self.plan_anew(&query, cancel).await,
            _ => Err(SqlError::internal("a query is another statement now")),
        }
    }

    async fn plan_anew(&self, query: &Query, cancel: &Cancel) -> SqlResult<Planned> {
        let snapshot = self.database().snapshot();
        let is_large = query.is_large(&|name| snapshot.views.contains_key(name));
        let keeps_version = self.database().block().is_some_and(|block| block.keeps_version());
        let notes = keeps_version && !snapshot.read_view.notes_reads();
        let catalog = match notes && query.row_locks().is_some() {
            true => self.catalog_over(snapshot.with_view(snapshot.read_view.locking())),
            false => self.system_catalog(),
        };
        // Boxed: what a store is asked for is a deep future, in a place where futures are deep already.
        Box::pin(catalog.open_files(query, cancel)).await?;
        let options = self.planner_options_now();
        let wish = if is_large { None } else { self.wish(query.bound.as_ref()) };
        let (query, theirs) = (query.clone(), catalog.clone());
        let work = move || {
            let begun = time::now();
            let plan = sql::plan_query(&query, &theirs, &options)?;
            let made = wish.map(|wish| {
                let generic = wish.made(&plan, &theirs, &options)?;
                Ok((wish, generic))
            });
            Ok((plan, made.transpose()?, begun.elapsed()))
        };
        let (plan, made, planning) = self.planner().plan(is_large, cancel, work).await?;
        self.activity().planned(planning);
        if let Some((wish, generic)) = made {
            self.keep_plan(wish, generic);
        }
        Ok((catalog, Arc::new(plan), planning))
    }
}
