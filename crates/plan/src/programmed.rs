//! Makes row programs of plans.
//!
//! There is one for a plan whose operators have a form for rows of values and that is expected to
//! have few of them: what a pipeline takes before its first row is many times what these take.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use types::cells::{has_form, is_counted};

use crate::catalog::{TableDef, TableStorage};
use crate::expr::{AggregateExpr, Computed, Expr, SortKey};
use crate::join::{HashJoin, LookupJoin};
use crate::node::{Node, Operator};
use crate::program::{Code, Program};
use crate::scan::{Access, Scan};

/// Rows that an operator is expected to have at most.
const ROWS_EXPECTED_MAX: f64 = 512.0;

/// The same of a range, which is read leaf by leaf: its reads are not under way at once.
const RANGE_ROWS_MAX: f64 = 256.0;

/// The program of a plan, if there is one.
pub fn program(root: &Node, node_count: usize) -> Option<Program> {
    let mut codes: Vec<Code> = (0..node_count).map(|_| Code::default()).collect();
    match once(root) {
        Some(exprs) => *codes.get_mut(root.id)? = Code { exprs, ..Code::default() },
        None => add(root, &mut codes)?,
    }
    Some(Program::new(codes))
}

/// The expressions of a plan that is a projection of constant rows, of which some have effects.
/// Nothing else is computed, so that no such expression is computed again by a pipeline.
fn once(root: &Node) -> Option<Vec<Computed>> {
    let Operator::Project { input, exprs, .. } = &root.operator else { return None };
    let are_constant = matches!(input.operator, Operator::Values(_));
    let are_formed = root.schema.fields().iter().all(|field| has_form(field.data_type()));
    if !are_constant || !are_formed || !exprs.iter().any(Expr::is_volatile) {
        return None;
    }
    exprs.iter().map(|expr| Computed::once(expr, &input.schema)).collect()
}

/// Adds the code of a node and of those below it; nothing where one has none.
fn add(node: &Node, codes: &mut [Code]) -> Option<()> {
    for child in node.children() {
        match arrays_of(node, child) {
            Some(rows) => add(rows, codes)?,
            None => add(child, codes)?,
        }
    }
    let are_formed = node.schema.fields().iter().all(|field| has_form(field.data_type()));
    if node.rows > ROWS_EXPECTED_MAX || !are_formed {
        return None;
    }
    *codes.get_mut(node.id)? = match &node.operator {
        Operator::Scan(scan) => of_scan(scan, node.rows)?,
        Operator::LookupJoin(join) => of_lookup(join)?,
        Operator::Filter { input, predicate } => {
            Code { filter: Some(Computed::of(predicate, &input.schema)?), ..Code::default() }
        }
        Operator::Project { input, exprs, .. } => {
            Code { exprs: all(exprs.iter(), &input.schema)?, ..Code::default() }
        }
        Operator::Sort { input, keys, .. } if keys.iter().all(is_ordered) => {
            let exprs = all(keys.iter().map(|key| &key.expr), &input.schema)?;
            Code { exprs, ..Code::default() }
        }
        Operator::Aggregate { input, group_by, aggregates } => {
            of_groups(group_by, aggregates, &input.schema)?
        }
        Operator::HashJoin(join) => of_hash_join(join)?,
        Operator::NestedLoopJoin(join) => {
            let both = beside(&join.left.schema, &join.right.schema);
            Code { filter: maybe(join.filter.as_ref(), &both)?, ..Code::default() }
        }
        Operator::Recursive(recursion) => {
            let types = || node.schema.fields().iter().map(|field| field.data_type());
            let is_known = !recursion.distinct || types().all(are_told_apart);
            is_known.then(Code::default)?
        }
        Operator::Limit { .. }
        | Operator::Unnest { .. }
        | Operator::WorkTable { .. }
        | Operator::Values(_)
        | Operator::CteScan(_)
        | Operator::Union { .. } => Code::default(),
        _ => return None,
    };
    Some(())
}

