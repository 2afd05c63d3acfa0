//! Plans by hand: constructors that derive schemas and number the nodes.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use plan::catalog::{IndexDef, IndexId, TableDef, TableId, TableStorage};
use plan::expr::{AggregateExpr, Expr, SortKey};
use plan::{
    Access, HashJoin, HashJoinKind, IndexRef, LookupJoin, LookupKind, NestedLoopJoin, Node,
    Operator, Plan, Scan,
};
use sql::{parse_aggregate, parse_expr};
use types::{Column, LogicalType};

/// Columns of all test tables.
pub fn table_schema() -> types::Schema {
    let column = |name: &str, ty| Column { name: name.into(), ty, nullable: true };
    types::Schema {
        columns: vec![
            column("a", LogicalType::Int32),
            column("b", LogicalType::Int64),
            column("s", LogicalType::Text),
            column("f", LogicalType::Bool),
            column("x", LogicalType::Float64),
            column("d", LogicalType::Date),
        ],
    }
}

/// A table with an index on (a, s).
pub fn table(name: &str) -> Arc<TableDef> {
    let index = IndexDef::new(IndexId(1), "by_a_s", vec![0, 2]);
    Arc::new(TableDef {
        storage: TableStorage::Row,
        constraints: Arc::default(),
        id: TableId(1),
        name: name.into(),
        schema: table_schema(),
        primary_key: vec![],
        indexes: vec![Arc::new(index)],
        statistics: Arc::default(),
    })
}

/// Columns named c0, c1, ... of these types.
pub fn named(types: impl IntoIterator<Item = DataType>) -> SchemaRef {
    let field = |(i, t)| Field::new(format!("c{i}"), t, true);
    Arc::new(Schema::new(types.into_iter().enumerate().map(field).collect::<Vec<_>>()))
}

pub fn types_of(node: &Node) -> Vec<DataType> {
    node.schema.fields().iter().map(|f| f.data_type().clone()).collect()
}

fn node(operator: Operator, types: Vec<DataType>) -> Node {
    Node::new(operator, named(types), 0.0, 0.0)
}

/// An expression over c0, c1, ... of a node's columns.
pub fn expr(text: &str, over: &Node) -> Expr {
    parse_expr(text, &over.schema).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// An expression over the columns of two nodes, numbered on.
pub fn pair_expr(text: &str, left: &Node, right: &Node) -> Expr {
    let types = types_of(left).into_iter().chain(types_of(right));
    parse_expr(text, &named(types)).unwrap_or_else(|e| panic!("{text}: {e}"))
}

pub fn scan(name: &str) -> Node {
    scan_of(name, None, (0..6).collect())
}

pub fn scan_of(name: &str, filter: Option<&str>, output: Vec<usize>) -> Node {
    let columns: Vec<usize> = (0..6).collect();
    let read = table_schema().project(&columns);
    let filter = filter.map(|f| parse_expr(f, &read).unwrap());
    let types = output.iter().map(|&i| read.field(i).data_type().clone()).collect();
    let scan = Scan {
        slot: None,
        table: table(name),
        access: Access::Full,
        columns,
        restrictions: vec![],
        filter,
        output,
        first: None,
        as_words: false,
    };
    node(Operator::Scan(scan), types)
}

pub fn values(rows: RecordBatch) -> Node {
    let types = rows.schema().fields().iter().map(|f| f.data_type().clone()).collect();
    node(Operator::Values(rows.into()), types)
}

pub fn filter(input: Node, predicate: &str) -> Node {
    let predicate = expr(predicate, &input);
    let types = types_of(&input);
    node(Operator::Filter { input: Box::new(input), predicate }, types)
}

pub fn project(input: Node, exprs: &[&str]) -> Node {
    let exprs: Vec<Expr> = exprs.iter().map(|e| expr(e, &input)).collect();
    let types = exprs.iter().map(|e| e.data_type().clone()).collect();
    node(Operator::Project { input: Box::new(input), exprs, as_words: false }, types)
}

pub fn aggregate(input: Node, group_by: &[&str], aggregates: &[&str]) -> Node {
    let group_by: Vec<Expr> = group_by.iter().map(|e| expr(e, &input)).collect();
    let parse = |a: &&str| parse_aggregate(a, &input.schema).unwrap();
    let aggregates: Vec<AggregateExpr> = aggregates.iter().map(parse).collect();
    let types = group_by.iter().map(|e| e.data_type().clone());
    let types = types.chain(aggregates.iter().map(AggregateExpr::data_type)).collect();
    node(Operator::Aggregate { input: Box::new(input), group_by, aggregates }, types)
}

/// Sorts by the columns in `first`, then by all columns, so that the order is total.
pub fn sort(input: Node, first: &[(usize, bool, bool)], fetch: Option<usize>) -> Node {
    let types = types_of(&input);
    let all = (0..types.len()).map(|i| (i, false, false));
    let key = |(i, descending, nulls_first): (usize, bool, bool)| SortKey {
        expr: Expr::column(i, &format!("c{i}"), types[i].clone()),
        descending,
        nulls_first,
    };
    let keys = first.iter().copied().chain(all).map(key).collect();
    node(Operator::Sort { input: Box::new(input), keys, fetch }, types)
}

pub fn limit(input: Node, skip: usize, fetch: Option<usize>) -> Node {
    let types = types_of(&input);
    node(Operator::Limit { input: Box::new(input), skip, fetch }, types)
}

pub fn union(inputs: Vec<Node>) -> Node {
    let types = types_of(&inputs[0]);
    node(Operator::Union { inputs }, types)
}

/// How a look-up join is made.
pub struct LookupSpec<'a> {
    pub kind: LookupKind,
    pub keys: &'a [&'a str],
    pub inner_filter: Option<&'a str>,
    pub filter: Option<&'a str>,
}

