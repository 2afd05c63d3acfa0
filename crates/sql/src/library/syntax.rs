//! Special syntax as calls of functions: arrays, subscripts, `extract`, `overlay`.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion_expr::{Expr, GetFieldAccess, Operator};
use datafusion_sql::sqlparser::ast::BinaryOperator;
use types::SqlError;

use super::LIBRARY;
use super::typing::bound_operator;

/// Plans syntax for which the library wants help.
#[derive(Debug)]
pub(super) struct Syntax;

fn call(name: &str, args: Vec<Expr>) -> Result<Expr> {
    match LIBRARY.scalar(name) {
        Some(function) => Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, args))),
        None => Err(DataFusionError::Internal(format!("no function {name}"))),
    }
}

/// The library's name of an operator that we give types to.
fn operator(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Modulo,
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        BinaryOperator::StringConcat => Operator::StringConcat,
        _ => return None,
    })
}

impl ExprPlanner for Syntax {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        match operator(&expr.op) {
            None => Ok(PlannerResult::Original(expr)),
            Some(op) => {
                let typed = bound_operator(expr.left, op, expr.right, schema)?;
                Ok(PlannerResult::Planned(typed))
            }
        }
    }

    fn plan_array_literal(
        &self,
        exprs: Vec<Expr>,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(call("make_array", exprs)?))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        match expr.field_access {
            GetFieldAccess::ListIndex { key } => {
                Ok(PlannerResult::Planned(call("array_element", vec![expr.expr, *key])?))
            }
            _ => {
                let error = SqlError::unsupported("a slice of an array, or a field of a row");
                Err(DataFusionError::External(Box::new(error)))
            }
        }
    }

    fn plan_extract(&self, mut args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        // The name of the field is a word, not a value to be compared.
        if let Some(Expr::Literal(ScalarValue::Utf8(Some(field)), _)) = args.first_mut() {
            *field = field.trim_matches('\'').to_lowercase();
        }
        Ok(PlannerResult::Planned(call("extract", args)?))
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(call("overlay", args)?))
    }

    fn plan_struct_literal(
        &self,
        _args: Vec<Expr>,
        _is_named_struct: bool,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let error = SqlError::unsupported("a row as a value");
        Err(DataFusionError::External(Box::new(error)))
    }
}

/// The type of a cast to `numeric` without a precision, until its operand is known: one that no value has,
/// and wide enough for all, since `VALUES` find a common type before that.
pub(crate) const ANY_NUMERIC: DataType = DataType::Decimal256(74, 20);
