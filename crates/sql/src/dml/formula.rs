//! Expressions over rows of values, computed a row at a time where they have a form for that.

use std::borrow::Cow;
use std::cell::OnceCell;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, SchemaRef};
use bumpalo::Bump;
use plan::expr::{Computed, Expr, Row, RowExpr};
use types::cells::{Cells, Value};
use types::{Column, SqlResult};

use crate::dml::assign;
use crate::dml::assign::{is_of_column, or_null};
use crate::error::from_arrow;

/// Rows that expressions are computed of. They may have values behind those of the schema.
pub(crate) struct Inputs<'a> {
    schema: &'a SchemaRef,
    rows: Cow<'a, Cells>,
    /// The same as vectors, once one expression asks for them.
    batch: OnceCell<RecordBatch>,
}

/// An expression over them, in the zone and at the moment of the statement that computes it.
pub(crate) struct Formula {
    expr: Expr,
    row: Option<RowExpr>,
}

/// The values of an expression, one for each row.
pub(crate) enum Values {
    Cells(Cells),
    Vector(ArrayRef),
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(schema: &'a SchemaRef, rows: Cells) -> Inputs<'a> {
        Inputs { schema, rows: Cow::Owned(rows), batch: OnceCell::new() }
    }

    /// The same of rows that stay where they are.
    pub(crate) fn of(schema: &'a SchemaRef, rows: &'a Cells) -> Inputs<'a> {
        Inputs { schema, rows: Cow::Borrowed(rows), batch: OnceCell::new() }
    }

    pub(crate) fn rows(&self) -> &Cells {
        &self.rows
    }

    pub(crate) fn into_rows(self) -> Cells {
        self.rows.into_owned()
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
    pub(crate) fn new(expr: Expr, input: &SchemaRef) -> Formula {
        let row = Computed::of(&expr, input).and_then(|computed| computed.row);
        Formula { expr, row }
    }

    /// The type of its values.
    pub(crate) fn data_type(&self) -> &DataType {
        self.expr.data_type()
    }

    /// True for an expression whose values are true, false or null.
    pub(crate) fn is_truth(&self) -> bool {
        *self.data_type() == DataType::Boolean
    }

    /// The value for each row.
    ///
    /// # Errors
    /// Those of computing them.
    pub(crate) fn values(&self, inputs: &Inputs<'_>) -> SqlResult<Values> {
        match self.over_rows(&inputs.rows) {
            Some(values) => Ok(Values::Cells(values)),
            None => self.evaluate(inputs.batch()?).map(Values::Vector),
        }
    }

    /// The value for each row of vectors.
    ///
    /// # Errors
    /// Those of computing them.
    pub(crate) fn evaluate(&self, rows: &RecordBatch) -> SqlResult<ArrayRef> {
        self.expr.in_context().evaluate(rows)
    }

    /// The same as a vector.
    ///
    /// # Errors
    /// Those of computing them.
    pub(crate) fn vector(&self, inputs: &Inputs<'_>) -> SqlResult<ArrayRef> {
        if let Some(RowExpr::Column(at)) = &self.row {
            return inputs.rows.vector(*at, self.expr.data_type());
        }
        match self.values(inputs)? {
            Values::Cells(values) => values.vector(0, self.expr.data_type()),
            Values::Vector(values) => Ok(values),
        }
    }

    /// The same as a column has them.
    ///
    /// # Errors
    /// As [`assign`] besides.
    pub(crate) fn assigned(&self, inputs: &Inputs<'_>, column: &Column) -> SqlResult<Values> {
        let values = match self.values(inputs)? {
            values if is_of_column(self.expr.data_type(), column) => return Ok(values),
            Values::Cells(values) => values.vector(0, self.expr.data_type())?,
            Values::Vector(values) => values,
        };
        assign(&values, &or_null(column)).map(Values::Vector)
    }

    /// `None` where a row refuses.
    fn over_rows(&self, rows: &Cells) -> Option<Cells> {
        let (row, parameters) = (self.row.as_ref()?, &Cells::default());
        let (mut values, mut made) = (Cells::new(1), Bump::new());
        for at in 0..rows.len() {
            values.push(row.value(Row { rows, at, parameters, made: &made }).ok()?);
            values.end_row();
            made.reset();
        }
        Some(values)
    }
}

/// Rows with other values of some columns, which are given with their ordinals.
///
/// # Errors
/// As [`Values::push`].
pub(crate) fn with_values(rows: &Cells, values: &[(usize, Values)]) -> SqlResult<Cells> {
    let mut changed = Cells::new(rows.width());
    for row in 0..rows.len() {
        for ordinal in 0..rows.width() {
            match values.iter().find(|(other, _)| *other == ordinal) {
                Some((_, values)) => values.push(row, &mut changed)?,
                None => changed.push(rows.value(row, ordinal)),
            }
        }
        changed.end_row();
    }
    Ok(changed)
}

impl Values {
    /// Appends the value for a row to one that is being made.
    ///
    /// # Errors
    /// XX000 for a vector of a type that rows do not have.
    pub(crate) fn push(&self, row: usize, rows: &mut Cells) -> SqlResult<()> {
        match self {
            Values::Cells(values) => {
                rows.push(values.value(row, 0));
                Ok(())
            }
            Values::Vector(values) => rows.push_of(values.as_ref(), row),
        }
    }

    /// The numbers of the rows for which it is true.
    pub(crate) fn held(&self, count: usize) -> SqlResult<Vec<u32>> {
        let mut truths = Cells::new(1);
        for row in 0..count {
            self.push(row, &mut truths)?;
            truths.end_row();
        }
        let is_true = |row: &u32| matches!(truths.value(*row as usize, 0), Value::Word(1));
        Ok((0..count as u32).filter(is_true).collect())
    }
}
