//! The objects of a database that plans name: tables, indexes, statistics.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use types::{LogicalType, Schema, SqlError, SqlResult, SqlState};

use crate::constraints::{Constraints, Deferral};
use crate::generated::generated;

/// The id of a table; never used twice in one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

impl TableId {
    /// Ids from this one on are those of system relations, whose rows the engine makes up.
    pub const SYSTEM: u32 = 1 << 31;

    /// Ids of users' objects follow PostgreSQL's first free oid.
    pub const FIRST_OID: u32 = 16_384;

    /// The number that clients know the table by.
    pub fn oid(self) -> u32 {
        match self.is_system() {
            true => self.0 - TableId::SYSTEM,
            false => TableId::FIRST_OID + self.0,
        }
    }

    /// Ids from this one on are those of rows that parts of a statement have given: no system
    /// relation has so high a number.
    pub const GIVEN: u32 = TableId::SYSTEM + (1 << 30);

    /// True if it is the id of rows that a part of the statement has given.
    pub fn is_given(self) -> bool {
        self.0 >= TableId::GIVEN
    }

    /// True if it is the id of a system relation.
    pub fn is_system(self) -> bool {
        self.0 >= TableId::SYSTEM
    }
}

/// The id of a secondary index; never used twice in one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(pub u32);

/// A table, clustered on its primary key. One that has none, or one that an index upholds
/// ([`IndexDef::primary`]), is clustered on a hidden row id.
#[derive(Clone, Debug)]
pub struct TableDef {
    /// The id.
    pub id: TableId,
    /// The name.
    pub name: String,
    /// The columns.
    pub schema: Schema,
    /// How its rows are kept.
    pub storage: TableStorage,
    /// Ordinals of the columns of the primary key that the table is clustered on, in key order;
    /// empty when its rows have ids. See [`TableDef::primary_columns`].
    pub primary_key: Vec<usize>,
    /// The secondary indexes.
    pub indexes: Vec<Arc<IndexDef>>,
    /// Statistics of the rows.
    pub statistics: Arc<TableStatistics>,
    /// Conditions that rows must fulfil, and values that fill gaps.
    pub constraints: Arc<Constraints>,
}

/// How the rows of a table are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TableStorage {
    /// In the leaves of a tree.
    #[default]
    Row,
    /// In chunks of columns (`docs/format/block.md`); those that came last in a tree.
    Column,
}

impl TableStorage {
    /// As statements and settings name them.
    pub const NAMES: &'static [&'static str] = &["row", "column"];

    /// The names of the access methods.
    pub const ACCESS_METHODS: &'static [&'static str] = &["heap", "column"];

    /// As statements name it.
    pub fn name(self) -> &'static str {
        match self {
            TableStorage::Row => "row",
            TableStorage::Column => "column",
        }
    }

    /// PostgreSQL's name of its access method, or one that PostgreSQL has not.
    pub fn access_method(self) -> &'static str {
        match self {
            TableStorage::Row => "heap",
            TableStorage::Column => "column",
        }
    }

    /// The one that is PostgreSQL's access method of this name; rows unless it is the other.
    pub fn of_access_method(name: &str) -> TableStorage {
        match name.eq_ignore_ascii_case(TableStorage::Column.access_method()) {
            true => TableStorage::Column,
            false => TableStorage::Row,
        }
    }

    /// The one of that name.
    ///
    /// # Errors
    /// 22023 when there is none.
    pub fn of_name(name: &str) -> SqlResult<TableStorage> {
        let known = [TableStorage::Row, TableStorage::Column];
        known.into_iter().find(|s| s.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let message = format!("invalid value for option \"storage\": \"{name}\"");
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_hint("Tables are stored as \"row\" or \"column\".")
        })
    }
}

/// A secondary index: entries hold the indexed columns, then the primary key (or row id), and the
/// included columns.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// The id.
    pub id: IndexId,
    /// The name.
    pub name: String,
    /// Ordinals of the indexed columns, in key order.
    pub columns: Vec<usize>,
    /// Ordinals of the columns that entries only carry (`INCLUDE`), as the statement had them.
    pub included: Vec<usize>,
    /// True if no two rows may have the same (non-null) indexed values.
    pub unique: bool,
    /// The order of its entries.
    pub method: IndexMethod,
    /// True if it upholds the primary key of a table that is clustered on row ids.
    pub primary: bool,
    /// When a transaction checks the constraint that it upholds.
    pub deferral: Deferral,
    /// How the statement wants each key column ordered, to be told; entries are ascending. Empty is
    /// that.
    pub orders: Vec<KeyOrder>,
}

/// How a statement wants a column of an index ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyOrder {
    /// `DESC`
    pub descending: bool,
    /// `NULLS FIRST`
    pub nulls_first: bool,
}

impl KeyOrder {
    /// As clients know it (`pg_index.indoption`).
    pub fn bits(self) -> u8 {
        u8::from(self.descending) | u8::from(self.nulls_first) << 1
    }

