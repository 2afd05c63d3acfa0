//! Random plans of all operators against the reference.

use std::sync::Arc;
use std::time::Duration;

use arrow_schema::DataType;
use plan::{HashJoinKind, LookupKind, Node, Plan};
use types::SqlState;

use crate::build::{
    HashSpec, LookupSpec, aggregate, filter, hash_join, limit, lookup_join, nested_loop, plan,
    project, scan, scan_of, sort, types_of, union, values,
};
use crate::memory::{Behaviour, Memory};
use crate::reference::Cell;
use crate::rig::{Dice, WAYS, check, memory, query, random_rows, run, runtimes, simulation};

const KINDS: [HashJoinKind; 10] = [
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

/// A column of a type, by name.
fn column(dice: &mut Dice, node: &Node, ty: &DataType) -> Option<String> {
    let all: Vec<usize> =
        types_of(node).iter().enumerate().filter(|(_, t)| *t == ty).map(|(i, _)| i).collect();
    (!all.is_empty()).then(|| format!("c{}", all[dice.roll(all.len())]))
}

fn predicate(dice: &mut Dice, node: &Node) -> String {
    let on_int = column(dice, node, &DataType::Int32).map(|c| format!("{c} < {}", dice.roll(9)));
    let on_text = column(dice, node, &DataType::Utf8View).map(|c| format!("{c} like '%o%'"));
    let on_bool = column(dice, node, &DataType::Boolean).map(|c| format!("not {c}"));
    let known: Vec<String> = [on_int, on_text, on_bool].into_iter().flatten().collect();
    match known.len() {
        0 => "1 = 1".into(),
        n => known[dice.roll(n)].clone(),
    }
}

fn leaf(dice: &mut Dice) -> Node {
    let name = dice.pick(&["t", "u", "v", "t", "u", "empty"]);
    match dice.roll(5) {
        0 => {
            let row_count = dice.roll(12);
            values(random_rows(dice, row_count))
        }
        1 => scan_of(name, Some("a > 2 or f"), vec![0, 2, 1]),
        _ => scan(name),
    }
}

fn joined(dice: &mut Dice, left: Node, right: Node) -> Node {
    let kind = KINDS[dice.roll(10)];
    for ty in [DataType::Int32, DataType::Utf8View, DataType::Date32] {
        let (l, r) = (column(dice, &left, &ty), column(dice, &right, &ty));
        let (Some(l), Some(r)) = (l, r) else { continue };
        if dice.chance(70) {
            let spec = HashSpec {
                kind,
                build_keys: &[&l],
                probe_keys: &[&r],
                filter: None,
                null_equals_null: dice.chance(20),
                null_aware: false,
            };
            return hash_join(left, right, &spec);
        }
        let offset = types_of(&left).len();
        let r: usize = r[1..].parse().unwrap();
        let filter = format!("{l} = c{}", r + offset);
        return nested_loop(left, right, kind, Some(&filter));
    }
    // A cross product only of few rows.
    let right = sort(right, &[], Some(2));
    nested_loop(left, right, kind, None)
}

fn looked_up(dice: &mut Dice, outer: Node) -> Node {
    let Some(key) = column(dice, &outer, &DataType::Int32) else { return outer };
    let kind = [LookupKind::Inner, LookupKind::Left, LookupKind::Semi, LookupKind::Anti];
    let inner_filter = dice.chance(50).then_some("b < 20");
    let spec = LookupSpec { kind: kind[dice.roll(4)], keys: &[&key], inner_filter, filter: None };
    let inner = dice.pick(&["t", "u", "v", "empty"]);
    lookup_join(outer, inner, &spec)
}

fn aggregated(dice: &mut Dice, input: Node) -> Node {
    let ty = [DataType::Int32, DataType::Utf8View, DataType::Date32][dice.roll(3)].clone();
    let group = column(dice, &input, &ty).filter(|_| dice.chance(80));
    let sum = column(dice, &input, &DataType::Int64).map(|c| format!("sum({c})"));
    let max = column(dice, &input, &DataType::Utf8View).map(|c| format!("max({c})"));
    let mut aggregates = vec!["count(*)".to_owned()];
    aggregates.extend([sum, max].into_iter().flatten());
    let aggregates: Vec<&str> = aggregates.iter().map(String::as_str).collect();
    let group: Vec<&str> = group.iter().map(String::as_str).collect();
    aggregate(input, &group, &aggregates)
}

/// A tree of `depth` operators; narrow, so that joins of joins stay small.
fn tree(dice: &mut Dice, depth: usize) -> Node {
    if depth == 0 {
        return leaf(dice);
    }
    let input = tree(dice, depth - 1);
    match dice.roll(9) {
        0 => {
            let text = predicate(dice, &input);
            filter(input, &text)
        }
        1 => {
            let width = types_of(&input).len();
            let picked: Vec<String> =
                (0..1 + dice.roll(5)).map(|_| format!("c{}", dice.roll(width))).collect();
            project(input, &picked.iter().map(String::as_str).collect::<Vec<_>>())
        }
        2 | 3 => looked_up(dice, input),
        4 | 5 => {
            let other = leaf(dice);
            if dice.chance(50) { joined(dice, input, other) } else { joined(dice, other, input) }
        }
        6 => aggregated(dice, input),
        7 => {
            let fetch = dice.chance(50).then(|| dice.roll(30));
            let sorted = sort(input, &[(0, dice.chance(50), dice.chance(50))], fetch);
            limit(sorted, dice.roll(4), dice.chance(50).then(|| dice.roll(20)))
        }
        _ => union(vec![scan("t"), scan("u")]),
    }
}

/// A plan whose reference costs little, and whether its order counts.
fn random_plan(dice: &mut Dice, memory: &Memory) -> (Arc<Plan>, bool) {
    let depth = 1 + dice.roll(5);
    let root = tree(dice, depth);
    let root = match crate::reference::evaluate(&root, memory).num_rows() {
        0..=3000 => root,
        _ => aggregate(sort(root, &[], Some(1000)), &[], &["count(*)"]),
    };
    let ordered = dice.chance(30);
    let root = if ordered { sort(root, &[(0, true, false)], None) } else { root };
    (plan(root), ordered)
}

/// One to four workers, waits of simulated time, a random way, sometimes a cancel in the middle.
/// Returns what a second run must repeat.
fn simulated(seed: u64) -> (usize, Vec<Vec<Cell>>, u64, bool) {
    let mut dice = Dice(seed);
    let mut memory = memory(&mut dice, 16);
    memory.behaviour = Arc::new(Behaviour { sleep_us_max: 300, ..Behaviour::default() });
    let memory = Arc::new(memory);
    let (plan, ordered) = random_plan(&mut dice, &memory);
    let workers = 1 + dice.roll(4);
    let query = query(&plan, workers, WAYS[dice.roll(WAYS.len())]);
    let runtime = simulation(workers, seed);
    if dice.chance(30) {
        let (cancel, us) = (query.cancel.clone(), dice.roll(3000) as u64);
        runtime.block_on(move || async move {
            drop(runtime::spawn(async move {
                runtime::time::sleep(Duration::from_micros(us)).await;
                cancel.cancel();
            }));
        });
    }
    let outcome = run(&runtime, &plan, &memory, query);
    let created = outcome.progress.tasks().created;
    let mut rows = outcome.rows;
    if let Err(error) = outcome.result {
        assert_eq!(error.state, SqlState::QUERY_CANCELED, "seed {seed}: {error}");
        return (workers, rows, created, true);
    }
    let repeated = rows.clone();
    let mut expected = crate::reference::rows(&[crate::reference::evaluate(&plan.root, &memory)]);
    if !ordered {
        rows.sort();
        expected.sort();
    }
    assert_eq!(rows, expected, "seed {seed}");
    (workers, repeated, created, false)
}

#[test]
fn simulated_plans_are_right_and_repeatable() {
    let mut cancelled = 0;
    for seed in 0..500 {
        let first = simulated(seed);
        assert_eq!(first, simulated(seed), "seed {seed} twice");
        cancelled += usize::from(first.3);
    }
    assert!(cancelled > 20, "{cancelled} cancelled");
}

#[test]
fn random_plans() {
    let runtimes = runtimes();
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let memory = Arc::new(memory(&mut dice, 16));
        let (plan, ordered) = random_plan(&mut dice, &memory);
        check(&runtimes, &plan, &memory, ordered, &format!("seed {seed}"));
    }
}
