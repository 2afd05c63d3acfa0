//! Rows that a statement lists.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion_common::ScalarValue;
use types::{SqlError, SqlResult};

use crate::parameters::Parameters;

/// Literal rows: `VALUES`, or the one row without columns of a `SELECT` without `FROM`.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The rows; of a plan that is kept for all values those that it was made for.
    pub rows: RecordBatch,
    /// The places of values that each execution has of its own.
    pub places: Vec<Place>,
}

/// A value of a row that is a parameter of the column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The row, from 0.
    pub row: usize,
    /// The column, from 0.
    pub column: usize,
    /// The number of the parameter.
    pub number: usize,
}

impl From<RecordBatch> for Listed {
    fn from(rows: RecordBatch) -> Listed {
        Listed { rows, places: vec![] }
    }
}

impl Listed {
    /// The rows of an execution.
    ///
    /// # Errors
    /// XX000 where a plan for all values runs without parameters, or with those of other types.
    pub fn with(&self, parameters: Option<&Parameters>) -> SqlResult<RecordBatch> {
        if self.places.is_empty() {
            return Ok(self.rows.clone());
        }
        let none = || SqlError::internal("a plan for all values has none");
        let values = &parameters.ok_or_else(none)?.values;
        let columns = (0..self.rows.num_columns()).map(|at| self.column(at, values));
        let columns = columns.collect::<SqlResult<Vec<_>>>()?;
        let count = RecordBatchOptions::new().with_row_count(Some(self.rows.num_rows()));
        RecordBatch::try_new_with_options(self.rows.schema(), columns, &count)
            .map_err(|error| SqlError::internal(error.to_string()))
    }

    fn column(&self, at: usize, values: &[ScalarValue]) -> SqlResult<ArrayRef> {
        let column = self.rows.column(at);
        let mut places = self.places.iter().filter(|place| place.column == at).peekable();
        if places.peek().is_none() {
            return Ok(Arc::clone(column));
        }
        let known = (0..column.len()).map(|row| ScalarValue::try_from_array(column, row));
        let mut cells = known.collect::<Result<Vec<_>, _>>().map_err(internal)?;
        for place in places {
            let value = values.get(place.number).cloned();
            cells[place.row] = value.ok_or_else(|| SqlError::internal("no such parameter"))?;
        }
        ScalarValue::iter_to_array(cells).map_err(internal)
    }
}

fn internal(error: datafusion_common::DataFusionError) -> SqlError {
    SqlError::internal(error.to_string())
}
