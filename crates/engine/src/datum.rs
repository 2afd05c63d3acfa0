//! Rows as a program has them.

use arrow_array::Array;
use arrow_schema::DataType;
use types::text::format_value;
use types::{Datum, SqlError, SqlResult};

use crate::result::ResultSet;

/// The values of a row, in the order of its columns.
pub type Row = Vec<Datum>;

impl ResultSet {
    /// Its rows.
    ///
    /// # Errors
    /// XX000 for numbers that are none.
    pub fn rows(&self) -> SqlResult<Vec<Row>> {
        let mut rows = vec![];
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let values = batch.columns().iter().map(|column| value(column, row));
                rows.push(values.collect::<SqlResult<Row>>()?);
            }
        }
        Ok(rows)
    }
}

/// The value at a row of a column: a truth, a number, or what SQL writes of another type.
fn value(column: &dyn Array, row: usize) -> SqlResult<Datum> {
    let Some(text) = format_value(column, row) else { return Ok(Datum::Null) };
    let odd = || SqlError::internal(format!("\"{text}\" is no number"));
    match column.data_type() {
        DataType::Boolean => Ok(Datum::Bool(text.starts_with('t'))),
        DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            text.parse().map(Datum::Int).map_err(|_| odd())
        }
        DataType::Float32 | DataType::Float64 => text.parse().map(Datum::Float).map_err(|_| odd()),
        _ => Ok(Datum::Text(text)),
    }
}
