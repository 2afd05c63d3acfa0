//! How long the planner goes on. It computes without waiting, on a thread that its caller has chosen;
//! now and then it asks whether its result is still wanted.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use types::SqlResult;

/// Says whether to go on: an error ends the planning that asks.
pub type InterruptCheck = Arc<dyn Fn() -> SqlResult<()> + Send + Sync>;

/// Calls of `check` between two questions: an expression's part takes about a microsecond.
const CALLS_PER_QUESTION: u32 = 64;

thread_local! {
    /// Of the planning that this thread does now: it never crosses a suspension, for there is none.
    static CHECK: RefCell<Option<InterruptCheck>> = const { RefCell::new(None) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Plans, or does other work of this crate, as long as `interrupt` says so.
pub fn with_interrupt_check<T>(check: InterruptCheck, work: impl FnOnce() -> T) -> T {
    let _restored = Restored(CHECK.replace(Some(check)));
    work()
}

/// Puts back what was there before, also when the work panics.
struct Restored(Option<InterruptCheck>);

impl Drop for Restored {
    fn drop(&mut self) {
        CHECK.set(self.0.take());
    }
}

/// To be called for each part of what is planned.
pub(crate) fn check() -> Result<()> {
    CALLS.set(CALLS.get().wrapping_add(1));
    if !CALLS.get().is_multiple_of(CALLS_PER_QUESTION) {
        return Ok(());
    }
    ask()
}

fn ask() -> Result<()> {
    let answer = CHECK.with_borrow(|check| check.as_ref().map_or(Ok(()), |ask| ask()));
    answer.map_err(|error| DataFusionError::External(Box::new(error)))
}

/// Stands between the rules of the library, which do not ask themselves.
#[derive(Debug)]
pub(crate) struct BetweenRules;

impl OptimizerRule for BetweenRules {
    fn name(&self) -> &str {
        "between_rules"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        ask()?;
        Ok(Transformed::no(plan))
    }
}
