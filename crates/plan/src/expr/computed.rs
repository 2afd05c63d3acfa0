//! Expressions as a program computes them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use types::cells::{Cells, has_form, value_of};
use types::{SqlError, SqlResult};

use super::row::RowExpr;
use super::scalar::{Expr, Form};

/// An expression of a program: over a row, over all rows, or both, where it is evaluated over all
/// rows if a row refuses.
#[derive(Debug)]
pub struct Computed {
    /// Over a row.
    pub row: Option<RowExpr>,
    /// Over all rows, by who knows its errors. None of what has none.
    pub foreign: Option<Foreign>,
}

/// An expression that is evaluated a vector at a time.
#[derive(Debug)]
pub struct Foreign {
    expr: Expr,
    /// The columns that it reads; of the others there are nulls.
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl Computed {
    /// Over rows of `input`; nothing for what takes long for a row, or is another value each time.
    pub fn of(expr: &Expr, input: &SchemaRef) -> Option<Computed> {
        (!expr.is_volatile()).then(|| Computed::once(expr, input)).flatten()
    }

    /// The same of an expression that may have effects, of rows that it is computed for once; not
    /// of one that may be heavy, since it is computed outside of the limits of a program.
    pub fn once(expr: &Expr, input: &SchemaRef) -> Option<Computed> {
        if expr.is_volatile() && expr.is_heavy() {
            return None;
        }
        let (row, foreign) = (of_row(expr, input), Foreign::of(expr, input));
        let is_either = row.is_some() || foreign.is_some();
        is_either.then_some(Computed { row, foreign })
    }
}

fn of_row(expr: &Expr, input: &Schema) -> Option<RowExpr> {
    match expr.form() {
        Form::Column(at) => Some(RowExpr::Column(*at)),
        Form::Literal(value) if has_form(&value.data_type()) => {
            let array = value.to_array().ok()?;
            Some(RowExpr::Constant(value_of(array.as_ref(), 0).ok()?.into()))
        }
        Form::Literal(_) => None,
        Form::Foreign(evaluator) => evaluator.over_row(input),
    }
}

impl Foreign {
    fn of(expr: &Expr, input: &SchemaRef) -> Option<Foreign> {
        let Form::Foreign(evaluator) = expr.form() else { return None };
        if expr.costs().is_slow || !has_form(expr.data_type()) {
            return None;
        }
        let columns = evaluator.columns()?;
        let field = |(at, field): (usize, &Arc<Field>)| match columns.contains(&at) {
            true => Field::new(field.name(), field.data_type().clone(), true),
            false => Field::new(field.name(), DataType::Null, true),
        };
        let fields: Vec<Field> = input.fields().iter().enumerate().map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        Some(Foreign { expr: expr.clone(), columns, schema })
    }

    /// True if it may be another value each time, or does something then.
    pub fn is_volatile(&self) -> bool {
        self.expr.is_volatile()
    }

    /// The value for each row, within the limits of the caller, which know the parameters of the
    /// execution.
    ///
    /// # Errors
    /// As [`Expr::evaluate`].
    pub fn evaluate(&self, rows: &Cells) -> SqlResult<ArrayRef> {
        let column = |(at, field): (usize, &Arc<Field>)| match self.columns.contains(&at) {
            true => rows.vector(at, field.data_type()),
            false => Ok(new_null_array(&DataType::Null, rows.len())),
        };
        let columns = self.schema.fields().iter().enumerate().map(column);
        let columns = columns.collect::<SqlResult<Vec<_>>>()?;
        let count = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &count);
        self.expr.evaluate(&batch.map_err(|error| SqlError::internal(error.to_string()))?)
    }
}
