//! Which plans are good for all values of their parameters.
//!
//! The library takes a parameter for what it is, but some of what stands around one asks for its value: types of
//! results that depend on it (`round(x, $1)` has as many digits), numbers of rows, arguments of aggregates that
//! must be constants. So parameters are admitted where they are known to be values like those of a column, and
//! nowhere else.

use datafusion_common::Result;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::{Expr, LogicalPlan};

use crate::catalog::function::is_of_session;
use crate::optimize::query::Optimized;
use crate::parse::expressions::index;
use crate::parse::set_functions::SERIES;
use crate::walk::nodes::{Nodes, erased_ref};

/// Functions whose results have types that follow from those of their arguments: operators (`analyze/typing`)
/// and what is often compared.
const FUNCTIONS: &[&str] = &[
    "abs",
    "age",
    "all_ne",
    "any_eq",
    "array_length",
    "array_position",
    "array_to_string",
    "btrim",
    "cardinality",
    "ceil",
    "char_length",
    "chr",
    "coalesce",
    "concat",
    "concat_ws",
    "date_minus_date",
    "date_minus_days",
    "date_part",
    "date_plus_days",
    "date_plus_time",
    "date_trunc",
    "days_plus_date",
    "exp",
    "float_div",
    "floor",
    "gcd",
    "greatest",
    "initcap",
    "interval_length",
    "least",
    "left",
    "length",
    "ln",
    "lower",
    "lpad",
    "ltrim",
    "make_array",
    "make_date",
    "make_interval",
    "make_time",
    "make_timestamp",
    "make_timestamptz",
    "md5",
    "mod",
    "nullif",
    "numeric_div",
    "numeric_mul",
    "octet_length",
    "overlay",
    "power",
    "regexp_like",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rpad",
    "rtrim",
    SERIES,
    "sign",
    "span_divided",
    "span_minus_span",
    "span_plus_span",
    "span_plus_time",
    "span_times",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "time_minus_span",
    "time_minus_time",
    "time_plus_span",
    "times_span",
    "timezone",
    "to_char",
    "to_date",
    "to_timestamp",
    "translate",
    "upper",
    "uuid_in",
];

/// Whether all parameters of a query, and of those that it shares, stand where any value may.
pub(super) fn is_for_all_values(query: &Optimized) -> Result<bool> {
    for plan in query.shared.iter().map(|shared| &shared.plan).chain([&query.plan]) {
        if !is_plan_for_all_values(plan)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_plan_for_all_values(plan: &LogicalPlan) -> Result<bool> {
    let mut all = true;
    plan.apply(|node| {
        node.apply_expressions(erased_ref(&mut |expr: &Expr| {
            all &= is_in_place(node, expr)?;
            Ok(going_on(all))
        }))?;
        Ok(going_on(all))
    })?;
    Ok(all)
}

/// True if a query, or one that it shares, has a parameter behind the first `count`.
pub(super) fn has_parameters_beyond(query: &Optimized, count: usize) -> Result<bool> {
    let is_beyond = |expr: &Expr| match expr {
        Expr::Placeholder(placeholder) => index(&placeholder.id).is_none_or(|index| index >= count),
        _ => false,
    };
    let mut found = false;
    for plan in query.shared.iter().map(|shared| &shared.plan).chain([&query.plan]) {
        plan.apply(|node| {
            node.apply_expressions(erased_ref(&mut |expr: &Expr| {
                found |= expr.exists(|part| Ok(is_beyond(part)))?;
                Ok(going_on(!found))
            }))
        })?;
    }
    Ok(found)
}

fn going_on(all: bool) -> TreeNodeRecursion {
    if all { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop }
}

/// The same of an expression of a node.
fn is_in_place(node: &LogicalPlan, expr: &Expr) -> Result<bool> {
    if !expr.exists(|e| Ok(is_parameter(e)))? {
        return Ok(true);
    }
    let is_constant_wanted = match node {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::TableScan(_)
        | LogicalPlan::Values(_) => false,
        // A constant there is another thing than a value.
        LogicalPlan::Aggregate(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_) => true,
        _ => return Ok(false),
    };
    let mut all = !(is_constant_wanted && is_made_of_parameters(expr)?);
    expr.apply(|e| {
        all &= admits(e) || !has_such_operand(e)?;
        Ok(going_on(all))
    })?;
    Ok(all)
}

/// Whether parameters may be operands of an expression.
fn admits(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => {
            FUNCTIONS.contains(&call.func.name()) || is_of_session(&call.func)
        }
        Expr::Alias(_)
        | Expr::BinaryExpr(_)
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::Like(_)
        | Expr::Case(_)
        | Expr::Cast(_)
        | Expr::Not(_)
        | Expr::Negative(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_) => true,
        _ => false,
    }
}

/// Whether an operand is one that becomes a constant with the values.
fn has_such_operand(expr: &Expr) -> Result<bool> {
    let mut found = false;
    expr.apply_children(|child| {
        found |= is_made_of_parameters(child)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Whether it is made of parameters, and of no column.
pub(super) fn is_made_of_parameters(expr: &Expr) -> Result<bool> {
    Ok(expr.exists(|e| Ok(is_parameter(e)))? && expr.column_refs().is_empty())
}

pub(super) fn is_parameter(expr: &Expr) -> bool {
    matches!(expr, Expr::Placeholder(_))
}
