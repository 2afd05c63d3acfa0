//! Who watches sees which commits are not durable yet, and who does not wait for that goes on.
#![allow(clippy::disallowed_methods, reason = "a test stands outside of the seam")]

use std::path::{Path, PathBuf};

use runtime::sim::{Disk, FaultPlan};
use runtime::sync::SemaphorePermit;

use crate::database::Database;
use crate::door;
use crate::options::{Options, Simulation};
use crate::result::{ResultSet, StatementResult};
use crate::session::state::Session;
use types::Datum;

fn value(session: &mut Session, text: &str) -> Datum {
    let mut results = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Some(StatementResult::Rows(rows)) = results.pop() else { panic!("no rows") };
    ResultSet::rows(&rows).expect("values").remove(0).remove(0)
}

fn run(session: &mut Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
}

fn state(session: &mut Session, text: &str) -> &'static str {
    session.execute(text).map_or_else(|error| error.state.0, |_| "")
}

/// A database in a file of its own.
struct World {
    path: PathBuf,
    db: Option<Database>,
}

impl World {
    fn new(name: &str) -> World {
        let file = format!("dovetail-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        let db = Database::create(&path, World::options()).expect("a database");
        World { path, db: Some(db) }
    }

    fn options() -> Options {
        Options { memory_bytes: 32 << 20, workers: 1, ..Options::few() }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    /// Nothing becomes durable while somebody else publishes.
    fn publishing(&self) -> SemaphorePermit {
        let versions = self.db().versions().clone();
        door::wait(&self.db().handle(), move || {
            Box::pin(async move { versions.publications.begin().await })
        })
    }

    fn session(&self, setup: &str) -> Session {
        let mut session = self.db().session();
        run(&mut session, setup);
        session
    }

    /// Sessions that wait for the log, as system relations are told.
    fn waiting(&self) -> usize {
        self.db().session().system_catalog().session_view().committing().len()
    }

    fn wait_until_waiting(&self, wanted: usize) {
        while self.waiting() != wanted {
            std::thread::yield_now();
        }
    }

    fn column_count(&self) -> i64 {
        let tables = self.db().tables();
        let table = tables.iter().find(|table| table.name == "t").expect("there is t");
        table.schema.columns.len() as i64
    }

    fn open_again(&mut self) {
        self.db.take().expect("it is open").close().expect("closed");
        self.db = Some(Database::open(&self.path, World::options()).expect("a database"));
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.db.take();
        std::fs::remove_file(&self.path).ok();
    }
}

#[test]
fn a_session_whose_commit_is_not_durable_yet_waits_for_the_log() {
    let world = World::new("committing");
    let mut writer = world.session("create table t (id int primary key)");
    let publishing = world.publishing();
    let writing = std::thread::spawn(move || writer.execute("insert into t values (1)"));
    world.wait_until_waiting(1);
    drop(publishing);
    writing.join().expect("it ends").expect("it is durable");
    let mut watcher = world.session("");
    assert_eq!(world.waiting(), 0);
    assert_eq!(value(&mut watcher, "select count(*) from t"), Datum::Int(1));
}

const SETUP: &str = "create table t (id int primary key, v int);
    insert into t values (1, 0), (2, 0); create sequence q; create table w (id int)";

const OFF: &str = "set synchronous_commit = off";

#[test]
fn who_does_not_wait_for_the_device_goes_on_and_is_seen_by_all() {
    let mut world = World::new("off");
    let (mut own, mut other) = (world.session(SETUP), world.session(""));
    run(&mut own, OFF);
    let publishing = world.publishing();
    let read = "select v from t where id = 1";
    // Statements, blocks at all levels, locked rows, sequences: of the same row again and again.
    run(&mut own, "update t set v = v + 1 where id = 1");
    for level in ["read committed", "repeatable read", "serializable"] {
        run(&mut own, &format!("begin isolation level {level}"));
        let before = value(&mut own, read);
        assert_eq!(value(&mut own, &format!("{read} for update")), before);
        run(&mut own, "update t set v = v + 1 where id = 1; commit");
    }
    run(&mut own, "select nextval('q'); insert into w values (nextval('q'))");
    assert_eq!(value(&mut own, read), Datum::Int(4));
    assert_eq!(value(&mut other, read), Datum::Int(4));
    // Others change what is not durable yet, also for one transaction only.
    let local = "begin isolation level repeatable read; set local synchronous_commit = off;
        update t set v = v + 1 where id = 1; commit";
    run(&mut other, local);
    assert_eq!(value(&mut own, read), Datum::Int(5));
    assert_eq!(value(&mut other, "show synchronous_commit"), Datum::Text("on".into()));
    drop(publishing);
    drop((own, other));
    world.open_again();
    assert_eq!(value(&mut world.session(""), read), Datum::Int(5));
}

#[test]
fn who_waits_does_so_behind_those_who_do_not() {
    // `local` is `on`, and definitions wait whatever the session says.
    type Seen = fn(&World, &mut Session) -> Datum;
    let read: Seen = |_, own| value(own, "select v from t where id = 2");
    let columns: Seen = |world, _| Datum::Int(world.column_count());
    let waiting = [
        ("local", "update t set v = 2 where id = 2", read, [0, 2]),
        ("off", "alter table t add column c int", columns, [2, 3]),
    ];
    for (setting, text, seen, [before, after]) in waiting {
        let world = World::new("behind");
        let mut own = world.session(SETUP);
        run(&mut own, OFF);
        let publishing = world.publishing();
        run(&mut own, "update t set v = 1 where id = 1");
        let mut waits = world.session(&format!("set synchronous_commit = {setting}"));
        let thread = std::thread::spawn(move || waits.execute(text).map(drop));
        world.wait_until_waiting(1);
        assert_eq!(seen(&world, &mut own), Datum::Int(before));
        drop(publishing);
        thread.join().expect("it ends").expect("it is durable");
        assert_eq!(seen(&world, &mut own), Datum::Int(after));
    }
}

#[test]
fn who_is_far_ahead_of_the_device_waits() {
    let world = World::new("ahead");
    let mut own = world.session("create table t (id int primary key, s text)");
    run(&mut own, OFF);
    let publishing = world.publishing();
    let thread = std::thread::spawn(move || {
        for id in 0..2_000 {
            run(&mut own, &format!("insert into t values ({id}, repeat('x', 1000))"));
        }
    });
    world.wait_until_waiting(1);
    let Datum::Int(count) = value(&mut world.session(""), "select count(*) from t") else {
        panic!("a count is a number");
    };
    // It goes ahead for so long, and not by so many: a busy machine inserts few rows meanwhile.
    assert!((2..2_000).contains(&count), "{count}");
    drop(publishing);
    thread.join().expect("it ends");
    assert_eq!(value(&mut world.session(""), "select count(*) from t"), Datum::Int(2_000));
}

#[test]
fn what_was_acknowledged_and_is_lost_is_told_once() {
    let disk = Disk::new(1);
    let simulation = Some(Simulation { disk: disk.clone(), seed: 1 });
    let options = Options { simulation, ..World::options() };
    let db = Database::create(Path::new("/db"), options).expect("a database");
    let (mut own, mut other) = (db.session(), db.session());
    run(&mut own, SETUP);
    run(&mut own, OFF);
    disk.faults(FaultPlan { sync_error: 1.0, ..FaultPlan::default() });
    assert_eq!(state(&mut own, "update t set v = 1 where id = 1"), "");
    // Meanwhile the publication fails.
    run(&mut other, "select pg_sleep(1)");
    assert_eq!(state(&mut own, "begin"), "08007");
    assert_eq!(state(&mut own, "select v from t"), "");
    assert_eq!(state(&mut own, "update t set v = 2 where id = 1"), "58030");
}

#[test]
fn a_copy_has_what_was_acknowledged() {
    let world = World::new("copied");
    let mut own = world.session(SETUP);
    run(&mut own, OFF);
    let publishing = world.publishing();
    run(&mut own, "update t set v = 1 where id = 1");
    let copy = world.path.with_extension("copy");
    std::fs::remove_file(&copy).ok();
    let text = format!("backup database to '{}'", copy.display());
    let thread = std::thread::spawn(move || own.execute(&text).map(drop));
    world.wait_until_waiting(1);
    drop(publishing);
    thread.join().expect("it ends").expect("it is copied");
    let copied = Database::open(&copy, World::options()).expect("a database");
    assert_eq!(value(&mut copied.session(), "select v from t where id = 1"), Datum::Int(1));
    copied.close().expect("closed");
    std::fs::remove_file(&copy).ok();
}

#[test]
fn numbers_wait_where_commits_do() {
    let world = World::new("numbers");
    let mut own = world.session("create table t (s text); create sequence q");
    let mut other = world.session(OFF);
    run(&mut own, OFF);
    let publishing = world.publishing();
    let large = "insert into t values (repeat('x', 2000000))";
    let first = std::thread::spawn(move || own.execute(large).map(drop));
    world.wait_until_waiting(1);
    let second = std::thread::spawn(move || other.execute("select nextval('q')").map(drop));
    world.wait_until_waiting(2);
    drop(publishing);
    for thread in [first, second] {
        thread.join().expect("it ends").expect("it is durable");
    }
}

#[test]
fn a_full_disk_takes_nothing_that_was_acknowledged() {
    let disk = Disk::new(1);
    let options = |disk: &Disk| {
        let simulation = Some(Simulation { disk: disk.clone(), seed: 1 });
        Options { simulation, ..World::options() }
    };
    let db = Database::create(Path::new("/db"), options(&disk)).expect("a database");
    let (mut own, mut open) = (db.session(), db.session());
    run(&mut own, SETUP);
    run(&mut own, OFF);
    // What a block has replaced needs another log with a checkpoint, for which there is no room.
    run(&mut open, "begin; update t set v = 7 where id = 2");
    let capacity = disk.contents("/db").map(|bytes| bytes.len() as u64);
    disk.faults(FaultPlan { capacity, ..FaultPlan::default() });
    let (sender, checkpointed) = std::sync::mpsc::channel();
    let versions = db.versions().clone();
    let publishing = door::wait(&db.handle(), move || {
        Box::pin(async move {
            let publishing = versions.publications.begin().await;
            let checkpoint = async move { sender.send(versions.publish_here(true).await).ok() };
            drop(runtime::spawn(checkpoint));
            runtime::time::sleep(std::time::Duration::from_millis(1)).await;
            publishing
        })
    });
    run(&mut own, "update t set v = 1 where id = 1");
    // Statements leave room for it: somebody has taken that, too.
    let (store, undo) = (db.store().clone(), db.store().undo_space());
    let held = undo.clone();
    door::wait(&db.handle(), move || {
        Box::pin(async move {
            let _reserve = store.spend_reserve();
            while held.hold_runs(&[1]).await.is_ok() {}
        })
    });
    drop(publishing);
    // Numbers are given out while it fails.
    run(&mut db.session(), "set synchronous_commit = off; select nextval('q')");
    // Nothing goes on in a simulation but while somebody waits for it.
    run(&mut db.session(), "select pg_sleep(1)");
    let failed = checkpointed.recv().expect("it ends").expect_err("there is no room");
    assert_eq!(failed.state, types::SqlState::DISK_FULL);
    drop(undo);
    run(&mut own, "update t set v = v + 1 where id = 1");
    assert!(db.settle_within(std::time::Duration::from_secs(1)));
    let again = Database::open(Path::new("/db"), options(&disk.crash(1))).expect("a database");
    assert_eq!(value(&mut again.session(), "select v from t where id = 1"), Datum::Int(2));
}

#[test]
fn a_turn_that_is_given_on_is_not_for_who_has_waited_for_it() {
    let world = World::new("lent-turn");
    let versions = world.db().versions().clone();
    let is_given = door::wait(&world.db().handle(), move || {
        Box::pin(async move {
            let turn = versions.store.checkpoint_turn().await;
            let store = versions.store.clone();
            let queued = runtime::spawn(async move { store.checkpoint_turn().await });
            let taking = versions.clone();
            let taken = runtime::spawn(async move { taking.lent.take(&taking.store).await });
            runtime::time::sleep(std::time::Duration::from_millis(10)).await;
            versions.lent.give(turn);
            // The one who has waited gets it when the publication has ended.
            let taken = taken.await.expect("a publication takes it");
            let is_given = !queued.is_finished();
            drop(taken);
            queued.await.is_ok() && is_given
        })
    });
    assert!(is_given);
}
