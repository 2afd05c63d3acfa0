//! From the description of a fragment to operators of ours (the crate `plan`), which `exec` runs.

mod aggregate;
mod expr;
mod library;
mod restriction;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::physical_expr::split_conjunction;
use engine::{SqlError, SqlResult, TableDef, TableStorage};
use plan::{Access, Node, Operator, Plan, Scan};

use crate::fragment::{Fragment, Scalar, Step};
use expr::lowered;

/// The plan of a fragment over its table.
///
/// # Errors
/// 0A000 for what this engine does not run, XX000 for columns that the table does not have.
pub fn plan(fragment: &Fragment, table: &Arc<TableDef>) -> SqlResult<Arc<Plan>> {
    let (scan, rest) = scan(fragment, table)?;
    let mut root = scan;
    for step in rest {
        root = operator(root, step)?;
    }
    let mut node_count = 0;
    number(&mut root, &mut node_count);
    Ok(Arc::new(Plan { root: Arc::new(root), node_count, bindings: None, program: None }))
}

/// Gives ids in pre-order.
fn number(node: &mut Node, next: &mut usize) {
    node.id = *next;
    *next += 1;
    node.children_mut().into_iter().for_each(|child| number(child, next));
}

/// A node; nobody chooses between plans by its estimates.
fn node(operator: Operator, schema: SchemaRef, rows: f64) -> Node {
    Node::new(operator, schema, rows, 0.0)
}

/// The scan, and the steps that are not in it: a filter right over the table is.
fn scan<'a>(fragment: &'a Fragment, table: &Arc<TableDef>) -> SqlResult<(Node, &'a [Step])> {
    let mut columns = fragment.columns.clone();
    columns.sort_unstable();
    columns.dedup();
    let width = table.schema.columns.len();
    let are_there = columns.iter().all(|column| *column < width);
    if !are_there || table.schema.project(&fragment.columns) != fragment.read {
        return Err(SqlError::internal("a fragment reads columns that its table does not have"));
    }
    let position = |column| columns.binary_search(column).expect("it is one of them");
    let output: Vec<usize> = fragment.columns.iter().map(position).collect();
    let is_in_order = output.iter().copied().eq(0..columns.len());
    let (first, rest) = match fragment.steps.split_first() {
        Some((Step::Filter(predicate), rest)) if is_in_order => (Some(predicate), rest),
        _ => (None, fragment.steps.as_slice()),
    };
    let conjuncts = first.map(split_conjunction).unwrap_or_default();
    let is_column = table.storage == TableStorage::Column;
    let (mut restrictions, mut tested) = (vec![], vec![]);
    for conjunct in conjuncts {
        match restriction::of(conjunct, &columns, table).filter(|_| is_column) {
            Some(found) => restrictions.push(found),
            None => tested.push(Arc::clone(conjunct)),
        }
    }
    let filter = datafusion::physical_expr::utils::conjunction_opt(tested);
    let filter = filter.map(|filter| lowered(&filter, &fragment.read)).transpose()?;
    let scan = Scan {
        table: Arc::clone(table),
        access: Access::Full,
        slot: None,
        columns,
        restrictions,
        filter,
        output,
        first: None,
        as_words: false,
    };
    let rows = table.statistics.row_count as f64;
    Ok((node(Operator::Scan(scan), fragment.read.clone(), rows), rest))
}

fn operator(input: Node, step: &Step) -> SqlResult<Node> {
    let (schema, rows) = (input.schema.clone(), input.rows);
    match step {
        Step::Filter(predicate) => {
            let predicate = lowered(predicate, &schema)?;
            let filter = Operator::Filter { input: Box::new(input), predicate };
            Ok(node(filter, schema, rows))
        }
        Step::Project(exprs, names) => {
            let exprs = exprs.iter().map(|expr: &Scalar| lowered(expr, &schema));
            let exprs = exprs.collect::<SqlResult<_>>()?;
            let project = Operator::Project { input: Box::new(input), exprs, as_words: false };
            Ok(node(project, names.clone(), rows))
        }
        Step::Aggregate(partial) => aggregate::node(input, partial),
    }
}
