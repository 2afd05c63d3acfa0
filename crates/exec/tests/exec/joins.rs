//! Every kind of every join.

use std::sync::Arc;

use plan::{HashJoinKind, LookupKind};
use types::SqlState;

use crate::build::{HashSpec, LookupSpec, hash_join, lookup_join, nested_loop, plan, scan};
use crate::rig::{Dice, WAYS, check, memory, query, run, runtimes};

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

const SIDES: [(&str, &str); 4] = [("t", "u"), ("empty", "u"), ("t", "empty"), ("v", "v")];

#[test]
fn hash_joins() {
    let runtimes = runtimes();
    let keys: [(&[&str], &[&str]); 4] = [
        (&["c0"], &["c0"]),
        (&["c2"], &["c2"]),
        (&["c0", "c5"], &["c0", "c5"]),
        (&["c4"], &["c4"]),
    ];
    let mut dice = Dice(1);
    for kind in KINDS {
        for (build_keys, probe_keys) in keys {
            for filter in [None, Some("c1 < c7")] {
                for null_equals_null in [false, true] {
                    let memory = Arc::new(memory(&mut dice, 30));
                    let (l, r) = SIDES[dice.roll(4)];
                    let spec = HashSpec {
                        kind,
                        build_keys,
                        probe_keys,
                        filter,
                        null_equals_null,
                        null_aware: false,
                    };
                    let plan = plan(hash_join(scan(l), scan(r), &spec));
                    check(&runtimes, &plan, &memory, false, "hash join");
                }
            }
        }
    }
}

#[test]
fn keys_of_different_types_are_a_planner_s_mistake() {
    let spec = HashSpec {
        kind: HashJoinKind::Inner,
        build_keys: &["c0"],
        probe_keys: &["c1"],
        filter: None,
        null_equals_null: false,
        null_aware: false,
    };
    let (plan, memory) =
        (plan(hash_join(scan("t"), scan("u"), &spec)), Arc::new(memory(&mut Dice(6), 5)));
    for (workers, runtime) in &runtimes() {
        for way in WAYS {
            let outcome = run(runtime, &plan, &memory, query(&plan, *workers, way));
            assert_eq!(outcome.result.expect_err("refused").state, SqlState::INTERNAL_ERROR);
        }
    }
}

#[test]
fn not_in() {
    let runtimes = runtimes();
    let mut dice = Dice(2);
    for round in 0..24 {
        for kind in [HashJoinKind::BuildAnti, HashJoinKind::ProbeAnti] {
            let (l, r) = SIDES[round % 4];
            let memory = Arc::new(memory(&mut dice, 1 + round / 2));
            let key: &[&str] = if round % 8 < 4 { &["c0"] } else { &["c2"] };
            let spec = HashSpec {
                kind,
                build_keys: key,
                probe_keys: key,
                filter: None,
                null_equals_null: false,
                null_aware: true,
            };
            let plan = plan(hash_join(scan(l), scan(r), &spec));
            check(&runtimes, &plan, &memory, false, "not in");
        }
    }
}

#[test]
fn nested_loop_joins() {
    let runtimes = runtimes();
    let mut dice = Dice(3);
    for kind in KINDS {
        for filter in [None, Some("c1 < c7"), Some("c0 = c6 and c2 <> c8")] {
            for (l, r) in SIDES {
                let memory = Arc::new(memory(&mut dice, 25));
                let plan = plan(nested_loop(scan(l), scan(r), kind, filter));
                check(&runtimes, &plan, &memory, false, "nested loop");
            }
        }
    }
}

#[test]
fn lookup_joins() {
    let runtimes = runtimes();
    let mut dice = Dice(4);
    for kind in [LookupKind::Inner, LookupKind::Left, LookupKind::Semi, LookupKind::Anti] {
        for keys in [&["c0"][..], &["c0", "c2"]] {
            for inner_filter in [None, Some("b > 0")] {
                for filter in [None, Some("c1 < c7")] {
                    let memory = Arc::new(memory(&mut dice, 40));
                    let (l, r) = SIDES[dice.roll(4)];
                    let spec = LookupSpec { kind, keys, inner_filter, filter };
                    let plan = plan(lookup_join(scan(l), r, &spec));
                    check(&runtimes, &plan, &memory, false, "look-up join");
                }
            }
        }
    }
}
