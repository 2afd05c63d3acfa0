//! Transactions that write beside each other: who waits for whom, and what comes of it.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use engine::{Database, Options, Session, StatementResult};
use types::text::format_value;

/// A database, and sessions that each have a thread.
pub(crate) struct World {
    path: PathBuf,
    sessions: Vec<Player>,
    db: Option<Database>,
}

/// A session that takes statements and tells what came of them.
struct Player {
    statements: Option<mpsc::Sender<String>>,
    outcomes: mpsc::Receiver<String>,
    thread: Option<std::thread::JoinHandle<()>>,
}

const SETUP: &str = "
    create table t (id int primary key, v int);
    insert into t select i, 10 * i from generate_series(1, 9) i;
    create table u (id int primary key, code int unique);
    create table parent (id int primary key);
    create table child (id int primary key, parent int references parent on delete cascade);
    insert into parent values (1), (2)";

/// Longer than any statement takes that does not wait.
const WAITS: Duration = Duration::from_millis(150);

/// What a statement gives that waits for others.
pub(crate) const WAITING: &str = "waiting";

impl Player {
    fn new(mut session: Session) -> Player {
        let (statements, taken) = mpsc::channel::<String>();
        let (told, outcomes) = mpsc::channel();
        let play = move || {
            for statement in taken {
                let outcome = match session.execute(&statement) {
                    Ok(results) => results.last().map(shown).unwrap_or_default(),
                    Err(error) => error.state.0.to_owned(),
                };
                if told.send(outcome).is_err() {
                    return;
                }
            }
        };
        let thread = Some(std::thread::spawn(play));
        Player { statements: Some(statements), outcomes, thread }
    }

    fn outcome(&self, longest: Duration) -> String {
        self.outcomes.recv_timeout(longest).unwrap_or_else(|_| WAITING.to_owned())
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.statements.take();
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap());
    }
}

impl World {
    pub(crate) fn new(name: &str) -> World {
        let file = format!("dovetail-writers-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        let options = Options { memory_bytes: 64 << 20, workers: 2, ..pg::options() };
        let db = Database::create(&path, options).unwrap();
        db.session().execute(SETUP).unwrap();
        let sessions = (0..4).map(|_| Player::new(db.session())).collect();
        World { path, sessions, db: Some(db) }
    }

    /// Runs statements of the sessions, each with what comes of it: rows, a SQLSTATE, nothing, or that it
    /// waits. An empty statement is one that has waited.
    pub(crate) fn play(&mut self, steps: &[(usize, &str, &str)]) {
        for (session, statement, expected) in steps {
            let player = &self.sessions[*session];
            if !statement.is_empty() {
                player.statements.as_ref().unwrap().send((*statement).to_owned()).unwrap();
            }
            let longest = if *expected == WAITING { WAITS } else { Duration::from_secs(30) };
            assert_eq!(player.outcome(longest), *expected, "session {session}: {statement}");
        }
    }
}

impl World {
    /// The database.
    pub(crate) fn database(&self) -> &Database {
        self.db.as_ref().unwrap()
    }

    /// A session goes.
    pub(crate) fn leave(&mut self, at: usize) {
        drop(self.sessions.remove(at));
        let session = self.db.as_ref().unwrap().session();
        self.sessions.insert(at, Player::new(session));
    }

