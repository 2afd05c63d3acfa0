//! Operators one by one, and their corner cases.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use arrow_array::{Float64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema};
use exec::Mode;
use plan::{HashJoinKind, LookupKind, Node};

use crate::build::{
    LookupSpec, aggregate, filter, limit, lookup_join, named, nested_loop, plan, project, scan,
    scan_of, sort, union, values,
};
use crate::rig::{Dice, WAYS, Way, check, memory, query, run, runtime, runtimes, simulation};

fn same(make: impl Fn() -> Node, ordered: bool, name: &str) {
    same_up_to(200, make, ordered, name);
}

fn same_up_to(row_count_max: usize, make: impl Fn() -> Node, ordered: bool, name: &str) {
    let runtimes = runtimes();
    let mut dice = Dice(11);
    for row_count in [0, 1, 20, row_count_max] {
        let memory = Arc::new(memory(&mut dice, row_count));
        check(&runtimes, &plan(make()), &memory, ordered, name);
    }
}

#[test]
fn scan_filter_project() {
    same(|| scan("t"), false, "scan");
    same(|| scan_of("t", Some("a < 4 and f"), vec![2, 0]), false, "scan with filter");
    same(|| filter(scan("t"), "c0 = 3 or c2 = 'x'"), false, "filter");
    same(|| project(scan("t"), &["c0 + 1", "c2", "c1 * 2"]), false, "project");
    same(|| scan_of("t", Some("a < 4"), vec![]), false, "no columns");
}

#[test]
fn literal_rows() {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options);
    let one = one.unwrap();
    same(move || project(values(one.clone()), &["1 + 1"]), false, "select without from");
}

#[test]
fn aggregates() {
    let all = ["count(*)", "sum(c1)", "min(c2)", "max(c4)", "count(distinct c0)", "avg(c1)"];
    same(|| aggregate(scan("t"), &[], &all), false, "one group");
    same(|| aggregate(scan("t"), &["c0"], &all), false, "by integer");
    same(|| aggregate(scan("t"), &["c2"], &all), false, "by text");
    same(|| aggregate(scan("t"), &["c0", "c3", "c5"], &all), false, "by three");
    same(|| aggregate(scan("t"), &["c4"], &[]), false, "distinct");
    same(
        || aggregate(scan("t"), &["c5"], &["count(*) filter (where c3)", "sum(c0)"]),
        false,
        "with filter",
    );
    same(|| aggregate(scan_of("t", None, vec![]), &[], &["count(*)"]), false, "no columns");
    same(|| aggregate(scan("empty"), &[], &["count(*)", "sum(c0)"]), false, "of nothing");
    same(|| aggregate(scan("empty"), &["c0"], &["count(*)"]), false, "groups of nothing");
}

#[test]
fn aggregates_of_nothing() {
    let all = ["count(*)", "count(c0)", "sum(c1)", "min(c2)", "avg(c1)", "count(distinct c0)"];
    let plan = plan(aggregate(scan("empty"), &[], &all));
    let memory = Arc::new(memory(&mut Dice(1), 1));
    for (workers, runtime) in &runtimes() {
        for way in WAYS {
            let rows = run(runtime, &plan, &memory, query(&plan, *workers, way)).rows;
            let zero = || Some("0".to_owned());
            assert_eq!(rows, [vec![zero(), zero(), None, None, None, zero()]], "{way:?}");
        }
    }
}

#[test]
fn zero_and_nan_are_one_group_each() {
    let column = Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, 1.0]);
    let rows = RecordBatch::try_new(named([DataType::Float64]), vec![Arc::new(column)]).unwrap();
    let plan = plan(aggregate(values(rows), &["c0"], &["count(*)"]));
    let (runtime, memory) = (runtime(1), Arc::new(memory(&mut Dice(1), 1)));
    for way in WAYS {
        let mut counts: Vec<_> = run(&runtime, &plan, &memory, query(&plan, 1, way))
            .rows
            .into_iter()
            .map(|r| r[1].clone().unwrap())
            .collect();
        counts.sort();
        assert_eq!(counts, ["1", "2", "2"]);
    }
}

#[test]
fn sorts_and_limits() {
    for nulls_first in [false, true] {
        for descending in [false, true] {
            let first = [(2, descending, nulls_first), (4, !descending, nulls_first)];
            same(|| sort(scan("t"), &first, None), true, "sort");
            same(|| sort(scan("t"), &first, Some(5)), true, "top 5");
            same(|| limit(sort(scan("t"), &first, None), 3, Some(10)), true, "limit of sort");
            same(|| limit(sort(scan("t"), &first, None), 4, None), true, "offset of sort");
        }
    }
    same(|| sort(scan("t"), &[(0, false, false)], Some(0)), true, "top 0");
    // Several sorted runs per worker, and more rows wanted than pruning is for.
    same_up_to(3000, || sort(scan("t"), &[(1, false, false)], None), true, "runs");
    same_up_to(3000, || sort(scan("t"), &[(1, false, false)], Some(900)), true, "top of runs");
    let late = || {
        let top = sort(scan("t"), &[(1, true, false)], Some(9));
        project(filter(top, "c0 > 1"), &["c1", "c2"])
    };
    same(late, true, "order through filter and project");
}

