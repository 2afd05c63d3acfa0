//! Physical plans: the contract between this crate, which makes them, and `exec`, which runs them.
//!
//! A plan is a tree of [`Node`]s. It says *what* each operator does and over which access path;
//! how its work is decomposed into tasks is the business of `exec`. The same plan runs in all
//! execution modes.

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::ScalarValue;
use types::zone::Context;

use crate::catalog::{IndexDef, TableDef};
use crate::expr::aggregate::AggregateExpr;
use crate::expr::scalar::Expr;
use crate::expr::window::WindowExpr;

pub use crate::expr::sort_key::SortKey;

/// A complete plan.
#[derive(Debug)]
pub struct Plan {
    /// The root. Its schema names the result columns.
    pub root: Node,
    /// Number of nodes; node ids are `0..node_count` in pre-order.
    pub node_count: usize,
}

/// An operator with its output and the planner's opinion of it.
#[derive(Debug)]
pub struct Node {
    /// Pre-order number, to attach run-time figures to.
    pub id: usize,
    /// What it does.
    pub operator: Operator,
    /// Names and types of the rows it produces.
    pub schema: SchemaRef,
    /// Estimated rows produced.
    pub rows: f64,
    /// Estimated cost in microseconds of device and CPU time, children included.
    pub cost: f64,
}

/// What an operator does.
#[derive(Debug)]
pub enum Operator {
    /// Literal rows (`VALUES`, or the one empty row of a `SELECT` without `FROM`).
    Values(RecordBatch),
    /// Rows of a table by an access path.
    Scan(Scan),
    /// Rows for which the predicate is true.
    Filter {
        /// Input rows.
        input: Box<Node>,
        /// Boolean over the input.
        predicate: Expr,
    },
    /// One expression per output column.
    Project {
        /// Input rows.
        input: Box<Node>,
        /// Over the input.
        exprs: Vec<Expr>,
        /// Whether its rows are read by expressions alone, so that decimals may be of 64 bits.
        as_words: bool,
    },
    /// Index nested-loop join.
    LookupJoin(LookupJoin),
    /// Hash join on equality of keys.
    HashJoin(HashJoin),
    /// Join without equality keys: every pair is tested.
    NestedLoopJoin(NestedLoopJoin),
    /// Grouping and aggregation; output is the group columns, then the aggregates.
    Aggregate {
        /// Input rows.
        input: Box<Node>,
        /// Group columns over the input; empty means one group, even of no rows.
        group_by: Vec<Expr>,
        /// Aggregates over the input.
        aggregates: Vec<AggregateExpr>,
    },
    /// The input's columns, then the value of each window function.
    Window {
        /// Input rows.
        input: Box<Node>,
        /// Over the input.
        functions: Vec<WindowExpr>,
    },
    /// All rows in order, or the first `fetch` of them (top-k).
    Sort {
        /// Input rows.
        input: Box<Node>,
        /// Keys, most significant first.
        keys: Vec<SortKey>,
        /// Only so many rows are wanted.
        fetch: Option<usize>,
    },
    /// Skips `skip` rows, then passes at most `fetch`. Keeps the input's order.
    Limit {
        /// Input rows.
        input: Box<Node>,
        /// Rows to drop first.
        skip: usize,
        /// Rows to pass; `None` is all.
        fetch: Option<usize>,
    },
    /// A row for each element of a row's arrays.
    Unnest {
        /// Input rows.
        input: Box<Node>,
        /// Where each output column comes from.
        columns: Vec<UnnestColumn>,
    },
    /// `WITH RECURSIVE`.
    Recursive(Recursion),
    /// The rows of the last round of the recursion of this name: its columns at `columns`.
    WorkTable {
        /// The recursion.
        name: String,
        /// The number of its node.
        recursion: usize,
        /// Positions of the columns that are produced.
        columns: Vec<usize>,
    },
    /// The rows of a query of `WITH` that is computed once.
    CteScan(CteScan),
    /// All rows of all inputs (`UNION ALL`); inputs have the same types.
    Union {
        /// Inputs.
        inputs: Vec<Node>,
    },
}

/// A column of [`Operator::Unnest`].
#[derive(Clone, Copy, Debug)]
pub struct UnnestColumn {
    /// Position in the input.
    pub input: usize,
    /// What comes out of it.
    pub gives: Unnested,
}

/// What a column of [`Operator::Unnest`] makes of a row's value.
#[derive(Clone, Copy, Debug)]
pub enum Unnested {
    /// The value itself, for each row that comes of the row.
    Value,
    /// The elements of the array that it is.
    Elements,
    /// The series that begins with it.
    Series {
        /// Position of its last value in the input.
        stop: usize,
        /// Position of the distance between its values.
        step: usize,
        /// What the statement works in: months and days are those of its zone.
        context: Context,
    },
}

/// A scan of the rows of a query of `WITH`, which is computed once, before anything that reads them.
#[derive(Debug)]
pub struct CteScan {
    /// The number of the query; it reads only queries of lower numbers.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The query, at the first of its scans in pre-order.
    pub query: Option<Box<Node>>,
    /// Whether its rows come in an order to be kept.
    pub is_ordered: bool,
    /// Positions of the columns that are produced.
    pub columns: Vec<usize>,
}

/// A recursion: the rows of `base`, then those of `step` over the rows of the round before, until a round
/// has none.
#[derive(Debug)]
pub struct Recursion {
    /// The name of its work table.
    pub name: String,
    /// The first round.
    pub base: Box<Node>,
    /// All other rounds.
    pub step: Box<Node>,
    /// Rows that were produced before are dropped.
    pub distinct: bool,
}

