//! The sequences of `serial` and identity columns, as relations.

use std::sync::Arc;

use sql::SystemValue;
use sql::catalog::TableDef;
use sql::constraints::{ColumnDefault, Identity};
use types::LogicalType;

use super::View;
use super::objects::{KIND, table_oid};

/// A sequence.
#[derive(Clone)]
pub(crate) struct Sequence<'a> {
    pub(crate) table: &'a Arc<TableDef>,
    /// The column that it is of.
    pub(crate) ordinal: usize,
    pub(crate) name: String,
    pub(crate) identity: &'a Identity,
}

/// The sequences of a table, in the order of its columns.
pub(crate) fn of_table(table: &Arc<TableDef>) -> impl Iterator<Item = Sequence<'_>> {
    (0..table.schema.columns.len()).filter_map(|ordinal| of_column(table, ordinal))
}

/// The sequence of a column, if it has one.
pub(crate) fn of_column(table: &Arc<TableDef>, ordinal: usize) -> Option<Sequence<'_>> {
    let ColumnDefault::Identity(identity) = table.constraints.default_of(ordinal)? else {
        return None;
    };
    let name = name_of(table, ordinal);
    Some(Sequence { table, ordinal, name, identity })
}

/// The name that the sequence of a column has.
pub(crate) fn name_of(table: &TableDef, ordinal: usize) -> String {
    format!("{}_{}_seq", table.name, table.schema.columns[ordinal].name)
}

impl Sequence<'_> {
    /// Behind those of the table's defaults, in the same order.
    pub(crate) fn oid(&self) -> i64 {
        table_oid(self.table) + 6 * KIND + KIND / 2 + self.ordinal as i64 * (KIND >> 12)
    }

    pub(crate) fn ty(&self) -> LogicalType {
        self.table.schema.columns[self.ordinal].ty
    }

    /// The least and the greatest value.
    pub(crate) fn bounds(&self) -> (i64, i64) {
        let (least, most) = match self.ty() {
            LogicalType::Int16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            LogicalType::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        if self.identity.increment > 0 { (1, most) } else { (least, -1) }
    }

    /// The last value that was taken; null before the first one.
    pub(crate) fn last_value(&self) -> SystemValue {
        match self.identity.next == self.identity.start {
            true => SystemValue::Null,
            false => (self.identity.next - self.identity.increment).into(),
        }
    }
}

impl View {
    /// All sequences, ordered by table.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = Sequence<'_>> {
        self.user_tables().flat_map(of_table)
    }
}
