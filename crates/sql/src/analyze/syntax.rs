//! Special syntax as calls of functions: arrays and their operators, subscripts, `extract`, `overlay`.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawDictionaryExpr,
    RawFieldAccessExpr, RawWindowExpr,
};
use datafusion_expr::{Expr, ExprSchemable, GetFieldAccess, Operator};
use datafusion_sql::sqlparser::ast::BinaryOperator;
use types::{SqlError, SqlState};

use crate::analyze::no_columns;
use crate::analyze::typing::{bound_operator, settled};
use crate::functions::library::call;
use crate::functions::sets_mark::sets_mark;
use crate::render::type_name;
use crate::walk::nodes::Nodes;

/// Plans syntax for which the library wants help.
#[derive(Debug)]
pub(crate) struct Syntax;

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

/// The function behind an operator between arrays.
fn relation(op: &BinaryOperator) -> Option<&'static str> {
    match op {
        BinaryOperator::AtArrow => Some("arraycontains"),
        BinaryOperator::ArrowAt => Some("arraycontained"),
        BinaryOperator::PGOverlap => Some("arrayoverlap"),
        _ => None,
    }
}

/// Whether two arrays have elements that can be compared.
fn are_alike(left: &DataType, right: &DataType) -> bool {
    let (DataType::List(left), DataType::List(right)) = (left, right) else {
        return left.is_null() || right.is_null();
    };
    let (left, right) = (left.data_type(), right.data_type());
    left.is_null()
        || right.is_null()
        || left == right
        || (left.is_numeric() && right.is_numeric())
        || (left.is_string() && right.is_string())
}

/// The library leaves casts out of names, and then takes `sum(x)` and `sum(x::numeric)` for one column.
fn show_casts(argument: &mut Expr) {
    if argument.exists(|e| Ok(matches!(e, Expr::Cast(_)))).unwrap_or(false) {
        let name = argument.to_string();
        *argument = std::mem::take(argument).alias(name);
    }
}

fn no_operator(left: &DataType, op: &BinaryOperator, right: &DataType) -> DataFusionError {
    let (left, right) = (type_name(left), type_name(right));
    let message = format!("operator does not exist: {left} {op} {right}");
    let error = SqlError::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(
        "No operator matches the given name and argument types. You might need to add explicit type casts.",
    );
    DataFusionError::External(Box::new(error))
}

impl ExprPlanner for Syntax {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if let Some(name) = relation(&expr.op) {
            let sides = settled([expr.left, expr.right], schema)?;
            let [left, right] = [sides[0].get_type(schema)?, sides[1].get_type(schema)?];
            if !are_alike(&left, &right) {
                return Err(no_operator(&left, &expr.op, &right));
            }
            return Ok(PlannerResult::Planned(call(name, sides.into())?));
        }
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

    /// What a statement says beside its text ([`crate::parse::marks`]).
    fn plan_dictionary_literal(
        &self,
        expr: RawDictionaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawDictionaryExpr>> {
        Ok(PlannerResult::Planned(match expr.values {
            none if none.is_empty() => no_columns::stand_in(),
            sets => sets_mark(sets),
        }))
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
            GetFieldAccess::ListRange { start, stop, .. } => {
                Ok(PlannerResult::Planned(call("array_slice", vec![expr.expr, *start, *stop])?))
            }
            GetFieldAccess::NamedStructField { .. } => {
                let error = SqlError::unsupported("a field of a row");
                Err(DataFusionError::External(Box::new(error)))
            }
        }
    }

    fn plan_aggregate(
        &self,
        mut expr: RawAggregateExpr,
    ) -> Result<PlannerResult<RawAggregateExpr>> {
        expr.args.iter_mut().for_each(show_casts);
        Ok(PlannerResult::Original(expr))
    }

    fn plan_window(&self, mut expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        expr.args.iter_mut().for_each(show_casts);
        Ok(PlannerResult::Original(expr))
    }

    fn plan_extract(&self, mut args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        // The name of the field is a word, not a value to be compared.
        if let Some(Expr::Literal(ScalarValue::Utf8(Some(field)), _)) = args.first_mut() {
            *field = field.trim_matches('\'').to_lowercase();
        }
        Ok(PlannerResult::Planned(call("extract", args)?))
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(call("strpos", args)?))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(call("substr", args)?))
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
