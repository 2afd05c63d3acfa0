//! Scans: the way to the rows of a table.

use std::ops::Bound;
use std::sync::Arc;

use datafusion_common::ScalarValue;

use crate::catalog::{IndexDef, TableDef, TableStorage};
use crate::expr::Expr;

/// A scan: rows of `table` by `access`, of which `filter` is kept and `output` is produced.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub table: Arc<TableDef>,
    /// The way to the rows.
    pub access: Access,
    /// The number of its ranges among the bindings of an execution, where they follow from values.
    pub slot: Option<usize>,
    /// Table ordinals that are read, ascending.
    pub columns: Vec<usize>,
    /// Conditions that the source tests: it gives only rows for which all of these are true. Empty
    /// for tables whose rows are kept in trees.
    pub restrictions: Vec<Restriction>,
    /// Boolean over `columns` (by position in `columns`): what access path and restrictions do not
    /// already guarantee.
    pub filter: Option<Expr>,
    /// Positions in `columns` that are produced, in order.
    pub output: Vec<usize>,
    /// Only the first rows in the order of the index are wanted, in whatever order they come. Of
    /// each range as many are read; there is no filter.
    pub first: Option<First>,
    /// True if its rows are read by expressions alone, so that decimals may be of 64 bits.
    pub as_words: bool,
}

/// A condition on one column of a table that its source tests (decision K4).
#[derive(Clone, Debug)]
pub struct Restriction {
    /// Table ordinal.
    pub column: usize,
    /// The comparison.
    pub test: RestrictionTest,
    /// The same as an expression, over a row of that column alone.
    pub predicate: Expr,
}

/// A comparison of a column's values with values of its Arrow type, never null. Nulls qualify
/// for `IsNull` alone.
#[derive(Clone, Debug, PartialEq)]
pub enum RestrictionTest {
    /// One of these.
    OneOf(Vec<ScalarValue>),
    /// Between bounds.
    Between(Bound<ScalarValue>, Bound<ScalarValue>),
    /// Any but this.
    NotEqual(ScalarValue),
    /// Null.
    IsNull,
    /// Anything but null.
    IsNotNull,
}

/// The first entries of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// How many.
    pub count: usize,
    /// From the end of the range, largest keys first.
    pub backward: bool,
}

/// The way to the rows of a table.
#[derive(Clone, Debug)]
pub enum Access {
    /// All rows, in no particular order.
    Full,
    /// Rows whose key lies in one of the ranges (disjoint, ascending).
    Range {
        /// Over which tree.
        index: IndexRef,
        /// The ranges.
        ranges: Arc<[KeyRange]>,
        /// True if rows must be fetched from the clustered tree; false when the index holds all of
        /// `columns` (its own columns, those it includes and the primary key) or is the clustered
        /// tree itself.
        fetch: bool,
    },
}

impl Access {
    /// True if each of its ranges is one value of a whole key, of which the table has one row at
    /// most.
    pub fn are_rows(&self, table: &TableDef) -> bool {
        let Access::Range { index, ranges, .. } = self else { return false };
        let is_unique = match index {
            IndexRef::Primary => !table.primary_key.is_empty(),
            IndexRef::Secondary(index) => index.is_always_unique(),
        };
        let width = index.key_columns(table).len();
        is_unique
            && table.storage == TableStorage::Row
            && ranges.iter().all(|range| range.prefix.len() == width)
    }

    /// The same of one range.
    pub fn is_row(&self, table: &TableDef) -> bool {
        let is_single = matches!(self, Access::Range { ranges, .. } if ranges.len() == 1);
        is_single && self.are_rows(table)
    }
}

/// A tree of a table.
#[derive(Clone, Debug)]
pub enum IndexRef {
    /// The clustered tree on the primary key.
    Primary,
    /// A secondary index.
    Secondary(Arc<IndexDef>),
}

impl IndexRef {
    /// True if it finds equal values only, and has no order.
    pub fn is_hash(&self) -> bool {
        matches!(self, IndexRef::Secondary(index) if index.is_hash())
    }

    /// The table ordinals of the key's columns, in key order (without the primary key that a
    /// secondary index's entries end with).
    pub fn key_columns<'a>(&'a self, table: &'a TableDef) -> &'a [usize] {
        match self {
            IndexRef::Primary => &table.primary_key,
            IndexRef::Secondary(index) => &index.columns,
        }
    }
}

/// A range of keys: the first columns equal `prefix`, the next one lies between the bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRange {
    /// Values of the first key columns, of the columns' Arrow types, never null.
    pub prefix: Vec<ScalarValue>,
    /// Lower bound of the key column after the prefix.
    pub lower: Bound<ScalarValue>,
    /// Upper bound of the key column after the prefix.
    pub upper: Bound<ScalarValue>,
}

impl KeyRange {
    /// The range of all keys.
    pub fn all() -> KeyRange {
        KeyRange { prefix: vec![], lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// True if all keys lie in it.
    pub fn is_all(&self) -> bool {
        self.prefix.is_empty() && self.lower == Bound::Unbounded && self.upper == Bound::Unbounded
    }
}
