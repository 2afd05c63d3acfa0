//! How many parts of a scan a worker has begun at once.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use exec::{Mode, Query};

use crate::build::{plan, scan};
use crate::memory::{Behaviour, Memory};
use crate::rig::{Dice, Way, query, random_rows, run, simulation};

const PARTS: usize = 16;

/// The most parts that one worker had in work at once.
fn in_work_max(behaviour: Behaviour) -> usize {
    let mut dice = Dice(5);
    let tables = [("t".to_owned(), random_rows(&mut dice, 400))].into();
    let memory = Arc::new(Memory { tables, behaviour: Arc::new(behaviour), leaf_rows: 4 });
    let plan = plan(scan("t"));
    let way = Way { mode: Mode::OutOfOrder, permits: 64, spills: false };
    let query = Query { parts_per_worker: PARTS, ..query(&plan, 1, way) };
    let outcome = run(&simulation(1, 5), &plan, &memory, query);
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(outcome.rows.len(), 400);
    memory.behaviour.in_work_max.load(SeqCst)
}

#[test]
fn parts_that_give_way_are_worked_on_one_after_the_other() {
    assert_eq!(in_work_max(Behaviour { waits: 5, ..Behaviour::default() }), 1);
}

#[test]
fn parts_that_wait_are_in_work_at_once() {
    let most = in_work_max(Behaviour { sleep_us_max: 20_000, ..Behaviour::default() });
    assert!(most > PARTS / 2 && most <= PARTS, "{most}");
}

/// Tasks that a scan of so many rows was made of.
fn tasks(row_count: usize, behaviour: Behaviour) -> u64 {
    let mut dice = Dice(5);
    let tables = [("t".to_owned(), random_rows(&mut dice, row_count))].into();
    let memory = Arc::new(Memory { tables, behaviour: Arc::new(behaviour), leaf_rows: 4 });
    let plan = plan(scan("t"));
    let way = Way { mode: Mode::OutOfOrder, permits: 64, spills: false };
    let outcome = run(&simulation(2, 5), &plan, &memory, query(&plan, 2, way));
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(outcome.rows.len(), row_count);
    outcome.progress.tasks().created
}

#[test]
fn few_rows_are_read_where_they_are_asked_for() {
    assert_eq!(tasks(4, Behaviour::default()), 1);
}

#[test]
fn parts_that_would_wait_for_others_become_tasks() {
    let waits = Behaviour { sleep_us_max: 20_000, ..Behaviour::default() };
    let tasks = tasks(400, waits);
    assert!(tasks > 50, "{tasks}");
}