/// A scan: rows of `table` by `access`, of which `filter` is kept and `output` is produced.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub table: Arc<TableDef>,
    /// The way to the rows.
    pub access: Access,
    /// Table ordinals that are read, ascending.
    pub columns: Vec<usize>,
    /// What the source tests: it gives only rows for which all of these are true. Empty for tables whose
    /// rows are kept in trees.
    pub restrictions: Vec<Restriction>,
    /// Boolean over `columns` (by position in `columns`): what access path and restrictions do not
    /// already guarantee.
    pub filter: Option<Expr>,
    /// Positions in `columns` that are produced, in order.
    pub output: Vec<usize>,
    /// Only the first rows in the order of the index are wanted, in whatever order they come. There
    /// is one range then, and no filter.
    pub first: Option<First>,
    /// Whether its rows are read by expressions alone, so that decimals may be of 64 bits.
    pub as_words: bool,
}

/// A condition on one column of a table that its source tests (decision K4).
#[derive(Clone, Debug)]
pub struct Restriction {
    /// Table ordinal.
    pub column: usize,
    /// What the column's values are compared with.
    pub test: RestrictionTest,
    /// The same as an expression, over a row of that column alone.
    pub predicate: Expr,
}

/// What the values of a column are compared with; of the column's Arrow type, never null. Nulls qualify
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
        ranges: Vec<KeyRange>,
        /// Whether rows must be fetched from the clustered tree; false when the index holds all of `columns`
        /// (its own columns, those it includes and the primary key) or is the clustered tree itself.
        fetch: bool,
    },
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
    /// Whether it finds equal values only, and has no order.
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
    /// Whether all keys lie in it.
    pub fn is_all(&self) -> bool {
        self.prefix.is_empty() && self.lower == Bound::Unbounded && self.upper == Bound::Unbounded
    }
}

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

/// Index nested-loop join: for each outer row, the inner rows whose index key starts with the key values.
/// A null in a key never matches.
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
    /// Whether the keys name at most one inner row.
    pub unique: bool,
    /// Whether inner rows must be fetched from the clustered tree.
    pub fetch: bool,
    /// Inner table ordinals that are read, ascending.
    pub columns: Vec<usize>,
    /// Boolean over `columns`, tested before the join (a pushed-down predicate of the inner table).
    pub inner_filter: Option<Expr>,
    /// Boolean over outer columns followed by `columns`: part of the join condition.
    pub filter: Option<Expr>,
    /// How to treat partners.
    pub kind: LookupKind,
    /// Positions in (outer columns ++ `columns`) that are produced; outer columns only for `Semi` and `Anti`.
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
    /// How to treat partners; the left side is the build side of the name: `BuildOuter` keeps all left rows.
    pub kind: HashJoinKind,
    /// Positions in (left columns ++ right columns ++ mark) that are produced.
    pub output: Vec<usize>,
}

impl Node {
    /// The inputs, in the order of their ids.
    pub fn children(&self) -> Vec<&Node> {
        match &self.operator {
            Operator::Values(_) | Operator::Scan(_) | Operator::WorkTable { .. } => vec![],
            Operator::Recursive(r) => vec![&r.base, &r.step],
            Operator::CteScan(scan) => scan.query.iter().map(AsRef::as_ref).collect(),
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::Aggregate { input, .. }
            | Operator::Window { input, .. }
            | Operator::Unnest { input, .. }
            | Operator::Sort { input, .. }
            | Operator::Limit { input, .. } => vec![input],
            Operator::LookupJoin(join) => vec![&join.outer],
            Operator::HashJoin(join) => vec![&join.build, &join.probe],
            Operator::NestedLoopJoin(join) => vec![&join.left, &join.right],
            Operator::Union { inputs } => inputs.iter().collect(),
        }
    }

    /// The same, to be changed.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut Node> {
        match &mut self.operator {
            Operator::Values(_) | Operator::Scan(_) | Operator::WorkTable { .. } => vec![],
            Operator::Recursive(r) => vec![&mut r.base, &mut r.step],
            Operator::CteScan(scan) => scan.query.iter_mut().map(AsMut::as_mut).collect(),
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::Aggregate { input, .. }
            | Operator::Window { input, .. }
            | Operator::Unnest { input, .. }
            | Operator::Sort { input, .. }
            | Operator::Limit { input, .. } => vec![input],
            Operator::LookupJoin(join) => vec![&mut join.outer],
            Operator::HashJoin(join) => vec![&mut join.build, &mut join.probe],
            Operator::NestedLoopJoin(join) => vec![&mut join.left, &mut join.right],
            Operator::Union { inputs } => inputs.iter_mut().collect(),
        }
    }

    /// Whether its rows come in an order that the statement asks for.
    pub fn is_ordered(&self) -> bool {
        match &self.operator {
            Operator::Sort { .. } | Operator::Window { .. } => true,
            Operator::Limit { input, .. }
            | Operator::Filter { input, .. }
            | Operator::Unnest { input, .. }
            | Operator::Project { input, .. } => input.is_ordered(),
            Operator::LookupJoin(join) => join.outer.is_ordered(),
            Operator::CteScan(scan) => scan.is_ordered,
            _ => false,
        }
    }

    /// Whether its rows are those that the statement lists. Nothing asks for their order, but who wrote them
    /// one below the other expects them so.
    pub fn is_list(&self) -> bool {
        match &self.operator {
            Operator::Values(_) => true,
            Operator::Limit { input, .. }
            | Operator::Filter { input, .. }
            | Operator::Unnest { input, .. }
            | Operator::Project { input, .. } => input.is_list(),
            _ => false,
        }
    }
}
