//! The value shown of keys of which equal ones look different: that of the first row of each group.

use arrow_array::{Array, ArrayRef, UInt32Array, new_empty_array};
use arrow_schema::DataType;
use plan::expr::Expr;
use types::equality::has_lookalikes;
use types::{SqlError, SqlResult};

use crate::batch;

/// The shown values of the groups, in the order of their numbers.
pub(crate) struct Shown {
    columns: Vec<Column>,
    /// The rows of new groups among those that are being numbered.
    rows: Vec<u32>,
}

struct Column {
    /// Its place among the group columns.
    at: usize,
    ty: DataType,
    /// The values, in pieces.
    values: Vec<ArrayRef>,
    bytes: usize,
}

impl Shown {
    /// None yet, for these group columns.
    pub(super) fn of(group_by: &[Expr]) -> Shown {
        let different = group_by.iter().enumerate().filter(|(_, e)| has_lookalikes(e.data_type()));
        let column = |(at, e): (usize, &Expr)| Column {
            at,
            ty: e.data_type().clone(),
            values: vec![],
            bytes: 0,
        };
        Shown { columns: different.map(column).collect(), rows: vec![] }
    }

    /// Bytes that the values take.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(|column| column.bytes).sum()
    }

    /// Notes that a group begins with the row.
    pub(super) fn note(&mut self, row: usize) {
        if !self.columns.is_empty() {
            self.rows.push(row as u32);
        }
    }

    /// Takes the values of the rows that were noted, of the group columns of all rows.
    pub(super) fn take(&mut self, columns: &[ArrayRef]) -> SqlResult<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = UInt32Array::from(std::mem::take(&mut self.rows));
        for column in &mut self.columns {
            column.push(batch::take_column(&columns[column.at], &rows)?);
        }
        Ok(())
    }

    /// The same of rows that are the groups of another table, whose values are [`Shown::joined`].
    pub(super) fn take_from(&mut self, other: &Shown) -> SqlResult<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = UInt32Array::from(std::mem::take(&mut self.rows));
        for (column, other) in self.columns.iter_mut().zip(&other.columns) {
            let values = other.values.first();
            let values = values.ok_or_else(|| SqlError::internal("groups without their values"))?;
            column.push(batch::take_column(values, &rows)?);
        }
        Ok(())
    }

    /// The same of rows that are those groups of another table.
    pub(super) fn take_at(&mut self, other: &Shown, groups: &[u32]) -> SqlResult<()> {
        self.rows.iter_mut().for_each(|row| *row = groups[*row as usize]);
        self.take_from(other)
    }

    /// The same with the values of each column in one piece.
    pub(super) fn joined(mut self) -> SqlResult<Shown> {
        self.columns.iter_mut().try_for_each(Column::join)?;
        Ok(self)
    }

    /// Puts the values in the place of the keys.
    pub(super) fn put_into(&mut self, columns: &mut [ArrayRef]) -> SqlResult<()> {
        for column in &mut self.columns {
            column.join()?;
            let values = column.values.pop();
            columns[column.at] = values.unwrap_or_else(|| new_empty_array(&column.ty));
        }
        Ok(())
    }
}

impl Column {
    fn push(&mut self, values: ArrayRef) {
        self.bytes += values.get_array_memory_size();
        self.values.push(values);
    }

    fn join(&mut self) -> SqlResult<()> {
        if self.values.len() > 1 {
            let pieces: Vec<&dyn Array> = self.values.iter().map(AsRef::as_ref).collect();
            self.values = vec![arrow_select::concat::concat(&pieces).map_err(batch::arrow)?];
        }
        Ok(())
    }
}
