//! Joins.

use std::sync::Arc;

use crate::catalog::TableDef;
use crate::expr::Expr;
use crate::node::Node;
use crate::scan::IndexRef;

/// How a join treats rows without and with partners. "Outer" is the driving input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LookupKind {
    /// Pairs.
    Inner,
    /// Pairs, and outer rows without partner with nulls.
    Left,
    /// Outer rows with a partner, once.
    Semi,
    /// Outer rows without a partner.
    Anti,
}

/// Index nested-loop join: for each outer row, the inner rows whose index key starts with the key
/// values. A null in a key never matches.
#[derive(Debug)]
pub struct LookupJoin {
    /// The driving input.
    pub outer: Box<Node>,
    /// The inner table.
    pub table: Arc<TableDef>,
    /// The tree that is searched.
    pub index: IndexRef,
    /// One expression over the outer row per leading key column, of the key columns' Arrow types.
    pub keys: Vec<Expr>,
    /// True if the keys name at most one inner row.
    pub unique: bool,
    /// True if inner rows must be fetched from the clustered tree.
    pub fetch: bool,
    /// Inner table ordinals that are read, ascending.
    pub columns: Vec<usize>,
    /// Boolean over `columns`, tested before the join (a pushed-down predicate of the inner table).
    pub inner_filter: Option<Expr>,
    /// Boolean over outer columns followed by `columns`: part of the join condition.
    pub filter: Option<Expr>,
    /// How to treat partners.
    pub kind: LookupKind,
    /// Positions in (outer columns ++ `columns`) that are produced; outer columns only for `Semi`
    /// and `Anti`.
    pub output: Vec<usize>,
}

/// How a hash join treats partners, from the point of view of its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HashJoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and build rows without partner.
    BuildOuter,
    /// Pairs, and probe rows without partner.
    ProbeOuter,
    /// Pairs, and rows of both sides without partner.
    FullOuter,
    /// Build rows with a partner, once.
    BuildSemi,
    /// Probe rows with a partner, once.
    ProbeSemi,
    /// Build rows without a partner.
    BuildAnti,
    /// Probe rows without a partner.
    ProbeAnti,
    /// All probe rows, then a boolean column: has it a partner?
    ProbeMark,
    /// All build rows, then a boolean column: has it a partner?
    BuildMark,
}

/// Hash join: a table is built from `build`, `probe` streams by.
#[derive(Debug)]
pub struct HashJoin {
    /// The materialised side.
    pub build: Box<Node>,
    /// The streaming side.
    pub probe: Box<Node>,
    /// Keys over the build side.
    pub build_keys: Vec<Expr>,
    /// Keys over the probe side, pairwise of the same types.
    pub probe_keys: Vec<Expr>,
    /// Boolean over build columns followed by probe columns: part of the join condition.
    pub filter: Option<Expr>,
    /// How to treat partners.
    pub kind: HashJoinKind,
    /// Two nulls are equal (set operations); otherwise null matches nothing.
    pub null_equals_null: bool,
    /// `NOT IN`: of an anti join, a null key on the inner side empties the result (and a null
    /// outer key is dropped unless the inner side is empty). Only with `BuildAnti` and `ProbeAnti`.
    pub null_aware: bool,
    /// Positions in (build columns ++ probe columns ++ mark) that are produced.
    pub output: Vec<usize>,
}

/// Join by testing each pair. `right` is materialised; `left` streams.
#[derive(Debug)]
pub struct NestedLoopJoin {
    /// Streaming side.
    pub left: Box<Node>,
    /// Materialised side.
    pub right: Box<Node>,
    /// Boolean over left columns followed by right columns; `None` is a cross join.
    pub filter: Option<Expr>,
    /// How to treat partners; the left side is the build side of the name: `BuildOuter` keeps all
    /// left rows.
    pub kind: HashJoinKind,
    /// Positions in (left columns ++ right columns ++ mark) that are produced.
    pub output: Vec<usize>,
}