pub fn lookup_join(outer: Node, inner: &str, spec: &LookupSpec<'_>) -> Node {
    let table = table(inner);
    let columns: Vec<usize> = vec![0, 1, 2, 4];
    let read = table.schema.project(&columns);
    let inner_types: Vec<DataType> = read.fields().iter().map(|f| f.data_type().clone()).collect();
    let mut pair = types_of(&outer);
    let outer_width = pair.len();
    pair.extend(inner_types);
    let outer_only = matches!(spec.kind, LookupKind::Semi | LookupKind::Anti);
    let output: Vec<usize> = (0..if outer_only { outer_width } else { pair.len() }).collect();
    let join = LookupJoin {
        index: IndexRef::Secondary(Arc::clone(&table.indexes[0])),
        keys: spec.keys.iter().map(|k| expr(k, &outer)).collect(),
        unique: false,
        fetch: true,
        inner_filter: spec.inner_filter.map(|f| parse_expr(f, &read).unwrap()),
        filter: spec.filter.map(|f| parse_expr(f, &named(pair.clone())).unwrap()),
        kind: spec.kind,
        table,
        columns,
        outer: Box::new(outer),
        output,
    };
    let types = join.output.iter().map(|&i| pair[i].clone()).collect();
    node(Operator::LookupJoin(join), types)
}

/// The columns a join of a kind produces, by its two sides.
fn join_output(kind: HashJoinKind, build: usize, probe: usize) -> Vec<usize> {
    use HashJoinKind as K;
    match kind {
        K::Inner | K::BuildOuter | K::ProbeOuter | K::FullOuter => (0..build + probe).collect(),
        K::BuildSemi | K::BuildAnti => (0..build).collect(),
        K::ProbeSemi | K::ProbeAnti => (build..build + probe).collect(),
        K::BuildMark => (0..build).chain([build + probe]).collect(),
        K::ProbeMark => (build..build + probe + 1).collect(),
    }
}

fn output_types(output: &[usize], left: &Node, right: &Node) -> Vec<DataType> {
    let all: Vec<_> =
        types_of(left).into_iter().chain(types_of(right)).chain([DataType::Boolean]).collect();
    output.iter().map(|&i| all[i].clone()).collect()
}

/// How a hash join is made.
pub struct HashSpec<'a> {
    pub kind: HashJoinKind,
    pub build_keys: &'a [&'a str],
    pub probe_keys: &'a [&'a str],
    pub filter: Option<&'a str>,
    pub null_equals_null: bool,
    pub null_aware: bool,
}

pub fn hash_join(build: Node, probe: Node, spec: &HashSpec<'_>) -> Node {
    let output = join_output(spec.kind, build.schema.fields().len(), probe.schema.fields().len());
    let types = output_types(&output, &build, &probe);
    let join = HashJoin {
        build_keys: spec.build_keys.iter().map(|k| expr(k, &build)).collect(),
        probe_keys: spec.probe_keys.iter().map(|k| expr(k, &probe)).collect(),
        filter: spec.filter.map(|f| pair_expr(f, &build, &probe)),
        kind: spec.kind,
        null_equals_null: spec.null_equals_null,
        null_aware: spec.null_aware,
        output,
        build: Box::new(build),
        probe: Box::new(probe),
    };
    node(Operator::HashJoin(join), types)
}

pub fn nested_loop(left: Node, right: Node, kind: HashJoinKind, filter: Option<&str>) -> Node {
    let output = join_output(kind, left.schema.fields().len(), right.schema.fields().len());
    let types = output_types(&output, &left, &right);
    let filter = filter.map(|f| pair_expr(f, &left, &right));
    let join =
        NestedLoopJoin { filter, kind, output, left: Box::new(left), right: Box::new(right) };
    node(Operator::NestedLoopJoin(join), types)
}

/// Numbers the nodes in pre-order.
pub fn plan(mut root: Node) -> Arc<Plan> {
    let mut node_count = 0;
    number(&mut root, &mut node_count);
    Arc::new(Plan { root: Arc::new(root), node_count, bindings: None, program: None })
}

fn number(node: &mut Node, next: &mut usize) {
    node.id = *next;
    *next += 1;
    match &mut node.operator {
        Operator::Values(_)
        | Operator::Scan(_)
        | Operator::WorkTable { .. }
        | Operator::CteScan(_) => {}
        Operator::Recursive(recursion) => {
            number(&mut recursion.base, next);
            number(&mut recursion.step, next);
        }
        Operator::Filter { input, .. }
        | Operator::Project { input, .. }
        | Operator::Aggregate { input, .. }
        | Operator::Window { input, .. }
        | Operator::Unnest { input, .. }
        | Operator::Sort { input, .. }
        | Operator::Limit { input, .. } => number(input, next),
        Operator::LookupJoin(join) => number(&mut join.outer, next),
        Operator::HashJoin(join) => {
            number(&mut join.build, next);
            number(&mut join.probe, next);
        }
        Operator::NestedLoopJoin(join) => {
            number(&mut join.left, next);
            number(&mut join.right, next);
        }
        Operator::Union { inputs } => inputs.iter_mut().for_each(|i| number(i, next)),
    }
}
