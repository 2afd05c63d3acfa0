//! Casts between instants and local times as calls of `timezone`, where the session's zone is not UTC: the
//! library would fold and move the casts as if it were.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use datafusion_optimizer::AnalyzerRule;
use types::zone::{self, Zone};

use crate::functions::library::LIBRARY;
use crate::walk::nodes::{Nodes, erased};

/// Local time, in microseconds.
const LOCAL: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Says in which zone casts happen. Runs when the library has made all casts, and before it folds them.
#[derive(Debug)]
pub(crate) struct ZoneCasts;

impl AnalyzerRule for ZoneCasts {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let zone = zone::current().zone;
        if zone == Zone::UTC {
            return Ok(plan);
        }
        plan.transform_up_with_subqueries(erased(&mut |node| {
            let schema = Arc::new(match &node {
                LogicalPlan::TableScan(scan) => (*scan.projected_schema).clone(),
                _ => merge_schema(&node.inputs()),
            });
            let preserver = NamePreserver::new(&node);
            node.map_expressions(erased(&mut |expr: Expr| {
                let name = preserver.save(&expr);
                let moved = expr.transform_up(|e| in_zone(e, zone, &schema))?;
                Ok(moved.update_data(|e| name.restore(e)))
            }))
        }))
        .data()
    }

    fn name(&self) -> &str {
        "zone_casts"
    }
}

fn in_zone(expr: Expr, zone: Zone, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::Cast(given) = &expr else { return Ok(Transformed::no(expr)) };
    let (from, to) = (given.expr.get_type(schema)?, given.field.data_type());
    let operand = (*given.expr).clone();
    if is_instant(&from) && is_local(to) {
        let local = timezone(zone, operand)?;
        return Ok(Transformed::yes(if *to == LOCAL { local } else { cast(local, to.clone()) }));
    }
    if is_local(&from) && is_instant(to) {
        let local = if from == LOCAL { operand } else { cast(operand, LOCAL) };
        return timezone(zone, local).map(Transformed::yes);
    }
    Ok(Transformed::no(expr))
}

fn timezone(zone: Zone, value: Expr) -> Result<Expr> {
    let Some(function) = LIBRARY.scalar("timezone") else {
        return Err(DataFusionError::Internal("no function timezone".into()));
    };
    let name = Expr::Literal(ScalarValue::Utf8View(Some(zone.name())), None);
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![name, value])))
}

fn is_instant(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
}

fn is_local(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(_, None) | DataType::Date32 | DataType::Time64(_))
}
