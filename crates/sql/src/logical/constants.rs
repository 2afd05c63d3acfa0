//! Constant expressions, folded by our exact rules before the library folds them by its own, which wrap
//! around and cut off.

use std::collections::BTreeMap;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::metadata::FieldMetadata;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::{Case, Placeholder, ScalarFunction};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Volatility, lit};
use datafusion_optimizer::AnalyzerRule;
use plan::limits::{FOLDED_BYTES_MAX, is_too_large_to_fold};
use types::SqlState;

use crate::expr::scalar;
use crate::functions::as_case;
use crate::functions::library::LIBRARY;
use crate::walk::nodes::{Nodes, erased};

/// Folds what is made of literals only.
#[derive(Debug)]
pub(crate) struct ExactConstants;

impl AnalyzerRule for ExactConstants {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(erased(&mut |node| {
            let preserver = NamePreserver::new(&node);
            let folded = node.map_expressions(erased(&mut |expr: Expr| {
                let name = preserver.save(&expr);
                Ok(folded(expr)?.update_data(|e| name.restore(e)))
            }))?;
            Ok(folded.update_data(false_if_unknown))
        }))
        .data()
    }

    fn name(&self) -> &str {
        "exact_constants"
    }
}

/// The expression with all that is made of literals computed.
pub(crate) fn folded(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(fold)?.transform_data(told_apart)
}

