//! Our own state against the library's, over random rows: with nulls, filters, wide values, and merged.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch,
};
use plan::expr::{Accumulator, AggregateExpr, GroupRows};
use stdx::Prng;

use crate::analyze::expression::parse_aggregate;

const ROUNDS: u64 = 300;

fn column(random: &mut Prng, rows: usize, max: i128) -> Vec<Option<i128>> {
    let (nulls, extremes) = (random.below(2) as f64 * 0.3, random.below(2) as f64 * 0.01);
    let mut value = || {
        if random.chance(nulls) {
            return None;
        }
        let size = match random.chance(extremes) {
            true => max,
            false => i128::from(random.below(100_000)).min(max),
        };
        Some(if random.chance(0.5) { -size } else { size })
    };
    (0..rows).map(|_| value()).collect()
}

fn batch(random: &mut Prng, rows: usize) -> RecordBatch {
    let d = column(random, rows, 10i128.pow(15) - 1);
    // So large that some sums are too large, and so small that none is so only in between.
    let w = column(random, rows, 10i128.pow(37) - 1);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("d", Arc::new(Decimal128Array::from(d).with_precision_and_scale(15, 2).unwrap())),
        ("w", Arc::new(Decimal128Array::from(w).with_precision_and_scale(38, 4).unwrap())),
        (
            "i",
            Arc::new(
                column(random, rows, i64::MAX.into())
                    .iter()
                    .map(|v| v.map(|v| v as i64))
                    .collect::<Int64Array>(),
            ),
        ),
        (
            "n",
            Arc::new(
                column(random, rows, i32::MAX.into())
                    .iter()
                    .map(|v| v.map(|v| v as i32))
                    .collect::<Int32Array>(),
            ),
        ),
        (
            "day",
            Arc::new(
                column(random, rows, 30_000)
                    .iter()
                    .map(|v| v.map(|v| v as i32))
                    .collect::<Date32Array>(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

/// Adds the same rows to both, ours as words where it takes them.
fn add(
    both: &mut [Accumulator; 2],
    expr: &AggregateExpr,
    rows: &RecordBatch,
    groups: &[usize],
    total: usize,
) {
    let args: Vec<ArrayRef> = expr.args.iter().map(|a| a.evaluate(rows).unwrap()).collect();
    let filter = expr.filter.as_ref().map(|f| f.evaluate(rows).unwrap());
    let filter = filter.as_ref().and_then(|f| f.as_any().downcast_ref::<BooleanArray>());
    let [ours, library] = both;
    let groups = GroupRows::new(groups, total);
    library.update(&args, &groups, filter).unwrap();
    match expr.args[0].words(rows).filter(|_| ours.takes_words()) {
        Some(words) => ours.update_words(&words, &groups, filter),
        None => ours.update(&args, &groups, filter).unwrap(),
    }
}

fn pair(expr: &AggregateExpr) -> [Accumulator; 2] {
    let ours = expr.accumulator().unwrap();
    assert!(ours.is_ours(), "{expr:?}");
    let library = AggregateExpr { kind: expr.kind.clone().foreign(), ..expr.clone() };
    [ours, library.accumulator().unwrap()]
}

/// One aggregate over some batches, in two states that are merged by way of their rows.
fn check(text: &str, seed: u64) {
    let mut random = Prng::new(seed);
    let rows = 1 + random.below(700) as usize;
    let most = [1, 3, 200, 1000][random.below(4) as usize];
    let expr = parse_aggregate(text, &batch(&mut random, 1).schema()).unwrap();
    let (mut first, mut second) = (pair(&expr), pair(&expr));
    let mut total = 1;
    for _ in 0..1 + random.below(4) {
        let rows = batch(&mut random, rows);
        total = (total + random.below(most) as usize).max(1);
        // Each group that is new has a row: as of a table of groups.
        let group =
            |row: usize| if row < total { row } else { random.below(total as u64) as usize };
        let groups: Vec<usize> = (0..rows.num_rows()).map(group).collect();
        total = total.min(rows.num_rows().max(groups.iter().max().map_or(0, |g| g + 1)));
        add(&mut first, &expr, &rows, &groups, total);
        add(&mut second, &expr, &rows, &groups, total);
    }
    let merged = (0..total).map(|group| total - 1 - group).collect::<Vec<_>>();
    let [mut ours, mut library] = first;
    let [mut our_other, mut library_other] = second;
    let (our_state, library_state) = match (our_other.state(), library_other.state()) {
        (Ok(ours), Ok(library)) => (ours, library),
        (ours, library) => {
            assert_eq!(ours.is_err(), library.is_err(), "{text}, seed {seed}");
            return;
        }
    };
    ours.merge(&our_state, &merged, total).unwrap();
    library.merge(&library_state, &merged, total).unwrap();
    let (got, expected) = (ours.evaluate(), library.evaluate());
    match (got, expected) {
        (Ok(got), Ok(expected)) => assert_eq!(&got, &expected, "{text}, seed {seed}"),
        (got, expected) => assert_eq!(got.is_err(), expected.is_err(), "{text}, seed {seed}"),
    }
}

#[test]
fn totals_are_the_library_s_equals() {
    let aggregates = [
        "sum(d)",
        "sum(w)",
        "sum(i)",
        "sum(n)",
        "sum(d * (1 - d))",
        "sum(d) filter (where n > 0)",
        "avg(d)",
        "avg(n)",
        "avg(i) filter (where d < 100)",
        "count(d)",
        "count(day) filter (where n > 0)",
        "min(d)",
        "max(d)",
        "min(w)",
        "max(w)",
        "min(day)",
        "max(n)",
        "max(i)",
        "min(i) filter (where n > 90000)",
    ];
    for text in aggregates {
        (0..ROUNDS / 10).for_each(|seed| check(text, seed));
    }
    (0..ROUNDS).for_each(|seed| check(aggregates[seed as usize % aggregates.len()], seed));
}

#[test]
fn one_state_gives_an_average_and_its_sum() {
    let mut random = Prng::new(19);
    let rows = batch(&mut random, 500);
    let groups: Vec<usize> = (0..500).map(|row| row % 7).collect();
    let expr = |text: &str| parse_aggregate(text, &rows.schema()).unwrap();
    let (average, sum) = (expr("avg(d)"), expr("sum(d)"));
    let (mut averages, mut sums) = (pair(&average), pair(&sum));
    assert!(sums[0].is_sum_of(&averages[0]) && !averages[0].is_sum_of(&sums[0]));
    add(&mut averages, &average, &rows, &groups, 7);
    add(&mut sums, &sum, &rows, &groups, 7);
    let both = averages[0].averages_and_sums().unwrap();
    assert_eq!(both, (averages[1].evaluate().unwrap(), sums[1].evaluate().unwrap()));
}