/// The rows of which a projection makes arrays for the node above it: it is computed there, a
/// vector at a time.
fn arrays_of<'a>(node: &Node, child: &'a Node) -> Option<&'a Node> {
    match (&node.operator, &child.operator) {
        (Operator::Unnest { .. }, Operator::Project { input, exprs, .. }) => {
            let is_quick = |expr: &Expr| !expr.is_volatile() && !expr.costs().is_slow;
            exprs.iter().all(is_quick).then_some(input)
        }
        _ => None,
    }
}

fn all<'a>(exprs: impl Iterator<Item = &'a Expr>, input: &SchemaRef) -> Option<Vec<Computed>> {
    exprs.map(|expr| Computed::of(expr, input)).collect()
}

fn maybe(expr: Option<&Expr>, input: &SchemaRef) -> Option<Option<Computed>> {
    expr.map_or(Some(None), |expr| Computed::of(expr, input).map(Some))
}

/// The values that tell groups apart, then the arguments of each aggregate and its filter behind
/// these.
fn of_groups(group_by: &[Expr], aggregates: &[AggregateExpr], input: &SchemaRef) -> Option<Code> {
    if !group_by.iter().all(is_told_apart) {
        return None;
    }
    let values =
        aggregates.iter().flat_map(|aggregate| aggregate.args.iter().chain(&aggregate.filter));
    Some(Code { exprs: all(group_by.iter().chain(values), input)?, ..Code::default() })
}

/// True if values of an expression are equal where their words or bytes are.
fn is_told_apart(expr: &Expr) -> bool {
    are_told_apart(expr.data_type())
}

fn are_told_apart(ty: &DataType) -> bool {
    has_order(ty) || matches!(ty, DataType::Decimal128(..))
}

/// The keys of the side that a table is built from, then those of the other.
fn of_hash_join(join: &HashJoin) -> Option<Code> {
    let (build, probe) = (&join.build.schema, &join.probe.schema);
    if !join.build_keys.iter().chain(&join.probe_keys).all(is_told_apart) {
        return None;
    }
    let mut exprs = all(join.build_keys.iter(), build)?;
    exprs.extend(all(join.probe_keys.iter(), probe)?);
    let filter = maybe(join.filter.as_ref(), &beside(build, probe))?;
    Some(Code { filter, exprs, ..Code::default() })
}

/// True if the values of a key have the order of their words or bytes.
fn is_ordered(key: &SortKey) -> bool {
    has_order(key.expr.data_type())
}

fn has_order(ty: &DataType) -> bool {
    is_counted(ty)
        || matches!(ty, DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(16))
}

fn of_scan(scan: &Scan, rows: f64) -> Option<Code> {
    let is_short = match &scan.access {
        Access::Full => scan.table.statistics.row_count as f64 <= RANGE_ROWS_MAX,
        Access::Range { .. } => rows <= RANGE_ROWS_MAX || scan.access.are_rows(&scan.table),
    };
    if !is_short || !scan.restrictions.is_empty() || !is_readable(&scan.table, &scan.columns) {
        return None;
    }
    let filter = maybe(scan.filter.as_ref(), &scan.table.schema.project(&scan.columns))?;
    Some(Code { filter, ..Code::default() })
}

fn of_lookup(join: &LookupJoin) -> Option<Code> {
    if !is_readable(&join.table, &join.columns) {
        return None;
    }
    let (outer, inner) = (&join.outer.schema, join.table.schema.project(&join.columns));
    Some(Code {
        filter: maybe(join.filter.as_ref(), &beside(outer, &inner))?,
        inner_filter: maybe(join.inner_filter.as_ref(), &inner)?,
        exprs: all(join.keys.iter(), outer)?,
    })
}

/// The columns of the one, then those of the other.
fn beside(one: &SchemaRef, other: &SchemaRef) -> SchemaRef {
    let fields: Vec<Arc<Field>> = one.fields().iter().chain(other.fields()).cloned().collect();
    Arc::new(Schema::new(fields))
}

/// True if the columns can be read of entries of the table's trees.
fn is_readable(table: &TableDef, columns: &[usize]) -> bool {
    let is_formed = |&at: &usize| {
        table.schema.columns.get(at).is_some_and(|column| has_form(&column.ty.arrow()))
    };
    let is_stored = table.storage == TableStorage::Row && !table.id.is_system();
    (is_stored || table.id.is_given()) && columns.iter().all(is_formed)
}
