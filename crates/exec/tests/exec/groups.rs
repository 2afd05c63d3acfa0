//! So many groups that all workers merge them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use exec::{Grant, Mode, Query};
use runtime::sync::{Cancel, Permits};

use crate::build::{aggregate, plan, scan};
use crate::memory::{Behaviour, Memory};
use crate::reference::{evaluate, rows};
use crate::rig::{Dice, random_rows, run, runtime};

const ROWS: usize = 60_000;
const VALUES: usize = 20_000;

/// Rows whose second column has many values; some come in runs, some are null.
fn many_values(dice: &mut Dice) -> RecordBatch {
    let rows = random_rows(dice, ROWS);
    let mut last = 0;
    let value = |_| {
        if dice.chance(60) {
            last = dice.roll(VALUES) as i64;
        }
        (!dice.chance(2)).then_some(last)
    };
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    columns[1] = Arc::new(Int64Array::from((0..ROWS).map(value).collect::<Vec<_>>()));
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

#[test]
fn tables_of_many_groups_become_one() {
    let mut dice = Dice(17);
    let tables = [("t".to_owned(), many_values(&mut dice))].into();
    let behaviour = Arc::new(Behaviour::default());
    let memory = Arc::new(Memory { tables, behaviour, leaf_rows: 700 });
    let runtime = runtime(2);
    let aggregates = ["count(*)", "sum(c0)", "avg(c0)", "min(c2)", "count(distinct c5)"];
    for group_by in [&["c1"][..], &["c0", "c1"], &["c1", "c2"], &["c1", "c3", "c4"]] {
        let plan = plan(aggregate(scan("t"), group_by, &aggregates));
        let mut expected = rows(&[evaluate(&plan.root, &memory)]);
        expected.sort();
        for mode in [Mode::OutOfOrder, Mode::Static { partitions: 4 }, Mode::Serial] {
            let progress = Arc::new(exec::Progress::new(plan.node_count, 2));
            let query = Query::new(mode, Permits::new(64), Cancel::new(), progress);
            let query = Query { memory: Grant::unlimited(), ..query };
            let outcome = run(&runtime, &plan, &memory, query);
            assert_eq!(outcome.result, Ok(()), "{group_by:?}, {mode:?}");
            let mut got = outcome.rows;
            got.sort();
            assert!(got == expected, "{group_by:?}, {mode:?}: other groups");
        }
    }
    assert!(memory.tables["t"].column(1).null_count() > 0, "null is a group");
}
