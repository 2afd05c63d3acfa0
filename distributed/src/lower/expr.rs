//! Expressions: columns and constants are the plan's own, all else is evaluated by the library.

use std::any::Any;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema};
use datafusion::common::DataFusionError;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use engine::{SqlError, SqlResult, SqlState};
use plan::expr::{Costs, Evaluate, Expr, Form, widened_columns};

use crate::fragment::Scalar;

/// An expression over rows of `input`.
///
/// # Errors
/// 0A000 for one that may have another value on each node.
pub fn lowered(scalar: &Scalar, input: &Schema) -> SqlResult<Expr> {
    let ty = scalar.data_type(input).map_err(from_library)?;
    if let Some(column) = scalar.downcast_ref::<Column>() {
        return Ok(Expr::column(column.index(), column.name(), ty));
    }
    if let Some(literal) = scalar.downcast_ref::<Literal>() {
        return Ok(Expr::literal(literal.value().clone(), &literal.to_string()));
    }
    if is_volatile(scalar) {
        let message = format!("{scalar} has another value on each node: a fragment has no such");
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let columns = collect_columns(scalar).iter().map(Column::index).collect();
    let evaluated = OfLibrary { scalar: Arc::clone(scalar), columns };
    Ok(foreign(evaluated, ty, &scalar.to_string()))
}

/// An expression with an evaluator.
pub fn foreign(evaluator: impl Evaluate + 'static, ty: DataType, text: &str) -> Expr {
    Expr::new(Form::Foreign(Arc::new(evaluator)), ty, text, Costs::default())
}

#[derive(Debug)]
struct OfLibrary {
    scalar: Scalar,
    /// The positions of the columns that it reads.
    columns: Vec<usize>,
}

impl Evaluate for OfLibrary {
    fn evaluate(&self, batch: &RecordBatch) -> SqlResult<ArrayRef> {
        let batch = widened_columns(batch, || self.columns.clone())?;
        let value = self.scalar.evaluate(&batch).map_err(from_library)?;
        value.into_array(batch.num_rows()).map_err(from_library)
    }

    fn columns(&self) -> Option<Vec<usize>> {
        Some(self.columns.clone())
    }

    fn is_volatile(&self) -> bool {
        false
    }

    fn is_same(&self, other: &dyn Evaluate) -> bool {
        let other = other.as_any().downcast_ref::<OfLibrary>();
        other.is_some_and(|other| self.scalar.as_ref() == other.scalar.as_ref())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An error of the library with the state that PostgreSQL has for it.
pub fn from_library(error: DataFusionError) -> SqlError {
    let state = match error.find_root() {
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::DivideByZero => SqlState::DIVISION_BY_ZERO,
            ArrowError::ArithmeticOverflow(_) => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            ArrowError::CastError(_) | ArrowError::ParseError(_) => {
                SqlState::INVALID_TEXT_REPRESENTATION
            }
            _ => SqlState::INTERNAL_ERROR,
        },
        DataFusionError::NotImplemented(_) => SqlState::FEATURE_NOT_SUPPORTED,
        _ => SqlState::INTERNAL_ERROR,
    };
    SqlError::new(state, error.strip_backtrace())
}
