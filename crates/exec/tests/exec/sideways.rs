//! Filters of a finished build side on the scans of the other one: the rows are those of a plan without
//! them, and rows are dropped.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};
use exec::{Governor, Query};
use plan::{HashJoinKind, LookupKind, Node};

use crate::build::{
    HashSpec, LookupSpec, aggregate, filter, hash_join, limit, lookup_join, nested_loop, plan,
    project, scan, scan_of, sort, union,
};
use crate::memory::{Behaviour, Memory};
use crate::rig::{Dice, WAYS, check, query, random_rows, run, runtimes};

/// The kinds that pass no probe row without a partner.
const FILTERING: [HashJoinKind; 6] = [
    HashJoinKind::Inner,
    HashJoinKind::BuildOuter,
    HashJoinKind::ProbeSemi,
    HashJoinKind::BuildSemi,
    HashJoinKind::BuildAnti,
    HashJoinKind::BuildMark,
];

const ALL: [HashJoinKind; 10] = [
    HashJoinKind::Inner,
    HashJoinKind::BuildOuter,
    HashJoinKind::ProbeOuter,
    HashJoinKind::FullOuter,
    HashJoinKind::BuildSemi,
    HashJoinKind::ProbeSemi,
    HashJoinKind::BuildAnti,
    HashJoinKind::ProbeAnti,
    HashJoinKind::ProbeMark,
    HashJoinKind::BuildMark,
];