    /// Of that number.
    pub fn of_bits(bits: u8) -> KeyOrder {
        KeyOrder { descending: bits & 1 != 0, nulls_first: bits & 2 != 0 }
    }

    /// The words behind a column, as far as they are not usual.
    pub fn words(self) -> &'static str {
        match (self.descending, self.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        }
    }
}

/// The order of the entries of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexMethod {
    /// The values of the indexed columns.
    #[default]
    Tree,
    /// The hash of the one indexed column: it finds equal values, in no order.
    Hash,
}

impl IndexMethod {
    /// The access method that clients know it by.
    pub fn name(self) -> &'static str {
        match self {
            IndexMethod::Tree => "btree",
            IndexMethod::Hash => "hash",
        }
    }
}

impl IndexDef {
    /// An index of this name over these columns, which demands nothing.
    pub fn new(id: IndexId, name: &str, columns: Vec<usize>) -> IndexDef {
        IndexDef {
            id,
            name: name.to_owned(),
            columns,
            included: vec![],
            unique: false,
            method: IndexMethod::Tree,
            primary: false,
            deferral: Deferral::Never,
            orders: vec![],
        }
    }

    /// How the statement wants each key column ordered.
    pub fn key_orders(&self) -> impl Iterator<Item = KeyOrder> + '_ {
        (0..self.columns.len()).map(|place| self.orders.get(place).copied().unwrap_or_default())
    }

    /// True if no statement ever sees two rows with the same (non-null) indexed values. Between the
    /// statements of a transaction a deferrable constraint may be broken.
    pub fn is_always_unique(&self) -> bool {
        self.unique && self.deferral == Deferral::Never
    }

    /// True if it finds equal values only.
    pub fn is_hash(&self) -> bool {
        self.method == IndexMethod::Hash
    }

    /// True if an entry has the exact value of this column of `table`, so that the row need not be
    /// fetched for it.
    pub fn covers(&self, table: &TableDef, ordinal: usize) -> bool {
        let ty = table.schema.columns[ordinal].ty;
        // A key keeps a negative zero as zero.
        // That of a hash index keeps the length of an interval.
        let inexact = [LogicalType::Float32, LogicalType::Float64, LogicalType::Interval];
        let exact = !inexact.contains(&ty.plain());
        match self.columns.contains(&ordinal) {
            true => exact || table.primary_key.contains(&ordinal),
            false => self.included.contains(&ordinal) || table.primary_key.contains(&ordinal),
        }
    }
}

impl TableDef {
    /// The index that upholds the primary key, if the table is not clustered on it.
    pub fn primary_index(&self) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.primary)
    }

    /// Ordinals of the primary key's columns, in key order; empty when there is none.
    pub fn primary_columns(&self) -> &[usize] {
        let of_index = self.primary_index().map(|index| index.columns.as_slice());
        of_index.unwrap_or(&self.primary_key)
    }

    /// The name of the primary key's constraint.
    pub fn primary_key_name(&self) -> String {
        if let Some(index) = self.primary_index() {
            return index.name.clone();
        }
        let given = self.constraints.primary_key_name.clone();
        given.unwrap_or_else(|| generated(&self.name, "", "pkey"))
    }

    /// The name of the sequence of a column that numbers rows.
    pub fn sequence_name(&self, ordinal: usize) -> String {
        let given = self.constraints.identity_of(ordinal).and_then(|i| i.name.clone());
        given.unwrap_or_else(|| generated(&self.name, &self.schema.columns[ordinal].name, "seq"))
    }

    /// The secondary index with this id.
    pub fn index(&self, id: IndexId) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|i| i.id == id)
    }
}

/// Statistics of a table. Counts are those of the moment; what is known of columns is from
/// `ANALYZE`.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Rows.
    pub row_count: u64,
    /// Leaf pages of the clustered tree; of a column table those of its chunks, too.
    pub leaf_pages: u64,
    /// Leaf pages of each secondary index, in the order of `TableDef::indexes`.
    pub index_leaf_pages: Vec<u64>,
    /// Bytes that each column takes in chunks; empty where rows are kept in trees alone.
    pub column_bytes: Vec<u64>,
    /// True if its chunks are objects of a store.
    pub is_remote: bool,
    /// One per column; empty until `ANALYZE` ran.
    pub columns: Arc<[ColumnStatistics]>,
}

/// Statistics of a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    /// Share of nulls, 0 to 1.
    pub null_fraction: f64,
    /// Estimated number of distinct values.
    pub distinct_count: f64,
    /// Smallest value, of the column's Arrow type.
    pub min: Option<ScalarValue>,
    /// Largest value.
    pub max: Option<ScalarValue>,
    /// Bounds of buckets with equally many sampled values (first = min, last = max); may be empty.
    pub histogram: Vec<ScalarValue>,
    /// Most common values with their share of all rows; may be empty.
    pub most_common: Vec<(ScalarValue, f64)>,
    /// Average bytes of a value.
    pub width: f64,
    /// Correlation of the value's order with the clustering order, -1 to 1.
    pub correlation: f64,
}
