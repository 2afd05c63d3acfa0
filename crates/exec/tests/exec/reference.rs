//! A second way to evaluate plans: whole tables, every pair, cells compared as text.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow_cast::display::array_value_to_string;
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_schema::{SchemaRef, SortOptions};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use plan::expr::{AggregateExpr, Expr, GroupRows};
use plan::{HashJoin, HashJoinKind, LookupJoin, LookupKind, NestedLoopJoin, Node, Operator};

use crate::build::named;
use crate::memory::Memory;

/// A printed cell; `None` is null.
pub type Cell = Option<String>;

pub fn cell(column: &ArrayRef, row: usize) -> Cell {
    (!column.is_null(row)).then(|| array_value_to_string(column, row).unwrap())
}

/// All rows as text.
pub fn rows(batches: &[RecordBatch]) -> Vec<Vec<Cell>> {
    let row = |b: &RecordBatch, r| b.columns().iter().map(|c| cell(c, r)).collect();
    batches.iter().flat_map(|b| (0..b.num_rows()).map(move |r| row(b, r))).collect()
}

/// The rows of a node.
pub fn evaluate(node: &Node, memory: &Memory) -> RecordBatch {
    let child = |n: &Node| evaluate(n, memory);
    match &node.operator {
        Operator::Values(plan::Listed { rows, .. }) => {
            titled(&node.schema, rows.columns().to_vec(), rows.num_rows())
        }
        Operator::Scan(scan) => {
            let all = memory.tables[&scan.table.name].project(&scan.columns).unwrap();
            let kept = scan.filter.as_ref().map_or(all.clone(), |f| keep(&all, f));
            let kept = kept.project(&scan.output).unwrap();
            titled(&node.schema, kept.columns().to_vec(), kept.num_rows())
        }
        Operator::Filter { input, predicate } => keep(&child(input), predicate),
        Operator::Project { input, exprs, .. } => {
            let rows = child(input);
            let columns = exprs.iter().map(|e| e.evaluate(&rows).unwrap()).collect();
            titled(&node.schema, columns, rows.num_rows())
        }
        Operator::LookupJoin(join) => lookup(node, join, memory),
        Operator::HashJoin(join) => hash(node, join, memory),
        Operator::NestedLoopJoin(join) => nested(node, join, memory),
        Operator::Aggregate { input, group_by, aggregates } => {
            aggregate(node, &child(input), group_by, aggregates)
        }
        Operator::Window { .. }
        | Operator::Unnest { .. }
        | Operator::Recursive(_)
        | Operator::CteScan(_)
        | Operator::WorkTable { .. } => unreachable!("the random plans have no such node"),
        Operator::Sort { input, keys, fetch } => {
            let rows = child(input);
            let column = |k: &plan::expr::SortKey| SortColumn {
                values: k.expr.evaluate(&rows).unwrap(),
                options: Some(SortOptions { descending: k.descending, nulls_first: k.nulls_first }),
            };
            let columns: Vec<_> = keys.iter().map(column).collect();
            let order = lexsort_to_indices(&columns, *fetch).unwrap();
            pick(&rows, &order)
        }
        Operator::Limit { input, skip, fetch } => {
            let rows = child(input);
            let skip = (*skip).min(rows.num_rows());
            rows.slice(skip, fetch.unwrap_or(usize::MAX).min(rows.num_rows() - skip))
        }
        Operator::Union { inputs } => {
            let parts = inputs.iter().map(|n| {
                let rows = child(n);
                titled(&node.schema, rows.columns().to_vec(), rows.num_rows())
            });
            concat_batches(&node.schema, &parts.collect::<Vec<_>>()).unwrap()
        }
    }
}

fn titled(schema: &SchemaRef, columns: Vec<ArrayRef>, row_count: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).unwrap()
}

fn keep(rows: &RecordBatch, predicate: &Expr) -> RecordBatch {
    filter_record_batch(rows, predicate.evaluate(rows).unwrap().as_boolean()).unwrap()
}

fn pick(rows: &RecordBatch, at: &UInt32Array) -> RecordBatch {
    let columns = rows.columns().iter().map(|c| pick_column(c, at)).collect();
    titled(&rows.schema(), columns, at.len())
}

