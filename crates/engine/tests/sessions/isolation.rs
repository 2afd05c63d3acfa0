//! What two transactions do to each other at each level of isolation: the cases by which databases are
//! compared (Hermitage, after Adya), and what is ours. The outcomes are PostgreSQL's, but that a serializable
//! transaction fails when it commits and not before, and that rows which a query locks lock all tables.

use std::path::PathBuf;

use engine::{Database, Options, Session, StatementResult};
use types::text::format_value;

/// A database with some tables, and sessions.
pub(super) struct World {
    path: PathBuf,
    pub(super) sessions: Vec<Session>,
    db: Option<Database>,
}

const SETUP: &str = "
    create table t (id int primary key, v int);
    insert into t values (1, 10), (2, 20);
    create index t_v on t (v);
    create table parent (id int primary key);
    create table child (id int primary key, parent int references parent);
    insert into parent values (1), (2)";

impl World {
    pub(super) fn new(name: &str) -> World {
        let file = format!("dovetail-isolation-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        let options = Options { memory_bytes: 32 << 20, workers: 2, ..pg::options() };
        let db = Database::create(&path, options).unwrap();
        let mut sessions: Vec<Session> = (0..3).map(|_| db.session()).collect();
        sessions[0].execute(SETUP).unwrap();
        // Who would wait is told so: nobody ends while it waits. What has a key is found by it, though the
        // table is small: else the whole of it would be read.
        for session in &mut sessions {
            session.execute("set lock_timeout = '30ms'; set enable_seqscan = off; set enable_indexonlyscan = off").unwrap();
        }
        World { path, sessions, db: Some(db) }
    }

    pub(super) fn database(&self) -> &Database {
        self.db.as_ref().unwrap()
    }

    /// Runs statements of the sessions 1 and 2, each with what comes of it: rows, a SQLSTATE or nothing.
    pub(super) fn play(&mut self, steps: &[(usize, &str, &str)]) {
        for (session, statement, expected) in steps {
            let found = match self.sessions[*session].execute(statement) {
                Ok(results) => results.last().map(shown).unwrap_or_default(),
                Err(error) => error.state.0.to_owned(),
            };
            assert_eq!(found, *expected, "session {session}: {statement}");
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.sessions.clear();
        self.db.take();
        std::fs::remove_file(&self.path).ok();
    }
}

pub(super) fn shown(result: &StatementResult) -> String {
    let StatementResult::Rows(rows) = result else { return String::new() };
    let row = |batch: &arrow_array::RecordBatch, at: usize| {
        let values = batch.columns().iter().map(|c| format_value(c, at).unwrap_or("null".into()));
        values.collect::<Vec<_>>().join(",")
    };
    let rows = rows.batches.iter().flat_map(|b| (0..b.num_rows()).map(move |at| row(b, at)));
    rows.collect::<Vec<_>>().join(" ")
}

pub(super) const ALL: &str = "select id, v from t order by id";
const REPEATABLE: &str = "begin isolation level repeatable read";
pub(super) const SERIALIZABLE: &str = "begin isolation level serializable";

#[test]
fn nothing_is_seen_before_it_is_committed() {
    for begin in ["begin", REPEATABLE, SERIALIZABLE] {
        World::new("aborted").play(&[
            (1, begin, ""),
            (2, begin, ""),
            (1, "update t set v = 101 where id = 1", ""),
            (2, ALL, "1,10 2,20"),
            (1, "rollback", ""),
            (2, ALL, "1,10 2,20"),
            (2, "commit", ""),
        ]);
    }
}

#[test]
fn read_committed_sees_what_was_committed_meanwhile() {
    World::new("committed").play(&[
        (1, "begin", ""),
        (1, ALL, "1,10 2,20"),
        (2, "update t set v = 11 where id = 1", ""),
        (1, ALL, "1,11 2,20"),
        (1, "commit", ""),
    ]);
}

#[test]
fn a_snapshot_is_taken_by_the_first_query_and_kept() {
    for begin in [REPEATABLE, SERIALIZABLE] {
        World::new("kept").play(&[
            (1, begin, ""),
            (2, "update t set v = 11 where id = 1", ""),
            (1, "select v from t where id = 1", "11"),
            (2, "update t set v = v + 1", ""),
            (2, "insert into t values (3, 30)", ""),
            (2, "delete from t where id = 2", ""),
            // By key, through the index, by a scan, and what is not there.
            (1, "select v from t where id = 1", "11"),
            (1, "select id from t where v = 20", "2"),
            (1, "select id from t where v = 30", ""),
            (1, ALL, "1,11 2,20"),
            (1, "select count(*), sum(v) from t", "2,31"),
            (1, "commit", ""),
            (1, ALL, "1,12 3,30"),
        ]);
    }
}

#[test]
fn an_update_is_not_lost() {
    for begin in [REPEATABLE, SERIALIZABLE] {
        World::new("lost").play(&[
            (1, begin, ""),
            (2, begin, ""),
            (1, "select v from t where id = 1", "10"),
            (2, "select v from t where id = 1", "10"),
            (1, "update t set v = 11 where id = 1", ""),
            (2, "update t set v = 11 where id = 1", "55P03"),
            (2, "rollback", ""),
            (2, begin, ""),
            (2, "select v from t where id = 1", "10"),
            (1, "commit", ""),
            (2, "update t set v = 12 where id = 1", "40001"),
            (2, "select 1", "25P02"),
            (2, "rollback", ""),
            (2, ALL, "1,11 2,20"),
        ]);
    }
}

#[test]
fn who_writes_goes_on_to_see_its_snapshot_and_its_own() {
    World::new("own").play(&[
        (1, REPEATABLE, ""),
        (1, ALL, "1,10 2,20"),
        (2, "update t set v = 21 where id = 2", ""),
        (2, "insert into t values (3, 30)", ""),
        (1, "update t set v = 11 where id = 1", ""),
        (1, ALL, "1,11 2,20"),
        (1, "select id from t where v = 21", ""),
        (1, "savepoint a", ""),
        (1, "insert into t values (4, 40)", ""),
        (1, "update t set v = 12 where id = 1", ""),
        (1, "select sum(v) from t", "72"),
        (1, "rollback to a", ""),
        (1, ALL, "1,11 2,20"),
        (1, "insert into t values (3, 31)", "23505"),
        (1, "rollback to a", ""),
        (1, "delete from t where id = 2", "40001"),
        (1, "rollback to a", ""),
        (1, "commit", ""),
        (1, ALL, "1,11 2,21 3,30"),
    ]);
}

#[test]
fn write_skew_is_for_serializable_transactions_to_prevent() {
    let skew = |begin, last| {
        World::new("skew").play(&[
            (1, begin, ""),
            (2, begin, ""),
            (1, "select sum(v) from t where id in (1, 2)", "30"),
            (2, "select sum(v) from t where id in (1, 2)", "30"),
            (1, "update t set v = 11 where id = 1", ""),
            (1, "commit", ""),
            (2, "update t set v = 21 where id = 2", ""),
            (2, "commit", last),
        ]);
    };
    skew(REPEATABLE, "");
    skew(SERIALIZABLE, "40001");
}

#[test]
fn phantoms_count_as_what_was_read() {
    let phantom = |begin, question, answer, last| {
        World::new("phantom").play(&[
            (1, begin, ""),
            (2, begin, ""),
            (1, question, answer),
            (2, question, answer),
            (1, "insert into t values (3, 30)", ""),
            (1, "commit", ""),
            (2, "insert into t values (4, 42)", ""),
            (2, "commit", last),
        ]);
    };
    for (question, answer) in [
        ("select count(*) from t where v % 3 = 0", "0"),
        ("select count(*) from t where v between 25 and 35", "0"),
    ] {
        phantom(REPEATABLE, question, answer, "");
        phantom(SERIALIZABLE, question, answer, "40001");
    }
    // One of the two has not read what the other one adds, and comes behind it.
    phantom(SERIALIZABLE, "select count(*) from t where id = 3", "0", "");
    // What was not read is no conflict.
    phantom(SERIALIZABLE, "select count(*) from t where id = 2", "1", "");
}

#[test]
fn who_comes_before_another_may_commit_after_it() {
    World::new("comes_before").play(&[
        (1, SERIALIZABLE, ""),
        (1, "select v from t where id = 1", "10"),
        (1, "update t set v = 21 where id = 2", ""),
        (2, SERIALIZABLE, ""),
        (2, "update t set v = 11 where id = 1", ""),
        (2, "commit", ""),
        (1, "commit", ""),
        // But not before one of which nobody knows what it has read.
        (1, SERIALIZABLE, ""),
        (1, "select v from t where id = 1", "11"),
        (1, "update t set v = 22 where id = 2", ""),
        (2, "update t set v = 12 where id = 1", ""),
        (1, "commit", "40001"),
    ]);
}

#[test]
fn what_constraints_look_at_counts_as_read() {
    World::new("constraints").play(&[
        (1, SERIALIZABLE, ""),
        (1, "select count(*) from parent where id = 5", "0"),
        (2, SERIALIZABLE, ""),
        (2, "insert into parent values (5)", ""),
        (2, "commit", ""),
        (1, "insert into child values (9, 5)", ""),
        (1, "commit", "40001"),
    ]);
    World::new("proposed").play(&[
        (1, SERIALIZABLE, ""),
        (1, "insert into t values (1, 0) on conflict do nothing", ""),
        (1, "update t set v = 21 where id = 2", ""),
        (2, SERIALIZABLE, ""),
        (2, "select v from t where id = 2", "20"),
        (1, "commit", ""),
        (2, "delete from t where id = 1", ""),
        (2, "commit", "40001"),
    ]);
}

#[test]
fn a_transaction_that_locks_a_table_first_keeps_its_level() {
    let tables = "create table a (n int); create table b (n int); \
                  create table la (n int); create table lb (n int)";
    World::new("table_first").play(&[
        (0, tables, ""),
        (1, SERIALIZABLE, ""),
        (2, SERIALIZABLE, ""),
        (1, "lock table la in exclusive mode", ""),
        (2, "lock table lb in exclusive mode", ""),
        (1, "select count(*) from b", "0"),
        (2, "select count(*) from a", "0"),
        (1, "insert into a values (1)", ""),
        (2, "insert into b values (1)", ""),
        (1, "commit", ""),
        (2, "commit", "40001"),
    ]);
}

#[test]
fn a_query_outside_of_blocks_keeps_no_version() {
    World::new("outside_of_blocks").play(&[
        (1, "set default_transaction_isolation = 'serializable'", ""),
        (1, "select v from t where id = 1", "10"),
        (2, "update t set v = 11 where id = 1", ""),
        (1, "select v from t where id = 1", "11"),
        (2, "create table later (n int)", ""),
        (1, "insert into later values (7)", ""),
        (1, "begin", ""),
        (2, "update t set v = 12 where id = 1", ""),
        (1, "select v from t where id = 1", "12"),
        (1, "commit", ""),
    ]);
}

#[test]
fn ranges_of_an_index_are_told_apart() {
    let range = |added, last| {
        let mut world = World::new("ranges");
        let rows = "insert into big select i, i from generate_series(1, 5000) i; analyze";
        world.play(&[
            (0, "create table big (id int primary key, v int); create index big_v on big (v)", ""),
            (0, rows, ""),
            (2, SERIALIZABLE, ""),
            (2, "select count(*) from big where v between 100 and 110", "11"),
            (1, added, ""),
            (2, "insert into big values (6001, 105)", ""),
            (2, "commit", last),
        ]);
    };
    range("insert into big values (6000, 4000)", "");
    range("insert into big values (6000, 106)", "40001");
    range("update big set v = 107 where id = 4000", "40001");
    range("delete from big where id = 110", "40001");
    range("delete from big where id = 111", "");
}

#[test]
fn serializable_fails_when_what_it_has_read_is_no_more_so() {
    for (also, last) in [("select v from t where id = 1", ""), (ALL, "40001")] {
        let mut world = World::new("newest");
        world.play(&[
            (1, SERIALIZABLE, ""),
            (1, "select v from t where id = 1", "10"),
            (2, "update t set v = 21 where id = 2", ""),
            (1, "update t set v = 11 where id = 1", ""),
        ]);
        // What it reads after it has written counts as well.
        world.sessions[1].execute(also).unwrap();
        world.play(&[(1, "commit", last)]);
    }
    // Both at the same time.
    World::new("both").play(&[
        (1, SERIALIZABLE, ""),
        (2, SERIALIZABLE, ""),
        (1, "select sum(v) from t", "30"),
        (2, "select sum(v) from t", "30"),
        (1, "insert into t values (3, 30)", ""),
        (2, "insert into t values (4, 30)", ""),
        (1, "commit", ""),
        (2, "commit", "40001"),
        (2, ALL, "1,10 2,20 3,30"),
    ]);
}

#[test]
fn a_transaction_that_reads_only_sees_one_state_and_fails_never() {
    World::new("reads").play(&[
        (1, "begin isolation level serializable read only", ""),
        (1, "select v from t where id = 1", "10"),
        (2, "update t set v = v + 1", ""),
        (1, ALL, "1,10 2,20"),
        (1, "commit", ""),
    ]);
}

#[test]
fn references_are_checked_against_what_is_there() {
    World::new("references").play(&[
        (1, REPEATABLE, ""),
        (1, "select count(*) from child", "0"),
        (2, "insert into child values (1, 1)", ""),
        (2, "delete from parent where id = 2", ""),
        (1, "delete from parent where id = 1", "23503"),
        (1, "rollback", ""),
        (1, REPEATABLE, ""),
        (1, "select count(*) from child", "1"),
        (2, "insert into parent values (3)", ""),
        (2, "delete from parent where id = 3", ""),
        (1, "insert into child values (2, 3)", "23503"),
        (1, "rollback", ""),
    ]);
}

#[test]
fn locked_rows_stay_as_they_are() {
    World::new("locks").play(&[
        (1, "begin", ""),
        (1, "select v from t where id = 1 for update", "10"),
        (2, "update t set v = 11 where id = 1", "55P03"),
        (2, "begin", ""),
        (2, "select v from t where id = 1 for update nowait", "55P03"),
        (2, "rollback", ""),
        (2, "select v from t where id = 1", "10"),
        (1, "update t set v = v + 1 where id = 1", ""),
        (1, "commit", ""),
        (2, "begin", ""),
        (2, "select v from t where id = 1 for update", "11"),
        (2, "rollback", ""),
        (1, REPEATABLE, ""),
        (1, ALL, "1,11 2,20"),
        (2, "update t set v = 12 where id = 1", ""),
        (1, "select v from t where id = 2 for share", "20"),
        (1, "select v from t where id = 1 for update", "40001"),
        (1, "rollback", ""),
        (1, "begin read only", ""),
        (1, "select v from t where id = 1 for update", "25006"),
        (1, "rollback", ""),
    ]);
}

#[test]
fn a_locked_table_is_written_by_nobody_else() {
    World::new("tables").play(&[
        (1, "lock table t", "25P01"),
        (1, "begin", ""),
        (1, "lock table nothing", "42P01"),
        (1, "rollback", ""),
        (1, "begin", ""),
        (1, "lock table only t, child in access share mode", ""),
        (2, "update t set v = 11 where id = 1", ""),
        (1, "lock t in share row exclusive mode", ""),
        (2, "update t set v = 12 where id = 1", "55P03"),
        (2, "begin", ""),
        (2, "lock t in exclusive mode nowait", "55P03"),
        (2, "rollback", ""),
        (2, ALL, "1,11 2,20"),
        (1, "rollback", ""),
        (1, "begin read only", ""),
        (1, "lock t in row share mode", ""),
        (1, "lock t", "25006"),
        (1, "rollback", ""),
        // The snapshot is taken behind the lock.
        (1, REPEATABLE, ""),
        (2, "update t set v = 12 where id = 1", ""),
        (1, "lock t", ""),
        (1, "update t set v = v + 1 where id = 1", ""),
        (1, "commit", ""),
        (1, ALL, "1,13 2,20"),
    ]);
}

#[test]
fn definitions_and_tables_written_anew_are_conflicts() {
    World::new("definitions").play(&[
        (1, REPEATABLE, ""),
        (1, ALL, "1,10 2,20"),
        (2, "alter table t add column w int", ""),
        (1, ALL, "1,10 2,20"),
        (1, "update t set v = 11 where id = 1", "40001"),
        (1, "rollback", ""),
        (1, REPEATABLE, ""),
        (1, "select count(*) from t", "2"),
        (2, "insert into t values (3, 30)", ""),
        (1, "insert into t select i, i from generate_series(10, 40000) i", "40001"),
        (1, "rollback", ""),
        (2, "select count(*) from t", "3"),
    ]);
}

#[test]
fn trees_that_are_made_in_a_transaction_have_its_rows_alone() {
    for made in ["create index made on t (v)", "alter table t alter column v type bigint"] {
        World::new("made").play(&[
            (1, REPEATABLE, ""),
            (1, "select count(*) from t", "2"),
            (2, "insert into t values (3, 30)", ""),
            (1, made, "40001"),
            (1, "rollback", ""),
            (1, REPEATABLE, ""),
            (1, "select count(*) from t", "3"),
            (1, made, ""),
            (1, "select count(*) from t where v >= 0", "3"),
            (1, "commit", ""),
        ]);
    }
}

#[test]
fn the_level_is_chosen_before_the_first_query() {
    World::new("level").play(&[
        (1, "begin", ""),
        (1, "set transaction isolation level serializable", ""),
        (1, "show transaction_isolation", "serializable"),
        (1, "select 1", "1"),
        (1, "set transaction isolation level serializable", ""),
        (1, "set transaction isolation level repeatable read", "25001"),
        (1, "rollback", ""),
        (1, "show transaction_isolation", "read committed"),
        (1, "set default_transaction_isolation = 'repeatable read'", ""),
        (1, "begin", ""),
        (1, ALL, "1,10 2,20"),
        (2, "update t set v = 11 where id = 1", ""),
        (1, ALL, "1,10 2,20"),
        (1, "commit", ""),
    ]);
}