/// The expression with a mark at each literal that is an instant: to the library it equals the moment without a
/// zone of the same number, and two expressions that differ in nothing else would be computed as one.
fn told_apart(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|part| match part {
        Expr::Literal(value @ ScalarValue::TimestampMicrosecond(_, Some(_)), None) => {
            let mark = BTreeMap::from([("instant".to_owned(), String::new())]);
            Ok(Transformed::yes(Expr::Literal(value, Some(FieldMetadata::new(mark)))))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// A filter of which one condition is unknown for all rows asks for no other.
fn false_if_unknown(plan: LogicalPlan) -> LogicalPlan {
    let LogicalPlan::Filter(mut filter) = plan else { return plan };
    let is_unknown = |e: &&Expr| matches!(e, Expr::Literal(value, _) if value.is_null());
    if split_conjunction(&filter.predicate).iter().any(is_unknown) {
        filter.predicate = lit(false);
    }
    LogicalPlan::Filter(filter)
}

/// The expression, computed if it is made of literals only.
pub(crate) fn fold(expr: Expr) -> Result<Transformed<Expr>> {
    crate::interrupt::check()?;
    if let Some(parameter) = typed_parameter(&expr) {
        return Ok(Transformed::yes(parameter));
    }
    let expr = match taken(expr) {
        taken if taken.transformed => return Ok(taken),
        all => all.data,
    };
    if !foldable(&expr) {
        return folded_if_possible(expr);
    }
    match scalar::constant(&expr) {
        Ok(value) => Ok(Transformed::yes(Expr::Literal(value, None))),
        // It is computed when the statement runs.
        Err(error) if is_too_large_to_fold(&error) => Ok(Transformed::no(expr)),
        // It may stand in a branch that is never taken: the executor will say. Of floats the library would
        // make infinity.
        Err(error) if error.state == SqlState::DIVISION_BY_ZERO => {
            match (expr, LIBRARY.scalar("float_div")) {
                (Expr::BinaryExpr(division), Some(function)) if of_floats(&division) => {
                    let args = vec![*division.left, *division.right];
                    let call = ScalarFunction::new_udf(function, args);
                    Ok(Transformed::yes(Expr::ScalarFunction(call)))
                }
                (expr, _) => Ok(Transformed::no(expr)),
            }
        }
        Err(error) => Err(DataFusionError::External(Box::new(error))),
    }
}

/// What is known to be asked for of an expression that asks for some of its parts, without the others: they
/// may be subqueries that would fail.
fn taken(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::Case(case) if case.expr.is_none() => taken_branches(case),
        Expr::ScalarFunction(mut call) => match (call.func.name(), call.args.first()) {
            ("coalesce", Some(Expr::Literal(value, _))) if !value.is_null() => {
                Transformed::yes(call.args.swap_remove(0))
            }
            ("nullif", Some(Expr::Literal(value, _))) if value.is_null() => {
                Transformed::yes(call.args.swap_remove(0))
            }
            _ => Transformed::no(Expr::ScalarFunction(call)),
        },
        other => Transformed::no(other),
    }
}

/// A CASE without branches that are never taken, and without those behind one that is always taken.
fn taken_branches(mut case: Case) -> Transformed<Expr> {
    let is_never = |when: &Expr| match when {
        Expr::Literal(value, _) => value.is_null() || *value == false.into(),
        _ => false,
    };
    let is_always = |when: &Expr| matches!(when, Expr::Literal(v, _) if *v == true.into());
    let mut kept = vec![];
    let mut changed = false;
    for (when, then) in std::mem::take(&mut case.when_then_expr) {
        if is_always(&when) {
            (case.else_expr, changed) = (Some(then), true);
            break;
        }
        match is_never(&when) && case.else_expr.is_some() {
            true => changed = true,
            false => kept.push((when, then)),
        }
    }
    match (kept.is_empty(), case.else_expr.take()) {
        (true, Some(otherwise)) => Transformed::yes(*otherwise),
        (_, else_expr) => {
            let case = Case { expr: None, when_then_expr: kept, else_expr };
            Transformed::new_transformed(Expr::Case(case), changed)
        }
    }
}

/// A parameter of the type that it is cast to: its value is cast when there is one, as a literal is.
fn typed_parameter(expr: &Expr) -> Option<Expr> {
    let Expr::Cast(cast) = expr else { return None };
    let Expr::Placeholder(parameter) = cast.expr.as_ref() else { return None };
    let is_text = |field: &FieldRef| *field.data_type() == DataType::Utf8;
    parameter.field.as_ref().filter(|field| is_text(field))?;
    let (id, field) = (parameter.id.clone(), Some(cast.field.clone()));
    Some(Expr::Placeholder(Placeholder { id, field }))
}

/// A function or a condition of literals. One that fails is left: it may stand in a branch that is never
/// taken.
fn folded_if_possible(expr: Expr) -> Result<Transformed<Expr>> {
    let is_kind = match &expr {
        Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Immutable,
        Expr::BinaryExpr(_)
        | Expr::Case(_)
        | Expr::Cast(_)
        | Expr::Not(_)
        | Expr::Negative(_)
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::Like(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_) => true,
        _ => false,
    };
    let mut of_literals = true;
    expr.apply_children(|child| {
        of_literals &= matches!(child, Expr::Literal(..));
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !is_kind || !of_literals || makes_long_text(&expr) {
        return Ok(Transformed::no(expr));
    }
    let value = as_case::as_case(expr.clone()).map(|e| scalar::constant(&e.data));
    match value {
        Ok(Ok(value)) => Ok(Transformed::yes(Expr::Literal(value, None))),
        _ => Ok(Transformed::no(expr)),
    }
}

/// True if texts are put together that are long as it is: what is made of what a function has made
/// is as long as one likes.
pub(crate) fn makes_long_text(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) = expr else {
        return false;
    };
    let bytes = |side: &Expr| match side {
        Expr::Literal(value, _) => value.try_as_str().flatten().map_or(0, str::len),
        _ => 0,
    };
    bytes(left) + bytes(right) > FOLDED_BYTES_MAX
}

fn of_floats(division: &BinaryExpr) -> bool {
    let float = |e: &Expr| matches!(e, Expr::Literal(v, _) if v.data_type().is_floating());
    division.op == Operator::Divide && (float(&division.left) || float(&division.right))
}

fn foldable(expr: &Expr) -> bool {
    let number = |e: &Expr| matches!(e, Expr::Literal(v, _) if v.data_type().is_numeric());
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let arithmetic = matches!(
                op,
                Operator::Plus
                    | Operator::Minus
                    | Operator::Multiply
                    | Operator::Divide
                    | Operator::Modulo
            );
            arithmetic && number(left) && number(right)
        }
        Expr::Negative(inner) => number(inner),
        Expr::Cast(cast) => {
            let textual = cast.expr.as_literal().is_some_and(|v| v.data_type().is_string());
            let literal = matches!(*cast.expr, Expr::Literal(..));
            let printed = literal && cast.field.data_type().is_string();
            textual || printed || (number(&cast.expr) && cast.field.data_type().is_numeric())
        }
        _ => false,
    }
}
