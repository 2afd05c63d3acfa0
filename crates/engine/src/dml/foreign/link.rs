//! The columns of a foreign key beside those that they refer to, which may be of other types. Keys that rows
//! have lost are texts as the table has them that is referred to.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use plan::catalog::TableDef;
use plan::constraints::ForeignKey;
use sql::dml::{assign, equal, is_coarser};
use types::parse::ColumnParser;
use types::text::format_value;
use types::{Column, LogicalType, SqlResult};

/// A key as texts, one per column.
pub(crate) type Key = Vec<String>;

/// A foreign key with the definitions of both of its tables.
pub(crate) struct Link {
    pub(crate) parent: Arc<TableDef>,
    pub(crate) child: Arc<TableDef>,
    pub(crate) key: ForeignKey,
}

impl Link {
    /// For each row of the child the key that it refers to; `None` where a column is null, and where no row
    /// of the parent can have what it is equal to.
    pub(crate) fn referred(&self, rows: &RecordBatch) -> SqlResult<Vec<Option<Key>>> {
        let ours =
            |(own, other): (&usize, &usize)| equal(rows.column(*own), self.referenced(*other));
        let columns = self.key.columns.iter().zip(&self.key.referenced).map(ours);
        Ok(texts(&columns.collect::<SqlResult<Vec<_>>>()?, rows.num_rows()))
    }

    /// What to look for in the child to find all rows that refer to one of these keys, and perhaps others: the
    /// types that its columns are to be compared as, and values of these types.
    pub(super) fn sought(&self, keys: &[&Key]) -> SqlResult<(Vec<LogicalType>, Vec<Key>)> {
        let (mut types, mut columns) = (vec![], vec![]);
        for (position, (own, other)) in self.columns().enumerate() {
            let values = parsed(other, keys.iter().map(|key| Some(&*key[position])))?;
            let is_coarser = is_coarser(own.ty, other.ty);
            types.push(if is_coarser { other.ty } else { own.ty });
            columns.push(if is_coarser { values } else { equal(&values, own)? });
        }
        let keys = texts(&columns, keys.len()).into_iter().flatten();
        Ok((types, keys.collect()))
    }

    /// Values of a referenced column, as texts, as the column of the child that refers to it has them.
    pub(super) fn assigned<'a>(
        &self,
        position: usize,
        values: impl Iterator<Item = Option<&'a str>>,
    ) -> SqlResult<ArrayRef> {
        let (own, other) = (self.own(position), self.referenced(self.key.referenced[position]));
        let values = parsed(other, values)?;
        assign(&values, &Column { nullable: true, ..own.clone() })
    }

    fn columns(&self) -> impl Iterator<Item = (&Column, &Column)> {
        let pair = |(at, &other)| (self.own(at), self.referenced(other));
        self.key.referenced.iter().enumerate().map(pair)
    }

    fn own(&self, position: usize) -> &Column {
        &self.child.schema.columns[self.key.columns[position]]
    }

    fn referenced(&self, ordinal: usize) -> &Column {
        &self.parent.schema.columns[ordinal]
    }
}

/// The values of columns as texts, `None` for rows with a null among them.
pub(super) fn texts(columns: &[ArrayRef], count: usize) -> Vec<Option<Key>> {
    let key = |row: usize| columns.iter().map(|values| key_text(values, row)).collect();
    (0..count).map(key).collect()
}

/// A value as a text that is the same for values that are equal: zero has no sign.
pub(super) fn key_text(values: &ArrayRef, row: usize) -> Option<String> {
    let text = format_value(values, row)?;
    let is_zero = text == "-0" && values.data_type().is_floating();
    Some(if is_zero { "0".to_owned() } else { text })
}

/// Texts as values of a column's type.
fn parsed<'a>(
    column: &Column,
    texts: impl Iterator<Item = Option<&'a str>>,
) -> SqlResult<ArrayRef> {
    let mut parser = ColumnParser::new(&Column { nullable: true, ..column.clone() });
    for text in texts {
        parser.push(text)?;
    }
    Ok(parser.finish())
}
