//! Rows that were taken of a result, and how their values are written: values of a program without
//! vectors, but for types that only vectors write.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use engine::{Portion, RowStream, SqlResult};
use types::binary::{self, sized};
use types::cells::Cells;
use types::outgoing::{encode_cell, has_cell_binary, has_cell_text, write_cell};
use types::text::{self, IntervalStyle};

/// Rows that were taken.
pub(crate) enum Taken {
    Vectors(RecordBatch),
    Values(Values),
}

/// Values with the vectors of those columns that have been written by them.
pub(crate) struct Values {
    schema: SchemaRef,
    rows: Cells,
    vectors: Vec<Option<ArrayRef>>,
}

impl Taken {
    /// A portion of a result.
    pub fn new(portion: Portion, stream: &RowStream) -> Taken {
        match portion {
            Portion::Vectors(batch) => Taken::Vectors(batch),
            Portion::Values(rows) => {
                let (schema, vectors) = (stream.schema().clone(), vec![]);
                Taken::Values(Values { schema, rows, vectors })
            }
        }
    }

    pub fn row_count(&self) -> usize {
        match self {
            Taken::Vectors(batch) => batch.num_rows(),
            Taken::Values(values) => values.rows.len(),
        }
    }

    pub fn column_count(&self) -> usize {
        match self {
            Taken::Vectors(batch) => batch.num_columns(),
            Taken::Values(values) => values.rows.width(),
        }
    }

    /// Writes the value of a row with its length, in a format, intervals as text in a style.
    ///
    /// # Errors
    /// 0A000 for a type that has no binary form here.
    pub fn write(
        &mut self,
        (row, index): (usize, usize),
        (format, intervals): (i16, IntervalStyle),
        body: &mut Vec<u8>,
    ) -> SqlResult<()> {
        let values = match self {
            Taken::Vectors(batch) => {
                return of_vector(batch.column(index), row, (format, intervals), body);
            }
            Taken::Values(values) => values,
        };
        let ty = values.schema.field(index).data_type();
        let value = values.rows.value(row, index);
        match format {
            0 if has_cell_text(ty) => behind_length(body, |body| write_cell(value, ty, body)),
            format if format != 0 && has_cell_binary(ty) => encode_cell(body, value, ty),
            _ => return of_vector(values.vector(index)?, row, (format, intervals), body),
        }
        Ok(())
    }
}

impl Values {
    /// The vector of a column.
    fn vector(&mut self, index: usize) -> SqlResult<&ArrayRef> {
        self.vectors.resize(self.rows.width(), None);
        if self.vectors[index].is_none() {
            let ty = self.schema.field(index).data_type();
            self.vectors[index] = Some(self.rows.vector(index, ty)?);
        }
        Ok(self.vectors[index].as_ref().expect("it has been made"))
    }
}

fn of_vector(
    column: &ArrayRef,
    row: usize,
    (format, intervals): (i16, IntervalStyle),
    body: &mut Vec<u8>,
) -> SqlResult<()> {
    if format != 0 {
        return binary::encode(body, column, row);
    }
    match intervals.format(column, row) {
        Some(styled) => sized(body, styled.as_bytes()),
        None => behind_length(body, |body| text::write_value(column, row, body)),
    }
    Ok(())
}

/// Writes a value behind its length, which is -1 for null.
fn behind_length(body: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> bool) {
    let at = body.len();
    body.extend_from_slice(&(-1i32).to_be_bytes());
    if write(body) {
        let len = (body.len() - at - 4) as i32;
        body[at..at + 4].copy_from_slice(&len.to_be_bytes());
    }
}