    /// The database is whole.
    pub(crate) fn check(&self) {
        let problems = self.db.as_ref().unwrap().check().unwrap().problems;
        assert!(problems.is_empty(), "{problems:?}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.sessions.clear();
        self.db.take();
        std::fs::remove_file(&self.path).ok();
    }
}

pub(crate) fn shown(result: &StatementResult) -> String {
    let StatementResult::Rows(rows) = result else { return String::new() };
    let row = |batch: &arrow_array::RecordBatch, at: usize| {
        let values = batch.columns().iter().map(|c| format_value(c, at).unwrap_or("null".into()));
        values.collect::<Vec<_>>().join(",")
    };
    let rows = rows.batches.iter().flat_map(|b| (0..b.num_rows()).map(move |at| row(b, at)));
    rows.collect::<Vec<_>>().join(" ")
}

const FIRST: &str = "select v from t where id = 1";

#[test]
fn nobody_waits_for_who_changes_other_rows() {
    World::new("others").play(&[
        (0, "begin", ""),
        (0, "update t set v = v + 1 where id = 1", ""),
        (1, "begin", ""),
        (1, "update t set v = v + 1 where id = 2", ""),
        (2, "insert into t values (20, 200)", ""),
        (2, "delete from t where id = 9", ""),
        (1, "select sum(v) from t where id < 3", "31"),
        (0, "select sum(v) from t where id < 3", "31"),
        (3, "select sum(v) from t where id < 3", "30"),
        (1, "commit", ""),
        (0, "select sum(v) from t where id < 3", "32"),
        (0, "rollback", ""),
        (0, "select sum(v) from t where id < 3", "31"),
    ]);
}

#[test]
fn who_changes_the_same_row_waits_and_sees_what_became_of_it() {
    for (end, last) in [("commit", "22"), ("rollback", "20")] {
        World::new("same").play(&[
            (0, "begin", ""),
            (0, "update t set v = v + 2 where id = 1", ""),
            (1, "update t set v = v * 2 where id = 1", WAITING),
            (2, FIRST, "10"),
            (
                0,
                if end == "commit" { "update t set v = 11 where id = 1" } else { "select 1" },
                if end == "commit" { "" } else { "1" },
            ),
            (0, end, ""),
            (1, "", ""),
            (1, FIRST, last),
        ]);
    }
    // The predicate is tested again: the row may be gone, or no more one that is wanted.
    for (change, count) in
        [("delete from t where id = 1", "0"), ("update t set v = 0 where id = 1", "0")]
    {
        World::new("again").play(&[
            (0, "begin", ""),
            (0, change, ""),
            (1, "update t set v = 77 where v = 10", WAITING),
            (0, "commit", ""),
            (1, "", ""),
            (1, "select count(*) from t where v = 77", count),
        ]);
    }
}

#[test]
fn commits_that_do_not_wait_are_seen_by_all_and_conflict_as_others_do() {
    World::new("off").play(&[
        (0, "set synchronous_commit = false; show synchronous_commit", "off"),
        (0, "update t set v = v + 1 where id = 1", ""),
        (0, "update t set v = v + 1 where id = 1", ""),
        (1, FIRST, "12"),
        (1, "begin isolation level repeatable read", ""),
        (1, FIRST, "12"),
        (0, "begin; update t set v = v + 1 where id = 1; commit", ""),
        (1, FIRST, "12"),
        (1, "update t set v = 0 where id = 1", "40001"),
        (1, "rollback; begin isolation level repeatable read", ""),
        (1, "update t set v = v + 1 where id = 1; commit", ""),
        (2, "begin; set local synchronous_commit = off; show synchronous_commit", "off"),
        (2, "update t set v = v + 1 where id = 1 returning v", "15"),
        (0, "update t set v = v * 2 where id = 1 returning v", WAITING),
        (2, "commit; show synchronous_commit", "on"),
        (0, "", "30"),
        // Definitions, and what they have to find.
        (0, "insert into u values (1, 7); create index u_code on u (code)", ""),
        (1, "insert into u values (2, 7)", "23505"),
        (3, "set synchronous_commit = remote_apply; show synchronous_commit", "remote_apply"),
        (3, "reset all; show synchronous_commit", "on"),
        (3, "set synchronous_commit = soon", "22023"),
    ]);
}

#[test]
fn the_first_one_to_update_wins_where_snapshots_are_kept() {
    for (end, last) in [("commit", "40001"), ("rollback", "")] {
        World::new("wins").play(&[
            (0, "begin", ""),
            (0, "update t set v = 11 where id = 1", ""),
            (1, "begin isolation level repeatable read", ""),
            (1, FIRST, "10"),
            (1, "update t set v = 12 where id = 1", WAITING),
            (0, end, ""),
            (1, "", last),
            (1, "rollback", ""),
        ]);
    }
}

#[test]
fn unique_keys_are_waited_for() {
    for (end, last) in [("commit", "23505"), ("rollback", "")] {
        World::new("unique").play(&[
            (0, "begin", ""),
            (0, "insert into u values (1, 5)", ""),
            (1, "insert into u values (2, 5)", WAITING),
            (2, "insert into u values (1, 6)", WAITING),
            (3, "insert into u values (3, 7)", ""),
            (0, end, ""),
            (1, "", last),
            (2, "", last),
        ]);
    }
    World::new("upsert").play(&[
        (0, "begin", ""),
        (0, "insert into u values (1, 5)", ""),
        (
            1,
            "insert into u values (1, 8) on conflict (id) do update set code = u.code + 100",
            WAITING,
        ),
        (2, "insert into u values (9, 5) on conflict do nothing", WAITING),
        (0, "commit", ""),
        (1, "", ""),
        (2, "", ""),
        (1, "select id, code from u", "1,105"),
    ]);
    // A key that goes may come again only when it is gone.
    World::new("moved").play(&[
        (0, "insert into u values (1, 5)", ""),
        (0, "begin", ""),
        (0, "delete from u where id = 1", ""),
        (1, "insert into u values (2, 5)", WAITING),
        (0, "commit", ""),
        (1, "", ""),
        (1, "select id, code from u", "2,5"),
    ]);
}

#[test]
fn references_are_waited_for() {
    for (end, last, rows) in [("commit", "23503", "0"), ("rollback", "", "1")] {
        World::new("parents").play(&[
            (0, "begin", ""),
            (0, "delete from parent where id = 1", ""),
            (1, "insert into child values (1, 1)", WAITING),
            (2, "insert into child values (2, 2)", ""),
            (0, end, ""),
            (1, "", last),
            (1, "select count(*) from child where id = 1", rows),
        ]);
    }
    // Rows that refer to a parent do not keep others from doing so, but they keep it there.
    World::new("children").play(&[
        (0, "begin", ""),
        (0, "insert into child values (1, 1)", ""),
        (1, "insert into child values (2, 1)", ""),
        (2, "delete from parent where id = 1", WAITING),
        (0, "commit", ""),
        (2, "", ""),
        (2, "select count(*) from child", "0"),
    ]);
}

#[test]
fn one_of_a_circle_fails_and_the_others_go_on() {
    World::new("circle").play(&[
        (0, "begin", ""),
        (1, "begin", ""),
        (0, "update t set v = 1 where id = 1", ""),
        (1, "update t set v = 2 where id = 2", ""),
        (0, "update t set v = 1 where id = 2", WAITING),
        (1, "update t set v = 2 where id = 1", "40P01"),
        // It is undone at once.
        (0, "", ""),
        (1, "rollback", ""),
        (0, "commit", ""),
        (0, "select v from t where id in (1, 2)", "1 1"),
    ]);
}

/// A statement that runs again wants rows that it did not find before, and has others locked: whoever locked
/// them in order waits for it. It lets go what it has, for nobody who runs single statements has to fail.
#[test]
fn who_runs_again_lets_go_what_others_wait_for() {
    World::new("runs-again").play(&[
        (0, "begin", ""),
        (0, "update t set v = 5 where id = 3", ""),
        (1, "update t set v = v + 100 where v in (20, 30)", WAITING),
        (2, "update t set v = 20 where id = 1", ""),
        (3, "update t set v = v + 1 where id in (1, 2)", WAITING),
        (0, "commit", ""),
        (3, "", ""),
        (1, "", ""),
        (0, "select v from t where id < 4 order by id", "21 21 5"),
        // The same with a query that locks.
        (2, "update t set v = id * 10 where id < 4", ""),
        (0, "begin", ""),
        (0, "update t set v = 5 where id = 3", ""),
        (1, "select id from t where v in (20, 30) for update", WAITING),
        (2, "update t set v = 20 where id = 1", ""),
        (3, "update t set v = v + 1 where id in (1, 2)", WAITING),
        (0, "commit", ""),
        (3, "", ""),
        (1, "", ""),
        (0, "select v from t where id < 4 order by id", "21 21 5"),
    ]);
}

#[test]
fn definitions_wait_for_those_who_write_and_they_for_them() {
    World::new("definitions").play(&[
        (0, "begin", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (1, "alter table t add column w int default 5", WAITING),
        (2, "update t set v = 21 where id = 2", WAITING),
        (3, FIRST, "10"),
        (0, "update t set v = 31 where id = 3", ""),
        (0, "commit", ""),
        (1, "", ""),
        (2, "", ""),
        (2, "select v, w from t where id < 4", "11,5 21,5 31,5"),
        (0, "begin", ""),
        (0, "alter table t drop column w", ""),
        (1, "update t set v = 22 where id = 2", WAITING),
        (0, "rollback", ""),
        (1, "", ""),
    ]);
}

#[test]
fn what_writes_tables_anew_waits_for_the_others() {
    let many = "insert into t select i, i from generate_series(100, 60000) i";
    World::new("many").play(&[
        (0, "begin", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (1, many, WAITING),
        (0, "update t set v = 12 where id = 2", ""),
        (0, "commit", ""),
        (1, "", ""),
        (1, "select count(*), sum(v) from t where id < 10", "9,443"),
        (1, "select count(*) from t", "59910"),
        // One that has changed something and goes on to write much.
        (0, "begin", ""),
        (0, "update t set v = 13 where id = 1", ""),
        (2, "begin", ""),
        (2, "update t set v = 14 where id = 2", ""),
        (0, "update t set v = v + 1", WAITING),
        (2, "update t set v = 15 where id = 1", "40P01"),
        (2, "rollback", ""),
        (0, "", ""),
        (0, "rollback", ""),
        (0, "select count(*), sum(v) from t where id < 10", "9,443"),
    ]);
}

#[test]
fn queries_lock_the_rows_that_they_return() {
    let free = "select id from t where id < 5 order by id limit 2 for update skip locked";
    World::new("rows").play(&[
        (0, "begin", ""),
        (0, "select v from t where id = 1 for update", "10"),
        (1, "update t set v = 21 where id = 2", ""),
        (1, "update t set v = v + 1 where id = 1", WAITING),
        (2, "begin", ""),
        (2, "select v from t where id = 1 for share nowait", "55P03"),
        (2, "rollback", ""),
        (2, "begin", ""),
        (2, free, "2 3"),
        (3, "begin", ""),
        (3, free, "4"),
        (3, "select v from t where id = 2 for update", WAITING),
        (2, "update t set v = v + 1 where id = 2", ""),
        (2, "commit", ""),
        (3, "", "22"),
        (3, "commit", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (0, "commit", ""),
        (1, "", ""),
        (1, FIRST, "12"),
    ]);
    World::new("shared").play(&[
        (0, "begin", ""),
        (1, "begin", ""),
        (0, "select * from t where v = 10 for share", "1,10"),
        (1, "select * from t where v = 10 for share", "1,10"),
        (2, "delete from t where id = 1", WAITING),
        (0, "commit", ""),
        (1, "commit", ""),
        (2, "", ""),
    ]);
    // Rows without a key, in either kind of table; what comes meanwhile is looked at again.
    for storage in ["row", "column"] {
        let mut world = World::new(&format!("keyless-{storage}"));
        let made = format!("create table k (v int, w text) with (storage = {storage})");
        world.play(&[
            (0, &made, ""),
            (0, "insert into k select i, 'w' || i from generate_series(1, 3) i", ""),
            (0, "begin", ""),
            (0, "select * from k where v = 2 for update", "2,w2"),
            (1, "begin", ""),
            (1, "select w from k order by v limit 1 for update skip locked", "w1"),
            (1, "select w from k order by v offset 1 for update skip locked", "w3"),
            (2, "update k set w = 'new' where v = 2", WAITING),
            (0, "rollback", ""),
            (2, "", ""),
            (1, "rollback", ""),
            (1, "select * from k order by v", "1,w1 2,new 3,w3"),
        ]);
    }
}

#[test]
fn queries_lock_the_rows_that_they_join() {
    World::new("joined").play(&[
        (0, "begin", ""),
        (0, "select a.v from t a join t b on b.id = a.id + 1 where a.id = 1 for update of a", "10"),
        (1, "update t set v = 21 where id = 2", ""),
        (1, "update t set v = 11 where id = 1", WAITING),
        (0, "rollback", ""),
        (1, "", ""),
        // Of several tables, with all columns; what was changed meanwhile is looked at again.
        (1, "create table o (n text, t_id int)", ""),
        (1, "insert into o values ('x', 1), ('y', 2), ('z', 2)", ""),
        (1, "begin", ""),
        (1, "update t set v = 12 where id = 1", ""),
        (0, "begin", ""),
        (0, "select * from t, o where t.id = o.t_id and n < 'z' order by n for update", WAITING),
        (1, "commit", ""),
        (0, "", "1,12,x,1 2,21,y,2"),
        (2, "begin", ""),
        (
            2,
            "select o.* from t left join o on t.id = t_id where t.id = 3 for share of t",
            "null,null",
        ),
        (2, "select n from o join t on t.id = t_id where n = 'x' for share of t nowait", "55P03"),
        (2, "rollback", ""),
        (2, "update o set n = 'zz' where n = 'z'", ""),
        (2, "update o set n = 'yy' where n = 'y'", WAITING),
        (0, "rollback", ""),
        (2, "", ""),
        // A table that is not named is not locked, and one without a name in `FROM` is an error.
        (0, "begin", ""),
        (0, "select n from o join t on t.id = t_id where n = 'x' for no key update of o", "x"),
        (1, "update t set v = 13 where id = 1", ""),
        (0, "select n from o for update of t", "42P01"),
        (0, "rollback", ""),
    ]);
    // Where an outer join may have no row of it, the table is locked.
    World::new("outer").play(&[
        (0, "begin", ""),
        (0, "select a.v from t a left join t b on b.id = a.id + 1 where a.id = 1 for update", "10"),
        (1, "update t set v = 21 where id = 2", WAITING),
        (0, "rollback", ""),
        (1, "", ""),
    ]);
}

#[test]
fn a_savepoint_keeps_its_locks_and_gives_back_its_rows() {
    World::new("savepoint").play(&[
        (0, "begin", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (0, "savepoint a", ""),
        (0, "update t set v = 12 where id = 1", ""),
        (0, "delete from t where id = 2", ""),
        (0, "rollback to a", ""),
        (1, "update t set v = v + 1 where id = 3", ""),
        (0, "select v from t where id < 4", "11 20 31"),
        (0, "commit", ""),
        (1, "select v from t where id < 4", "11 20 31"),
    ]);
}

/// What a copy of the file, as a crash would leave it, has in `t` below 4.
pub(crate) fn after_crash(world: &World, name: &str) -> String {
    opened_after_crash(world, name, "select id, v from t where id < 4 order by id")
}

/// What such a copy answers.
pub(crate) fn opened_after_crash(world: &World, name: &str, query: &str) -> String {
    let copy = world.path.with_extension(name);
    std::fs::copy(&world.path, &copy).unwrap();
    let options = Options { memory_bytes: 16 << 20, workers: 1, ..pg::options() };
    let db = Database::open(&copy, options).unwrap();
    let problems = db.check().unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
    let found = db.session().execute(query).unwrap();
    let found = shown(&found[0]);
    db.close().unwrap();
    std::fs::remove_file(&copy).unwrap();
    found
}

#[test]
fn a_checkpoint_beside_transactions_has_nothing_of_them() {
    let mut world = World::new("checkpoint");
    world.play(&[
        (0, "begin", ""),
        (0, "update t set v = 11 where id = 1", ""),
        (0, "update t set v = 12 where id = 1", ""),
        (0, "insert into t values (0, 0)", ""),
        (0, "delete from t where id = 2", ""),
        (1, "update t set v = 31 where id = 3", ""),
        (1, "checkpoint", ""),
    ]);
    assert_eq!(after_crash(&world, "open"), "1,10 2,20 3,31");
    world.play(&[(1, "update t set v = 32 where id = 3", "")]);
    assert_eq!(after_crash(&world, "logged"), "1,10 2,20 3,32");
    world.play(&[(0, "savepoint a", ""), (0, "update t set v = 13 where id = 1", "")]);
    world.play(&[(1, "checkpoint", ""), (0, "rollback to a", ""), (1, "checkpoint", "")]);
    assert_eq!(after_crash(&world, "savepoint"), "1,10 2,20 3,32");
    world.play(&[(0, "commit", "")]);
    assert_eq!(after_crash(&world, "committed"), "0,0 1,12 3,32");
}
