//! Expressions simplified by the library, but computed by us: it folds what has become constant by its own
//! arithmetic and casts, which wrap around, cut off, and know no zone.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use arrow_schema::{DataType, FieldRef};
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Result, ScalarValue, internal_err};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{
    BinaryExpr, ColumnarValue, Expr, LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use plan::limits;

use crate::logical::constants::makes_long_text;
use crate::walk::nodes::{Nodes, erased};

/// The plan with what is constant folded by `fold`, by our rules, and the rest simplified by `simplify`, to which
/// operands that it might make constant look like values that nobody knows.
pub(crate) fn simplified(
    plan: LogicalPlan,
    fold: impl Fn(Expr) -> Result<Transformed<Expr>>,
    simplify: impl FnOnce(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
) -> Result<Transformed<LogicalPlan>> {
    let folded = each(plan, &fold)?;
    let (names, mut saved) = (NamePreserver::new(&folded.data), vec![]);
    // No name is put over what is only for a moment: rules know functions by what they are.
    let opaque = folded.data.map_expressions(erased(&mut |expr: Expr| {
        saved.push(names.save(&expr));
        expr.transform_up(with_opaque_operands)
    }))?;
    let simplified = limits::folding(|| simplify(opaque.data))?;
    let changed = folded.transformed || simplified.transformed;
    if !opaque.transformed {
        return Ok(Transformed::new_transformed(simplified.data, changed));
    }
    let mut saved = saved.into_iter();
    let shown = simplified.data.map_expressions(erased(&mut |expr: Expr| {
        let shown = expr.transform_up(shown)?.transform_data(&fold)?;
        Ok(match saved.next() {
            Some(name) => shown.update_data(|expr| name.restore(expr)),
            None => shown,
        })
    }))?;
    Ok(Transformed::new_transformed(shown.data, changed))
}

/// The plan with its expressions changed, each under its own name.
fn each(
    plan: LogicalPlan,
    change: impl Fn(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(erased(&mut |expr: Expr| {
        let name = names.save(&expr);
        Ok(change(expr)?.update_data(|expr| name.restore(expr)))
    }))
}

/// The operator with operands behind [`Opaque`] that the library may make constants of, if the two of us
/// would compute it differently.
fn with_opaque_operands(expr: Expr) -> Result<Transformed<Expr>> {
    let compares = match &expr {
        Expr::BinaryExpr(pair) if matches!(pair.op, Operator::And | Operator::Or) => {
            let op = pair.op;
            return expr.map_children(|operand| Ok(with_opaque_member(operand, op)));
        }
        // The library takes what stands on both sides out, and forgets that it may be null.
        Expr::BinaryExpr(pair) if pair.op == Operator::BitwiseXor => {
            return expr.map_children(|operand| Ok(Transformed::yes(opaque(operand))));
        }
        Expr::BinaryExpr(_) if makes_long_text(&expr) => {
            return expr.map_children(|operand| Ok(Transformed::yes(opaque(operand))));
        }
        Expr::BinaryExpr(pair) => is_comparison(pair.op),
        Expr::Cast(_) | Expr::TryCast(_) | Expr::Negative(_) => false,
        _ => return Ok(Transformed::no(expr)),
    };
    expr.map_children(|operand| {
        let is_left = is_known(&operand) || compares && !has_lookalikes(&operand)?;
        match is_left {
            true => Ok(Transformed::no(operand)),
            false => Ok(Transformed::yes(opaque(operand))),
        }
    })
}

/// An operand of AND or OR whose member is opaque if it is a test of membership that the library
/// would make one with another: `x in (1) and x in (2)` is false to it, also where x is null.
fn with_opaque_member(operand: Expr, op: Operator) -> Transformed<Expr> {
    match operand {
        Expr::InList(mut list) if list.negated == (op == Operator::Or) => {
            list.expr = Box::new(opaque(*list.expr));
            Transformed::yes(Expr::InList(list))
        }
        Expr::Not(inner) => {
            let other = if op == Operator::Or { Operator::And } else { Operator::Or };
            with_opaque_member(*inner, other).update_data(|inner| Expr::Not(Box::new(inner)))
        }
        other => Transformed::no(other),
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Whether the library makes no constant of the operand but of one that it is.
fn is_known(operand: &Expr) -> bool {
    let is_zero = |e: &Expr| matches!(e, Expr::Literal(v, _) if is_zero(v));
    match operand {
        Expr::Column(_)
        | Expr::Literal(..)
        | Expr::Placeholder(_)
        | Expr::OuterReferenceColumn(..)
        | Expr::ScalarSubquery(_) => true,
        Expr::Alias(alias) => is_known(&alias.expr),
        Expr::Cast(cast) => is_known(&cast.expr),
        Expr::Negative(inner) => is_known(inner),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::Plus | Operator::Minus => is_known(left) && is_known(right),
            Operator::Multiply | Operator::Divide => {
                let any = [left, right].into_iter();
                any.clone().all(|e| is_known(e) && !is_zero(e))
            }
            _ => false,
        },
        _ => false,
    }
}

fn is_zero(value: &ScalarValue) -> bool {
    ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero == *value)
}

/// Whether an operand has literals of a type of which equal values look different.
fn has_lookalikes(operand: &Expr) -> Result<bool> {
    operand.exists(|part| {
        Ok(matches!(part, Expr::Literal(value, _)
            if value.data_type().is_floating() || matches!(value.data_type(), DataType::Interval(_))))
    })
}

/// The name of the function that hides a value.
const OPAQUE: &str = "opaque_operand";

/// A value that the library does not know, while it simplifies what is around it, nor takes for
/// another one.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Opaque {
    signature: Signature,
    number: u64,
}

fn opaque(operand: Expr) -> Expr {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let signature = Signature::any(1, Volatility::Volatile);
    let number = NUMBERS.fetch_add(1, Relaxed);
    let function = Arc::new(ScalarUDF::from(Opaque { signature, number }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![operand]))
}

/// The value behind [`Opaque`], and what is in a name only because of it.
fn shown(expr: Expr) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Alias(alias) if alias.name.contains("opaque_operand(") => {
            Ok(Transformed::yes(*alias.expr))
        }
        Expr::ScalarFunction(mut call) if call.func.name() == OPAQUE => {
            Ok(Transformed::yes(call.args.swap_remove(0)))
        }
        other => Ok(Transformed::no(other)),
    }
}

impl ScalarUDFImpl for Opaque {
    fn name(&self) -> &str {
        OPAQUE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::clone(&args.arg_fields[0]))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("a value that is opaque to rules was computed")
    }
}
