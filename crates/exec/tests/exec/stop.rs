//! Limits, cancels, errors and panics: everything stops, nothing is left.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use exec::{Mode, execute};
use plan::{HashJoinKind, LookupKind, Plan};
use types::SqlState;

use crate::build::{
    HashSpec, LookupSpec, aggregate, hash_join, limit, lookup_join, plan, scan, sort, union,
};
use crate::memory::{Behaviour, Memory};
use crate::rig::{
    Dice, Kept, WAYS, Way, memory, nothing_left, query, random_rows, run, run_for, runtime,
    runtimes,
};

const OOO: Way = Way { mode: Mode::OutOfOrder, permits: 64, spills: false };

/// A large table t, a small u.
fn large(seed: u64, row_count: usize) -> Memory {
    let mut dice = Dice(seed);
    let mut memory = memory(&mut dice, 10);
    memory.tables.insert("t".into(), random_rows(&mut dice, row_count));
    memory.tables.insert("u".into(), random_rows(&mut dice, 30));
    memory.leaf_rows = 4;
    memory
}

/// Scan, look-up, hash join, aggregate, sort.
fn busy_plan() -> Arc<Plan> {
    let look =
        LookupSpec { kind: LookupKind::Left, keys: &["c0"], inner_filter: None, filter: None };
    let spec = HashSpec {
        kind: HashJoinKind::ProbeOuter,
        build_keys: &["c0"],
        probe_keys: &["c0"],
        filter: None,
        null_equals_null: false,
        null_aware: false,
    };
    let joined = hash_join(scan("u"), lookup_join(scan("t"), "u", &look), &spec);
    plan(sort(aggregate(joined, &["c2"], &["count(*)"]), &[], None))
}

#[test]
fn a_limit_stops_the_scan() {
    let runtimes = runtimes();
    let memory = Arc::new(large(1, 4000));
    let all_parts = 4000 / 4;
    for plan in [
        plan(limit(scan("t"), 0, Some(10))),
        plan(aggregate(limit(scan("t"), 0, Some(10)), &[], &["count(*)"])),
    ] {
        for (workers, runtime) in &runtimes {
            for way in WAYS {
                memory.behaviour.begun.store(0, SeqCst);
                let outcome = run(runtime, &plan, &memory, query(&plan, *workers, way));
                assert_eq!(outcome.result, Ok(()));
                let begun = memory.behaviour.begun.load(SeqCst);
                assert!(begun < all_parts / 4, "{way:?}: {begun} parts for 10 rows");
            }
        }
    }
}

#[test]
fn an_output_that_wants_no_more_stops_the_query() {
    let runtimes = runtimes();
    let memory = Arc::new(large(2, 4000));
    let plan = plan(scan("t"));
    for (workers, runtime) in &runtimes {
        for way in WAYS {
            memory.behaviour.begun.store(0, SeqCst);
            let outcome = run_for(runtime, &plan, &memory, query(&plan, *workers, way), 10);
            assert_eq!(outcome.result, Ok(()));
            assert!(outcome.rows.len() >= 10 && outcome.rows.len() < 1000);
            assert!(memory.behaviour.begun.load(SeqCst) < 500, "{way:?}");
        }
    }
}

#[test]
fn an_error_in_any_part_ends_the_query() {
    let runtimes = runtimes();
    let plan = busy_plan();
    for (workers, runtime) in &runtimes {
        for way in WAYS {
            for k in (1..60).step_by(7) {
                let memory = Arc::new(large(3, 200));
                memory.behaviour.fail_at.store(k, SeqCst);
                let outcome = run(runtime, &plan, &memory, query(&plan, *workers, way));
                let error = outcome.result.expect_err("a part failed");
                assert_eq!(error.state, SqlState::IO_ERROR, "{way:?} {k}: {error}");
                assert_eq!(outcome.rows.len(), 0);
            }
        }
    }
}

#[test]
fn a_panic_is_an_error() {
    let runtimes = runtimes();
    let plan = busy_plan();
    for (workers, runtime) in &runtimes {
        for way in WAYS {
            let memory = Arc::new(large(4, 100));
            memory.behaviour.panic_at.store(20, SeqCst);
            let outcome = run(runtime, &plan, &memory, query(&plan, *workers, way));
            let error = outcome.result.expect_err("a part panicked");
            assert_eq!(error.state, SqlState::INTERNAL_ERROR);
            assert!(error.message.contains("a panic on purpose"), "{error}");
            // The worker lives on.
            memory.behaviour.panic_at.store(0, SeqCst);
            assert_eq!(run(runtime, &plan, &memory, query(&plan, *workers, way)).result, Ok(()));
        }
    }
}

