//! System relations and functions as the binder sees them; the engine supplies both.
//!
//! Clients ask `pg_catalog` and `information_schema` in a dialect of its own. What the library's
//! binder does not know of it is put into words that it does know: see `parse/normalise.rs` and
//! `rewrite/system.rs`.

pub(crate) mod subqueries;

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_expr::{EmptyRelation, LogicalPlan};
use datafusion_optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion_optimizer::{AnalyzerRule, OptimizerConfig, OptimizerRule};
use plan::catalog::TableDef;
use types::SqlResult;

use crate::analyze::tables::CatalogTable;
use crate::error::from_library;
use crate::walk::nodes::{Nodes, erased};

pub use crate::catalog::function::SystemFunction;
pub use crate::catalog::value::{SystemValue, system_column};

/// Whether a plan reads nothing but system relations.
pub(crate) fn reads_system_only(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => {
            scan.source.downcast_ref::<CatalogTable>().is_some_and(|t| t.def.id.is_system())
        }
        LogicalPlan::EmptyRelation(_) => true,
        other => {
            let inputs = other.inputs();
            !inputs.is_empty() && inputs.into_iter().all(reads_system_only)
        }
    }
}

/// What joins a system relation without rows is gone before anything is decorrelated.
pub(crate) fn without_empty(
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> SqlResult<LogicalPlan> {
    let is_empty =
        |node: &LogicalPlan| matches!(node, LogicalPlan::EmptyRelation(e) if !e.produce_one_row);
    if !plan.exists(|node| Ok(is_empty(node))).map_err(from_library)? {
        return Ok(plan);
    }
    let rule = PropagateEmptyRelation::new();
    let without = plan.transform_up(|node| match &node {
        // The type of a column is one that all sides have in common, also those without rows.
        LogicalPlan::Union(union) if !union.inputs.iter().all(|input| is_empty(input)) => {
            Ok(Transformed::no(node))
        }
        _ => rule.rewrite(node, config),
    });
    let without = without.data();
    without.map_err(from_library)
}

/// System relations that never have rows vanish before anything is decorrelated: the clients'
/// queries about features that the engine has not need syntax that nothing else does.
#[derive(Debug)]
pub(crate) struct EmptySystemRelations;

impl AnalyzerRule for EmptySystemRelations {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(erased(&mut |node| {
            let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
            // A part of the statement that has given no rows may give some the next time.
            let never = |def: &TableDef| {
                def.id.is_system() && !def.id.is_given() && def.statistics.row_count == 0
            };
            let table = scan.source.downcast_ref::<CatalogTable>();
            if !table.is_some_and(|table| never(&table.def)) {
                return Ok(Transformed::no(node));
            }
            let schema = scan.projected_schema.clone();
            let none = EmptyRelation { produce_one_row: false, schema };
            Ok(Transformed::yes(LogicalPlan::EmptyRelation(none)))
        }))
        .data()
    }

    fn name(&self) -> &str {
        "empty_system_relations"
    }
}