fn spec<'a>(kind: HashJoinKind, build: &'a [&'a str], probe: &'a [&'a str]) -> HashSpec<'a> {
    HashSpec {
        kind,
        build_keys: build,
        probe_keys: probe,
        filter: None,
        null_equals_null: false,
        null_aware: false,
    }
}

/// Tables of many and of few rows, and one whose keys are all the same.
fn tables(dice: &mut Dice) -> Memory {
    let mut all = crate::rig::memory(dice, 40);
    all.tables.insert("u".into(), random_rows(dice, 60));
    let few = dice.roll(4);
    all.tables.insert("v".into(), random_rows(dice, few));
    let rows = random_rows(dice, 20);
    let first = arrow_select::take::take(
        rows.column(0),
        &arrow_array::UInt32Array::from(vec![0; rows.num_rows()]),
        None,
    );
    let mut columns = rows.columns().to_vec();
    columns[0] = first.unwrap();
    all.tables.insert("same".into(), RecordBatch::try_new(rows.schema(), columns).unwrap());
    Memory { behaviour: Arc::new(Behaviour::default()), ..all }
}

/// Rows of "u" whose first column is an integer of that table, or not, by a way of many.
fn probe_side(kind: HashJoinKind, way: usize) -> Node {
    let lookup = |kind| LookupSpec { kind, keys: &["c0"], inner_filter: None, filter: None };
    match way {
        0 => scan("u"),
        1 => scan_of("u", Some("b > 0"), vec![0, 2, 1]),
        2 => filter(scan("u"), "c1 < 20"),
        3 => project(scan("u"), &["c0", "c1", "c0 + 1"]),
        4 => aggregate(scan("u"), &["c0"], &["count(*)", "sum(c1)"]),
        5 => aggregate(project(scan("u"), &["c0", "c5"]), &["c0", "c1"], &["count(*)"]),
        6 => union(vec![scan("u"), scan("t"), scan("empty")]),
        7 => limit(sort(scan("u"), &[(1, true, false)], None), 3, Some(20)),
        8 => limit(scan_of("u", None, vec![0]), 0, None),
        9 => lookup_join(scan("u"), "t", &lookup(LookupKind::Left)),
        10 => lookup_join(scan("u"), "t", &lookup(LookupKind::Anti)),
        11 => nested_loop(scan("u"), scan("v"), kind, Some("c0 < c6")),
        12 => hash_join(scan("u"), scan("t"), &spec(kind, &["c0"], &["c0"])),
        13 => hash_join(scan("t"), scan("u"), &spec(kind, &["c0"], &["c0"])),
        14 => hash_join(scan("t"), scan("u"), &spec(kind, &["c5"], &["c5"])),
        15 => {
            let groups = aggregate(scan("u"), &["c0", "c5"], &["count(*)"]);
            hash_join(scan("t"), groups, &spec(kind, &["c0", "c5"], &["c0", "c1"]))
        }
        _ => {
            let keys = spec(kind, &["c0"], &["c0"]);
            let groups = aggregate(hash_join(scan("t"), scan("u"), &keys), &["c0"], &["count(*)"]);
            project(groups, &["c0", "c1"])
        }
    }
}

const WAYS_TO_PROBE: usize = 17;

/// Rows that were dropped, in one way to run.
fn dropped(plan: &Arc<plan::Plan>, memory: &Arc<Memory>) -> u64 {
    let (workers, runtime) = &runtimes()[0];
    let outcome = run(runtime, plan, memory, query(plan, *workers, WAYS[0]));
    outcome.progress.snapshot().nodes.iter().map(|node| node.rows_dropped).sum()
}

#[test]
fn joins_over_everything_give_the_same_rows() {
    let runtimes = runtimes();
    for seed in 0..340 {
        let mut dice = Dice(seed);
        let way = seed as usize % WAYS_TO_PROBE;
        let probe = probe_side(ALL[dice.roll(10)], way);
        if probe.schema.field(0).data_type() != &arrow_schema::DataType::Int32 {
            continue;
        }
        let build = scan(dice.pick(&["t", "v", "v", "same", "empty"]));
        let kind = if dice.chance(70) { FILTERING[dice.roll(6)] } else { ALL[dice.roll(10)] };
        let join = HashSpec {
            null_equals_null: dice.chance(15),
            filter: dice.chance(20).then_some("c1 < 10"),
            ..spec(kind, &["c0"], &["c0"])
        };
        let memory = Arc::new(tables(&mut dice));
        let plan = plan(hash_join(build, probe, &join));
        check(&runtimes, &plan, &memory, false, &format!("seed {seed}"));
    }
}

#[test]
fn filters_reach_scans_through_what_keeps_columns() {
    let mut memory = tables(&mut Dice(7));
    let rows = &memory.tables["u"];
    let at = (0..rows.num_rows()).find(|row| rows.column(0).is_valid(*row)).expect("a value");
    let one = rows.slice(at, 1);
    memory.tables.insert("v".into(), one);
    let memory = Arc::new(memory);
    for way in 0..WAYS_TO_PROBE {
        let probe = probe_side(HashJoinKind::Inner, way);
        let join = spec(HashJoinKind::Inner, &["c0"], &["c0"]);
        let plan = plan(hash_join(scan("v"), probe, &join));
        let dropped = dropped(&plan, &memory);
        match way {
            // A limit counts the rows below it.
            7 | 8 => assert_eq!(dropped, 0, "way {way}"),
            // The column is of the build side of the join below, which is there already.
            14 => {}
            _ => assert!(dropped > 0, "way {way}"),
        }
    }
}

#[test]
fn joins_that_keep_lonely_rows_filter_nothing() {
    use HashJoinKind as K;
    let mut dice = Dice(11);
    let memory = Arc::new(tables(&mut dice));
    for kind in [K::ProbeOuter, K::FullOuter, K::ProbeAnti, K::ProbeMark] {
        let plan = plan(hash_join(scan("v"), scan("u"), &spec(kind, &["c0"], &["c0"])));
        assert_eq!(dropped(&plan, &memory), 0, "{kind:?}");
    }
    let nulls = HashSpec { null_equals_null: true, ..spec(K::Inner, &["c0"], &["c0"]) };
    let plan_ = plan(hash_join(scan("v"), scan("u"), &nulls));
    assert_eq!(dropped(&plan_, &memory), 0);
    // Such a key has another value when it is looked up.
    let volatile = spec(K::Inner, &["cast(c0 + 0 * random() as int)"], &["c0"]);
    let plan_ = plan(hash_join(scan("v"), scan("u"), &volatile));
    assert_eq!(dropped(&plan_, &memory), 0, "of a key that changes");
    let keys = spec(K::BuildAnti, &["c0"], &["c0"]);
    let not_in = plan(hash_join(scan("v"), scan("u"), &HashSpec { null_aware: true, ..keys }));
    assert_eq!(dropped(&not_in, &memory), 0);
}

/// The keys of a build side on disk are read once more: rows between their bounds are dropped, too.
#[test]
fn what_was_spilled_filters_as_well() {
    let mut memory = tables(&mut Dice(23));
    memory.tables.insert("t".into(), random_rows(&mut Dice(23), 4000));
    let memory = Arc::new(memory);
    let build = || scan_of("t", Some("a = 1 or a = 7"), vec![0, 1, 2, 3, 4, 5]);
    let join = spec(HashJoinKind::Inner, &["c0"], &["c0"]);
    let plan = plan(hash_join(build(), scan("u"), &join));
    let keys = memory.tables["u"].column(0).as_primitive::<Int32Type>();
    let lonely = keys.iter().filter(|key| !matches!(key, Some(1 | 7))).count();
    for (workers, runtime) in &runtimes() {
        for way in WAYS.into_iter().filter(|way| way.spills) {
            let admitted = Arc::clone(&plan);
            let grant = runtime.block_on(move || async move {
                // Less than the rows take.
                Governor::new(16 << 20).admit(&admitted, 1).await
            });
            let query = Query { memory: grant, ..query(&plan, *workers, way) };
            let outcome = run(runtime, &plan, &memory, query);
            assert_eq!(outcome.result, Ok(()), "{way:?}");
            let figures = outcome.progress.snapshot();
            assert!(figures.nodes.iter().any(|node| node.spilled > 0), "{way:?}: in memory");
            let dropped: u64 = figures.nodes.iter().map(|node| node.rows_dropped).sum();
            assert_eq!(dropped, lonely as u64, "{way:?}, {workers} workers");
        }
    }
}