fn pick_column(column: &ArrayRef, at: &UInt32Array) -> ArrayRef {
    if column.is_empty() {
        return arrow_array::new_null_array(column.data_type(), at.len());
    }
    take(column, at, None).unwrap()
}

fn keys(exprs: &[Expr], rows: &RecordBatch) -> Vec<Vec<Cell>> {
    let columns: Vec<_> = exprs.iter().map(|e| e.evaluate(rows).unwrap()).collect();
    (0..rows.num_rows()).map(|r| columns.iter().map(|c| cell(c, r)).collect()).collect()
}

/// For each left row, for each right row: are they partners?
struct Matrix(Vec<Vec<bool>>);

fn matrix(
    left: &RecordBatch,
    right: &RecordBatch,
    filter: Option<&Expr>,
    equal: impl Fn(usize, usize) -> bool,
) -> Matrix {
    let mut matrix = vec![vec![true; right.num_rows()]; left.num_rows()];
    for (l, row) in matrix.iter_mut().enumerate() {
        if let Some(filter) = filter {
            let at = UInt32Array::from(vec![l as u32; right.num_rows()]);
            let mut columns = pick(left, &at).columns().to_vec();
            columns.extend_from_slice(right.columns());
            let schema = named(columns.iter().map(|c| c.data_type().clone()));
            let mask = filter.evaluate(&titled(&schema, columns, right.num_rows())).unwrap();
            let mask: &BooleanArray = mask.as_boolean();
            (0..right.num_rows()).for_each(|r| row[r] = mask.is_valid(r) && mask.value(r));
        }
        (0..right.num_rows()).for_each(|r| row[r] &= equal(l, r));
    }
    Matrix(matrix)
}

/// The output of a join of `left` (build) and `right` (probe) from its matrix.
fn join(
    node: &Node,
    left: &RecordBatch,
    right: &RecordBatch,
    matrix: &Matrix,
    kind: HashJoinKind,
    output: &[usize],
) -> RecordBatch {
    use HashJoinKind as K;
    let m = &matrix.0;
    let left_has = |l: usize| m[l].contains(&true);
    let right_has = |r: usize| m.iter().any(|row| row[r]);
    let (lefts, rights) = (0..left.num_rows(), 0..right.num_rows());
    let mut at: Vec<(Option<u32>, Option<u32>, bool)> = Vec::new();
    let pairs = matches!(kind, K::Inner | K::BuildOuter | K::ProbeOuter | K::FullOuter);
    let keep_left = |l: &usize| match kind {
        K::BuildOuter | K::FullOuter | K::BuildAnti => !left_has(*l),
        K::BuildSemi => left_has(*l),
        K::BuildMark => true,
        _ => false,
    };
    for l in lefts {
        let partners = rights.clone().filter(|&r| pairs && m[l][r]);
        at.extend(partners.map(|r| (Some(l as u32), Some(r as u32), true)));
        if keep_left(&l) {
            at.push((Some(l as u32), None, left_has(l)));
        }
    }
    let keep_right = |r: &usize| match kind {
        K::ProbeOuter | K::FullOuter | K::ProbeAnti => !right_has(*r),
        K::ProbeSemi => right_has(*r),
        K::ProbeMark => true,
        _ => false,
    };
    at.extend(rights.filter(keep_right).map(|r| (None, Some(r as u32), right_has(r))));
    let l: UInt32Array = at.iter().map(|a| a.0).collect();
    let r: UInt32Array = at.iter().map(|a| a.1).collect();
    let mark: ArrayRef = Arc::new(at.iter().map(|a| Some(a.2)).collect::<BooleanArray>());
    let mut columns = pick(left, &l).columns().to_vec();
    columns.extend_from_slice(pick(right, &r).columns());
    columns.push(mark);
    let columns = output.iter().map(|&i| Arc::clone(&columns[i])).collect();
    titled(&node.schema, columns, at.len())
}