#[test]
fn order_survives_look_ups() {
    let make = || {
        let spec =
            LookupSpec { kind: LookupKind::Left, keys: &["c0"], inner_filter: None, filter: None };
        let joined = lookup_join(sort(scan("t"), &[(1, false, false)], Some(40)), "u", &spec);
        project(joined, &["c1", "c0", "c2", "c3", "c4", "c5"])
    };
    same(make, true, "sorted outer rows");
}

#[test]
fn unions() {
    same(|| union(vec![scan("t"), scan("u"), scan("empty"), scan("v")]), false, "union");
    let nested = || {
        let both =
            union(vec![filter(scan("t"), "c0 > 2"), limit(sort(scan("u"), &[], None), 1, Some(5))]);
        aggregate(project(both, &["c2", "c0"]), &["c0"], &["count(*)", "max(c1)"])
    };
    same(nested, false, "union of a limit");
}

#[test]
fn a_limit_passes_so_many_rows() {
    let runtimes = runtimes();
    let memory = Arc::new(memory(&mut Dice(5), 300));
    let all = memory.tables["t"].num_rows();
    for (skip, fetch) in [(0, 0), (0, 1), (0, 50), (10, 20), (0, 1000), (1000, 5)] {
        let joined = || {
            let inner = limit(scan("t"), skip, Some(fetch));
            nested_loop(inner, scan_of("empty", None, vec![0]), HashJoinKind::BuildOuter, None)
        };
        for plan in [plan(limit(scan("t"), skip, Some(fetch))), plan(joined())] {
            for (workers, runtime) in &runtimes {
                for way in WAYS {
                    let outcome = run(runtime, &plan, &memory, query(&plan, *workers, way));
                    assert_eq!(outcome.result, Ok(()));
                    let expected = fetch.min(all.saturating_sub(skip));
                    assert_eq!(outcome.rows.len(), expected, "{way:?} {skip} {fetch}");
                }
            }
        }
    }
}

#[test]
fn figures_say_what_happened() {
    let memory = Arc::new(memory(&mut Dice(77), 400));
    let row_count = memory.tables["t"].num_rows() as u64;
    assert!(row_count > 100, "the seed gives a large table");
    let spec =
        LookupSpec { kind: LookupKind::Inner, keys: &["c0"], inner_filter: None, filter: None };
    let plan = plan(aggregate(lookup_join(scan("t"), "u", &spec), &[], &["count(*)"]));
    let runtime = runtime(2);
    for way in WAYS {
        memory.behaviour.deep.store(0, SeqCst);
        let outcome = run(&runtime, &plan, &memory, query(&plan, 2, way));
        let snapshot = outcome.progress.snapshot();
        assert_eq!(snapshot.nodes[2].rows, row_count, "{way:?}");
        assert_eq!(snapshot.nodes[0].rows, 1);
        let joined: u64 = outcome.rows[0][0].clone().unwrap().parse().unwrap();
        assert_eq!(snapshot.nodes[1].rows, joined);
        assert_eq!(snapshot.nodes[2].parts_known, snapshot.nodes[2].parts_done);
        assert_eq!(snapshot.nodes[2].reads, snapshot.nodes[2].parts_done);
        assert_eq!(memory.behaviour.deep.load(SeqCst) > 0, way.mode == Mode::OutOfOrder);
        match way {
            Way { mode: Mode::Serial, .. } => assert_eq!(snapshot.tasks.created, 2, "scan, result"),
            Way { mode: Mode::Static { partitions }, .. } => {
                assert_eq!(snapshot.partitions.len(), partitions);
            }
            Way { permits: 64, .. } => assert!(snapshot.tasks.created > 50, "many tasks"),
            Way { .. } => {}
        }
    }
}

#[test]
fn serial_has_one_request_in_flight() {
    let mut memory = memory(&mut Dice(78), 400);
    let device = crate::memory::Behaviour { sleep_us_max: 20_000, ..Default::default() };
    memory.behaviour = Arc::new(device);
    // Parts of many look-ups.
    memory.leaf_rows = 50;
    let memory = Arc::new(memory);
    let spec =
        LookupSpec { kind: LookupKind::Inner, keys: &["c0"], inner_filter: None, filter: None };
    let plan = plan(lookup_join(scan("t"), "u", &spec));
    // How many wait at once is the same on every machine.
    let runtime = simulation(2, 78);
    let most = |way: Way| {
        memory.behaviour.in_work_max.store(0, SeqCst);
        assert_eq!(run(&runtime, &plan, &memory, query(&plan, 2, way)).result, Ok(()));
        memory.behaviour.in_work_max.load(SeqCst)
    };
    assert_eq!(most(WAYS[0]), 1);
    let partitioned = most(WAYS[2]);
    assert!(partitioned > 1 && partitioned <= 5, "{partitioned}");
    // Without permits one piece of work per worker; with 64, no more than these and the feeders'.
    assert!(most(WAYS[3]) <= 2);
    let most_of_64 = most(WAYS[5]);
    assert!(most_of_64 > 8 && most_of_64 <= 66, "{most_of_64}");
}
