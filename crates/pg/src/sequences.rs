//! Sequences as relations: those of `serial` and identity columns, and those of `CREATE SEQUENCE`.

use std::sync::Arc;

use engine::system::{OwnedRelation, SequenceKey};
use plan::catalog::TableDef;
use plan::constraints::Identity;
use plan::sequence::{Sequence as Numbers, SequenceDef};
use sql::{SystemValue, ViewDef};
use types::LogicalType;

use crate::objects::{FIRST_OID, KIND, VIEW_KIND, table_oid};
use crate::view::View;

/// A sequence.
#[derive(Clone)]
pub(crate) struct Sequence<'a> {
    pub(crate) name: String,
    pub(crate) numbers: &'a Numbers,
    pub(crate) origin: Origin<'a>,
}

/// What made a sequence.
#[derive(Clone)]
pub(crate) enum Origin<'a> {
    /// A column that numbers rows.
    Column(&'a Arc<TableDef>, usize, &'a Identity),
    /// `CREATE SEQUENCE`
    Statement(&'a Arc<SequenceDef>),
}

/// The sequences of a table, in the order of its columns.
pub(crate) fn of_table(table: &Arc<TableDef>) -> impl Iterator<Item = Sequence<'_>> {
    (0..table.schema.columns.len()).filter_map(|ordinal| of_column(table, ordinal))
}

/// The sequence of a column, if it has one.
pub(crate) fn of_column(table: &Arc<TableDef>, ordinal: usize) -> Option<Sequence<'_>> {
    let identity = table.constraints.identity_of(ordinal)?;
    let name = table.sequence_name(ordinal);
    let origin = Origin::Column(table, ordinal, identity);
    Some(Sequence { name, numbers: &identity.sequence, origin })
}

pub(crate) fn of_statement(def: &Arc<SequenceDef>) -> Sequence<'_> {
    let origin = Origin::Statement(def);
    Sequence { name: def.name.clone(), numbers: &def.sequence, origin }
}

/// Behind those of the table's defaults, in the same order.
pub(crate) fn oid_of_column(table: &TableDef, ordinal: usize) -> i64 {
    table_oid(table) + 6 * KIND + KIND / 2 + ordinal as i64 * (KIND >> 12)
}

impl Sequence<'_> {
    pub(crate) fn oid(&self) -> i64 {
        match self.origin {
            Origin::Column(table, ordinal, _) => oid_of_column(table, ordinal),
            // Views have the lower half of their kind.
            Origin::Statement(def) => FIRST_OID + VIEW_KIND * KIND + KIND / 2 + i64::from(def.id),
        }
    }

    pub(crate) fn ty(&self) -> LogicalType {
        match self.origin {
            Origin::Column(table, ordinal, _) => table.schema.columns[ordinal].ty,
            Origin::Statement(def) => def.ty(),
        }
    }

    /// Where its number is on disk.
    pub(crate) fn key(&self) -> SequenceKey {
        match self.origin {
            Origin::Column(table, ordinal, _) => SequenceKey(table.id.0, ordinal as u16),
            Origin::Statement(def) => SequenceKey(def.id, 0),
        }
    }

    /// Whether it is a part of an identity column.
    pub(crate) fn is_identity(&self) -> bool {
        matches!(self.origin, Origin::Column(_, _, identity) if identity.standard)
    }

    /// What has the access list that counts for it.
    pub(crate) fn relation(&self) -> OwnedRelation<'_> {
        match self.origin {
            Origin::Column(table, ..) => OwnedRelation::Table(table.id.0),
            Origin::Statement(def) => OwnedRelation::Sequence(def.id),
        }
    }

    /// The least and the greatest value.
    pub(crate) fn bounds(&self) -> (i64, i64) {
        self.numbers.bounds(self.ty())
    }

    /// The last value that was taken; null before the first one.
    pub(crate) fn last_value(&self) -> SystemValue {
        let (value, is_called) = self.numbers.last();
        is_called.then_some(value).into()
    }
}

impl View {
    /// All sequences.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = Sequence<'_>> {
        let made = self.made_sequences().map(of_statement);
        self.tables().flat_map(of_table).chain(made)
    }

    /// The table and the ordinal of the column that a sequence goes with.
    pub(crate) fn owner_of_sequence<'a>(
        &'a self,
        sequence: &Sequence<'a>,
    ) -> Option<(&'a Arc<TableDef>, usize)> {
        match sequence.origin {
            Origin::Column(table, ordinal, _) => Some((table, ordinal)),
            Origin::Statement(def) => {
                let owner = def.owner.as_ref()?;
                let table = self.tables().find(|table| table.id.0 == owner.table)?;
                Some((table, table.schema.ordinal(&owner.column)?))
            }
        }
    }

    /// The sequence of this name.
    pub(crate) fn sequence_named(&self, name: &str) -> Option<Sequence<'_>> {
        if let Some(def) = self.made_sequence(name) {
            return Some(of_statement(def));
        }
        let (table, ordinal) = self.numbered_column(name)?;
        of_column(table, ordinal)
    }

    /// `SELECT .. FROM sequence`: one row that says where it stands.
    pub(crate) fn sequence_as_view(&self, name: &str) -> Option<Arc<ViewDef>> {
        let sequence = self.sequence_named(name)?;
        let oid = sequence.oid();
        let query = format!(
            "SELECT dovetail_sequence_value({oid}) AS last_value, 0::bigint AS log_cnt, \
             dovetail_sequence_is_called({oid}) AS is_called"
        );
        let name = name.to_owned();
        Some(Arc::new(ViewDef { name, columns: vec![], query, relations: vec![] }))
    }
}