fn hash(node: &Node, spec: &HashJoin, memory: &Memory) -> RecordBatch {
    let (left, right) = (evaluate(&spec.build, memory), evaluate(&spec.probe, memory));
    let (lk, rk) = (keys(&spec.build_keys, &left), keys(&spec.probe_keys, &right));
    let has_null = |key: &Vec<Cell>| key.iter().any(Option::is_none);
    let equal = |l: usize, r: usize| lk[l] == rk[r] && (spec.null_equals_null || !has_null(&lk[l]));
    let mut matrix = matrix(&left, &right, spec.filter.as_ref(), equal);
    if spec.null_aware {
        // Unknown counts as a partner: the row does not pass NOT IN.
        for (l, row) in matrix.0.iter_mut().enumerate() {
            for (r, cell) in row.iter_mut().enumerate() {
                *cell |= has_null(&lk[l]) || has_null(&rk[r]);
            }
        }
    }
    join(node, &left, &right, &matrix, spec.kind, &spec.output)
}

fn nested(node: &Node, spec: &NestedLoopJoin, memory: &Memory) -> RecordBatch {
    let (left, right) = (evaluate(&spec.left, memory), evaluate(&spec.right, memory));
    let matrix = matrix(&left, &right, spec.filter.as_ref(), |_, _| true);
    join(node, &left, &right, &matrix, spec.kind, &spec.output)
}

fn lookup(node: &Node, spec: &LookupJoin, memory: &Memory) -> RecordBatch {
    let left = evaluate(&spec.outer, memory);
    let all = &memory.tables[&spec.table.name];
    let read = all.project(&spec.columns).unwrap();
    let passes = spec.inner_filter.as_ref().map(|f| f.evaluate(&read).unwrap());
    let key_columns = &spec.index.key_columns(&spec.table)[..spec.keys.len()];
    let lk = keys(&spec.keys, &left);
    let equal = |l: usize, r: usize| {
        let inner: Vec<Cell> = key_columns.iter().map(|&c| cell(all.column(c), r)).collect();
        let pass = passes.as_ref().is_none_or(|p| p.is_valid(r) && p.as_boolean().value(r));
        pass && lk[l] == inner && inner.iter().all(Option::is_some)
    };
    let matrix = matrix(&left, &read, spec.filter.as_ref(), equal);
    let kind = match spec.kind {
        LookupKind::Inner => HashJoinKind::Inner,
        LookupKind::Left => HashJoinKind::BuildOuter,
        LookupKind::Semi => HashJoinKind::BuildSemi,
        LookupKind::Anti => HashJoinKind::BuildAnti,
    };
    join(node, &left, &read, &matrix, kind, &spec.output)
}

fn aggregate(
    node: &Node,
    input: &RecordBatch,
    group_by: &[Expr],
    aggregates: &[AggregateExpr],
) -> RecordBatch {
    let mut groups: BTreeMap<Vec<Cell>, Vec<u32>> = BTreeMap::new();
    for (row, key) in keys(group_by, input).into_iter().enumerate() {
        groups.entry(key).or_default().push(row as u32);
    }
    if group_by.is_empty() {
        groups.entry(vec![]).or_default();
    }
    let mut out = vec![RecordBatch::new_empty(Arc::clone(&node.schema))];
    for rows in groups.into_values() {
        let rows = pick(input, &rows.into());
        let mut columns: Vec<ArrayRef> =
            group_by.iter().map(|e| e.evaluate(&rows).unwrap().slice(0, 1)).collect();
        columns.extend(aggregates.iter().map(|a| one_group(a, &rows)));
        out.push(titled(&node.schema, columns, 1));
    }
    concat_batches(&node.schema, &out).unwrap()
}

fn one_group(aggregate: &AggregateExpr, rows: &RecordBatch) -> ArrayRef {
    let args: Vec<_> = aggregate.args.iter().map(|a| a.evaluate(rows).unwrap()).collect();
    let filter = aggregate.filter.as_ref().map(|f| f.evaluate(rows).unwrap());
    let mut state = aggregate.accumulator().unwrap();
    if rows.num_rows() == 0 {
        // No row is a row that does not count.
        let nulls: Vec<_> = args.iter().map(|a| new_null_array(a.data_type(), 1)).collect();
        let dropped = BooleanArray::from(vec![false]);
        state.update(&nulls, &GroupRows::new(&[0], 1), Some(&dropped)).unwrap();
        return state.evaluate().unwrap();
    }
    let groups = vec![0; rows.num_rows()];
    let filter = filter.as_ref().map(|f| f.as_boolean());
    state.update(&args, &GroupRows::new(&groups, 1), filter).unwrap();
    state.evaluate().unwrap()
}
