//! Nodes of a plan, and the operators that they stand for.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use arrow_schema::{Field, Schema, SchemaRef};

use crate::bindings::Bindings;
use crate::expr::{AggregateExpr, Expr, SortKey, WindowExpr};
use crate::join::{HashJoin, LookupJoin, NestedLoopJoin};
use crate::listed::Listed;
use crate::program::Program;
use crate::rows::{CteScan, Recursion, UnnestColumn};
use crate::scan::{Access, Scan};

/// A complete plan.
#[derive(Debug)]
pub struct Plan {
    /// The root. Its schema names the result columns.
    pub root: Arc<Node>,
    /// Number of nodes; node ids are `0..node_count` in pre-order.
    pub node_count: usize,
    /// Of an execution of a plan that is kept for all values; none of a plan for its values alone.
    pub bindings: Option<Arc<Bindings>>,
    /// How it is run a row at a time, if it has few rows and is kept.
    pub program: Option<Arc<Program>>,
}

impl Plan {
    /// The access path of one of its scans, with the ranges of this execution.
    pub fn access<'a>(&self, scan: &'a Scan) -> Cow<'a, Access> {
        let bound = self.bindings.as_ref().zip(scan.slot);
        let bound = bound.and_then(|(bindings, slot)| bindings.ranges.get(slot)?.as_ref());
        match (&scan.access, bound) {
            (Access::Range { index, fetch, .. }, Some(ranges)) => {
                let (index, ranges) = (index.clone(), ranges.clone());
                Cow::Owned(Access::Range { index, ranges, fetch: *fetch })
            }
            (access, _) => Cow::Borrowed(access),
        }
    }
}

impl Node {
    /// Forgets the ranges that scans below were planned with and that each execution has of its
    /// own, but for two of each: one alone may be one row.
    pub fn forget_ranges(&mut self) {
        if let Operator::Scan(Scan { slot: Some(_), access: Access::Range { ranges, .. }, .. }) =
            &mut self.operator
            && ranges.len() > 2
        {
            *ranges = ranges[..2].into();
        }
        self.children_mut().into_iter().for_each(Node::forget_ranges);
    }
}

/// An operator with its output and the planner's opinion of it.
#[derive(Debug)]
pub struct Node {
    /// Pre-order number, to attach run-time figures to.
    pub id: usize,
    /// The operator.
    pub operator: Operator,
    /// Names and types of the rows it produces.
    pub schema: SchemaRef,
    /// Estimated rows produced.
    pub rows: f64,
    /// Estimated cost in microseconds of device and CPU time, children included.
    pub cost: f64,
    relaxed: OnceLock<SchemaRef>,
}

fn relaxed(schema: &Schema) -> SchemaRef {
    let field = |field: &Arc<Field>| Field::new(field.name(), field.data_type().clone(), true);
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// The operators.
#[derive(Debug)]
pub enum Operator {
    /// Literal rows (`VALUES`, or the one empty row of a `SELECT` without `FROM`).
    Values(Listed),
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
        /// True if its rows are read by expressions alone, so that decimals may be of 64 bits.
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

impl Node {
    /// A node that gets its number when the plan is whole.
    pub fn new(operator: Operator, schema: SchemaRef, rows: f64, cost: f64) -> Node {
        Node { id: 0, operator, schema, rows, cost, relaxed: OnceLock::new() }
    }

    /// The same rows under other names.
    pub fn titled(self, schema: SchemaRef) -> Node {
        Node { schema, relaxed: OnceLock::new(), ..self }
    }

    /// The columns of the rows while they are computed, all nullable: joins add nulls, and the rows
    /// matter, not the declaration.
    pub fn relaxed(&self) -> SchemaRef {
        self.relaxed.get_or_init(|| relaxed(&self.schema)).clone()
    }

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
    pub fn children_mut(&mut self) -> Vec<&mut Node> {
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

    /// True if it has one row at most: it is that of a table with one value of a whole key.
    pub fn is_row(&self) -> bool {
        match &self.operator {
            Operator::Scan(scan) => scan.access.is_row(&scan.table),
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::Sort { input, .. }
            | Operator::Limit { input, .. } => input.is_row(),
            _ => false,
        }
    }

    /// True if its rows come in an order that the statement asks for.
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

    /// True if its rows are those that the statement lists. Nothing asks for their order, but who
    /// wrote them one below the other expects them so.
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