#[test]
fn a_panic_outside_of_tasks_waits_for_them() {
    let memory = large(8, 100);
    let behaviour = Behaviour { cursed: Some("u"), waits: 9, ..Behaviour::default() };
    let memory = Arc::new(Memory { behaviour: Arc::new(behaviour), ..memory });
    // The scan of t is at work when the other input, a union, comes to u.
    let spec = HashSpec {
        kind: HashJoinKind::Inner,
        build_keys: &["c0"],
        probe_keys: &["c0"],
        filter: None,
        null_equals_null: false,
        null_aware: false,
    };
    let probe = aggregate(scan("t"), &["c0"], &["count(*)"]);
    let plan = plan(hash_join(union(vec![scan("v"), scan("u")]), probe, &spec));
    for (workers, runtime) in &runtimes() {
        for way in WAYS {
            let outcome = run(runtime, &plan, &memory, query(&plan, *workers, way));
            let error = outcome.result.expect_err("opening u panics");
            assert_eq!(error.state, SqlState::INTERNAL_ERROR, "{way:?}");
        }
    }
}

#[test]
fn dropping_the_execution_ends_its_tasks() {
    let plan = busy_plan();
    for (workers, runtime) in &runtimes() {
        for way in WAYS {
            let memory = Arc::new(large(9, 200));
            memory.behaviour.hang_after.store(20, SeqCst);
            let query = Arc::new(query(&plan, *workers, way));
            let (plan, memory) = (Arc::clone(&plan), Arc::clone(&memory));
            runtime.block_on(move || async move {
                let kept = Arc::new(Kept { batches: Mutex::default(), wanted: usize::MAX });
                let (tables, asked) = (Arc::clone(&memory), Arc::clone(&query));
                let task = runtime::spawn(execute(plan, tables, asked, kept));
                while memory.behaviour.begun.load(SeqCst) <= 20 {
                    runtime::yield_now().await;
                }
                task.abort();
                assert!(task.await.is_err(), "it was aborted");
                while query.progress.tasks().created > query.progress.tasks().done {
                    runtime::yield_now().await;
                }
                nothing_left(&query);
                assert_eq!(memory.behaviour.in_work.load(SeqCst), 0, "pins left");
            });
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods)] // a client that cancels is an ordinary thread
fn a_cancel_ends_what_hangs() {
    let runtimes = runtimes();
    let plan = busy_plan();
    for (workers, runtime) in &runtimes {
        for way in WAYS {
            for hang_after in [1, 10, 40] {
                let memory = Arc::new(large(5, 200));
                memory.behaviour.hang_after.store(hang_after, SeqCst);
                let query = query(&plan, *workers, way);
                let cancel = query.cancel.clone();
                let watched = Arc::clone(&memory);
                // Cancel from an ordinary thread, once something hangs.
                let canceller = std::thread::spawn(move || {
                    while watched.behaviour.begun.load(SeqCst) <= hang_after {
                        std::thread::yield_now();
                    }
                    cancel.cancel();
                });
                let outcome = run(runtime, &plan, &memory, query);
                canceller.join().expect("the canceller ends");
                let error = outcome.result.expect_err("it was cancelled");
                assert_eq!(error.state, SqlState::QUERY_CANCELED);
            }
        }
    }
}

#[test]
fn a_cancel_before_the_start_runs_nothing() {
    let (runtime, memory, plan) = (runtime(1), Arc::new(large(6, 100)), busy_plan());
    let query = query(&plan, 1, OOO);
    query.cancel.cancel();
    let outcome = run(&runtime, &plan, &memory, query);
    assert_eq!(outcome.result.expect_err("cancelled").state, SqlState::QUERY_CANCELED);
    assert_eq!(memory.behaviour.begun.load(SeqCst), 0);
}

#[test]
fn thousands_of_random_cancels_leave_nothing() {
    let runtimes = runtimes();
    let plan = busy_plan();
    let (mut cancelled, mut finished) = (0, 0);
    let memory = Arc::new(large(7, 60));
    for seed in 0..3000 {
        let mut dice = Dice(seed);
        let (workers, runtime) = &runtimes[dice.roll(2)];
        let query = query(&plan, *workers, WAYS[dice.roll(WAYS.len())]);
        let (cancel, turns) = (query.cancel.clone(), dice.roll(1000));
        let other = dice.roll(*workers);
        runtime.block_on(move || async move {
            drop(runtime::spawn_on(other, move || async move {
                for _ in 0..turns {
                    runtime::yield_now().await;
                }
                cancel.cancel();
            }));
        });
        match run(runtime, &plan, &memory, query).result {
            Ok(()) => finished += 1,
            Err(error) => {
                assert_eq!(error.state, SqlState::QUERY_CANCELED);
                cancelled += 1;
            }
        }
    }
    assert!(cancelled > 300 && finished > 50, "{cancelled} cancelled, {finished} finished");
}
