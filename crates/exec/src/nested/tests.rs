//! However long the right side is, a piece tests a bounded number of pairs; all pieces together give what
//! every pair tested by hand gives.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use plan::{HashJoinKind, NestedLoopJoin, Node, Operator};
use sql::parse_expr;

use super::{NestedLoop, PAIR_BATCHES};
use crate::map::Map;
use crate::memory::Grant;

const BATCH_ROWS: usize = 16;

fn rows(name: &str, values: impl Iterator<Item = i64>) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    RecordBatch::try_from_iter_with_nullable([(name, column, true)]).unwrap()
}

fn node(batch: &RecordBatch) -> Box<Node> {
    let (operator, schema) = (Operator::Values(batch.clone().into()), batch.schema());
    Box::new(Node::new(operator, schema, 0.0, 0.0))
}

/// The rows that the left side makes, as text, and how many pieces it took.
fn joined(kind: HashJoinKind, left: &RecordBatch, right: &RecordBatch) -> (Vec<String>, usize) {
    use HashJoinKind as K;
    let both = [left.schema().field(0).clone(), right.schema().field(0).clone()];
    let filter = parse_expr("a * 10 < b and b < a * 10 + 4", &Schema::new(both.to_vec()));
    let (output, fields) = match kind {
        K::BuildSemi | K::BuildAnti => (vec![0], both[..1].to_vec()),
        K::BuildMark => {
            (vec![0, 2], vec![both[0].clone(), Field::new("mark", DataType::Boolean, true)])
        }
        _ => (vec![0, 1], both.to_vec()),
    };
    let filter = Some(filter.unwrap());
    let join = NestedLoopJoin { left: node(left), right: node(right), filter, kind, output };
    let mut whole = node(left);
    whole.schema = Arc::new(Schema::new(fields));
    let memory = Grant::unlimited().reserve("nested-loop join");
    let nested = NestedLoop::new(&whole, &join, right.clone(), memory, BATCH_ROWS);
    let (mut rest, mut found, mut pieces) = (Some(left.clone()), vec![], 0);
    while let Some(rows) = rest {
        let applied = nested.apply(rows).unwrap();
        pieces += 1;
        applied.out.iter().for_each(|batch| found.extend(texts(batch)));
        rest = applied.rest;
    }
    (found, pieces)
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    let cell = |column: &ArrayRef, row: usize| match column.as_boolean_opt() {
        _ if column.is_null(row) => "-".to_owned(),
        Some(marks) => marks.value(row).to_string(),
        None => column.as_primitive::<Int64Type>().value(row).to_string(),
    };
    let text =
        |row: usize| batch.columns().iter().map(|c| cell(c, row)).collect::<Vec<_>>().join(" ");
    (0..batch.num_rows()).map(text).collect()
}

#[test]
fn pieces_are_bounded_and_give_all_rows() {
    use HashJoinKind as K;
    let (left, right) = (rows("a", [3, 7, 500, 0].into_iter()), rows("b", 0..100));
    let cases: [(K, &[&str]); 6] = [
        (K::Inner, &["3 31", "3 32", "3 33", "7 71", "7 72", "7 73", "0 1", "0 2", "0 3"]),
        (
            K::BuildOuter,
            &["3 31", "3 32", "3 33", "7 71", "7 72", "7 73", "500 -", "0 1", "0 2", "0 3"],
        ),
        (K::BuildSemi, &["3", "7", "0"]),
        (K::BuildAnti, &["500"]),
        (K::BuildMark, &["3 true", "7 true", "500 false", "0 true"]),
        (
            K::FullOuter,
            &["3 31", "3 32", "3 33", "7 71", "7 72", "7 73", "500 -", "0 1", "0 2", "0 3"],
        ),
    ];
    for (kind, expected) in cases {
        let (found, pieces) = joined(kind, &left, &right);
        assert_eq!(found, expected, "{kind:?}");
        let least = match kind {
            // Who has a partner asks no more: in the second, the third, no and the first piece.
            K::BuildSemi | K::BuildAnti | K::BuildMark => 1 + 3 + 4 + 1,
            _ => 4 * 100usize.div_ceil(PAIR_BATCHES * BATCH_ROWS),
        };
        assert!(pieces >= least, "{pieces} pieces of {kind:?}");
    }
    let few = rows("b", 0..20);
    let (found, pieces) = joined(K::Inner, &rows("a", 0..9), &few);
    assert_eq!(found, ["0 1", "0 2", "0 3", "1 11", "1 12", "1 13"]);
    assert_eq!(pieces, 9);
}
