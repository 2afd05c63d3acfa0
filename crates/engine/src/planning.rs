//! Planning beside the workers: a worker never computes for long without giving way, and the planner,
//! which cannot give way, may. What is large is planned on a thread of its own, a few at once.
//!
//! Whoever waits for such a plan can be cancelled at once, whatever the planner does then: it is asked
//! to end, and what it finds is thrown away.

use std::sync::Arc;
use std::time::Duration;

use runtime::sync::Cancel;
use runtime::time;
use sql::plan::Plan;
use sql::{Patience, Query};
use types::{SqlError, SqlResult, SqlState, zone};

use crate::query::unless_cancelled;
use crate::session::Session;
use crate::system::SystemCatalog;

/// Statements that are planned at once on threads of their own, for each worker: more would only take
/// the processor from each other.
pub(crate) const PLANNERS_PER_WORKER: usize = 2;

/// Longest planning. The largest queries that people write take a second or two in debug builds.
const PLANNING_MAX: Duration = Duration::from_secs(60);

/// A query with what it was planned with, and how long that took.
pub(crate) type Planned = (SystemCatalog, Arc<Plan>, Duration);

/// Goes on until somebody cancels.
pub(crate) fn until_cancelled(cancel: Cancel) -> Patience {
    Arc::new(move || match cancel.is_cancelled() {
        true => Err(SqlError::cancelled()),
        false => Ok(()),
    })
}

/// The same, or the time is up.
fn for_a_while(cancels: [Cancel; 2]) -> Patience {
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

impl Session {
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
        self.offloaded(&cancel, work).await
    }

    /// As many pieces of such work at once as there are planners.
    async fn offloaded<T: Send + 'static>(
        &self,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> SqlResult<T> {
        let permit = unless_cancelled(cancel, self.database().planners().acquire()).await?;
        let work = move || {
            let _permit = permit;
            work()
        };
        let done = unless_cancelled(cancel, runtime::offload(work)).await?;
        done.map_err(|aborted| SqlError::internal(format!("planning failed: {aborted}")))
    }

    /// Plans a query in a task of the database's runtime, which others share.
    pub(crate) async fn plan_in_task(&self, query: &Query, cancel: &Cancel) -> SqlResult<Planned> {
        let snapshot = self.database().snapshot();
        if !query.is_large(&|name| snapshot.views.contains_key(name)) {
            return self.plan(query);
        }
        let (catalog, options, context) =
            (self.system_catalog(), self.planner_options_now(), self.context());
        let unwanted = Unwanted(Cancel::default());
        let cancels = [cancel.clone(), unwanted.0.clone()];
        let (query, theirs) = (query.clone(), catalog.clone());
        let work = move || {
            let _entered = zone::enter(context);
            let (begun, patience) = (time::now(), for_a_while(cancels));
            let planned =
                sql::with_patience(patience, || sql::plan_query(&query, &theirs, &options));
            (planned, begun.elapsed())
        };
        let (plan, planning) = self.offloaded(cancel, work).await?;
        let plan = plan?;
        self.activity().planned(planning);
        Ok((catalog, Arc::new(plan), planning))
    }
}
