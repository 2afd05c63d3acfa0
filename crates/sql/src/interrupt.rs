//! The limits of `plan` in the library's words.

use datafusion_common::tree_node::Transformed;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use plan::limits;
use types::SqlError;

/// To be called for each part of what is planned, and for each row of what is computed. Errors: as
/// of [`limits::go_on`].
pub(crate) fn check() -> Result<()> {
    limits::go_on().map_err(external)
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
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
        limits::go_on_now().map_err(external)?;
        Ok(Transformed::no(plan))
    }
}
