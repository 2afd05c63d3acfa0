//! Expressions over rows of values, computed a row at a time where they have a form for that.

use std::cell::OnceCell;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, SchemaRef};
use plan::expr::{Computed, Expr, Row, RowExpr};
use types::cells::{Cells, Value};
use types::{Column, SqlResult};

use crate::dml::assign;
use crate::dml::assign::{is_of_column, or_null};
use crate::error::from_arrow;

/// Rows that expressions are computed of.
pub(super) struct Inputs<'a> {
    schema: &'a SchemaRef,
    rows: Cells,
    /// The same as vectors, once one expression asks for them.
    batch: OnceCell<RecordBatch>,
}

/// An expression over them.
pub(super) struct Formula {
    expr: Expr,
    row: Option<RowExpr>,
}

/// The values of an expression, one for each row.
pub(super) enum Values {
    Cells(Cells),
    Vector(ArrayRef),
}

impl<'a> Inputs<'a> {
    pub(super) fn new(schema: &'a SchemaRef, rows: Cells) -> Inputs<'a> {
        Inputs { schema, rows, batch: OnceCell::new() }
    }

    pub(super) fn into_rows(self) -> Cells {
        self.rows
    }

    fn batch(&self) -> SqlResult<&RecordBatch> {
        if let Some(batch) = self.batch.get() {
            return Ok(batch);
        }
        let fields = self.schema.fields().iter().enumerate();
        let columns = fields.map(|(at, field)| self.rows.vector(at, field.data_type()));
        let columns = columns.collect::<SqlResult<Vec<_>>>()?;
        let count = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &count);
        let batch = batch.map_err(from_arrow)?;
        Ok(self.batch.get_or_init(|| batch))
    }
}

impl Formula {
    pub(super) fn new(expr: Expr, input: &SchemaRef) -> Formula {
        let row = Computed::of(&expr, input).and_then(|computed| computed.row);
        Formula { expr, row }
    }

    /// True for an expression whose values are true, false or null.
    pub(super) fn is_truth(&self) -> bool {
        *self.expr.data_type() == DataType::Boolean
    }

    /// The value for each row.
    ///
    /// # Errors
    /// Those of computing them.
    pub(super) fn values(&self, inputs: &Inputs<'_>) -> SqlResult<Values> {
        match self.over_rows(&inputs.rows) {
            Some(values) => Ok(Values::Cells(values)),
            None => self.expr.evaluate(inputs.batch()?).map(Values::Vector),
        }
    }

    /// The same as a column has them.
    ///
    /// # Errors
    /// As [`assign`] besides.
    pub(super) fn assigned(&self, inputs: &Inputs<'_>, column: &Column) -> SqlResult<Values> {
        let values = match self.values(inputs)? {
            values if is_of_column(self.expr.data_type(), column) => return Ok(values),
            Values::Cells(values) => values.vector(0, self.expr.data_type())?,
            Values::Vector(values) => values,
        };
        assign(&values, &or_null(column)).map(Values::Vector)
    }

    /// `None` where a row refuses.
    fn over_rows(&self, rows: &Cells) -> Option<Cells> {
        let (row, parameters) = (self.row.as_ref()?, Cells::default());
        let mut values = Cells::new(1);
        for at in 0..rows.len() {
            values.push(row.value(Row { rows, at, parameters: &parameters }).ok()?);
            values.end_row();
        }
        Some(values)
    }
}

impl Values {
    /// Appends the value for a row to one that is being made.
    ///
    /// # Errors
    /// XX000 for a vector of a type that rows do not have.
    pub(super) fn push(&self, row: usize, rows: &mut Cells) -> SqlResult<()> {
        match self {
            Values::Cells(values) => {
                rows.push(values.value(row, 0));
                Ok(())
            }
            Values::Vector(values) => rows.push_of(values.as_ref(), row),
        }
    }

    /// The numbers of the rows for which it is true.
    pub(super) fn held(&self, count: usize) -> SqlResult<Vec<u32>> {
        let mut truths = Cells::new(1);
        for row in 0..count {
            self.push(row, &mut truths)?;
            truths.end_row();
        }
        let is_true = |row: &u32| matches!(truths.value(*row as usize, 0), Value::Word(1));
        Ok((0..count as u32).filter(is_true).collect())
    }
}
