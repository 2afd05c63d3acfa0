//! What people see of transactions: locks, waits, counts, and plans of statements that write.

use std::time::{Duration, Instant};

use postgres::Client;

use crate::served::{Served, options};

fn pid(client: &mut Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).expect("a number").get(0)
}

fn lines(client: &mut Client, text: &str) -> Vec<String> {
    client.query(text, &[]).expect(text).iter().map(|row| row.get(0)).collect()
}

#[test]
fn who_rests_within_a_block_can_be_seen() {
    let served = Served::start("rests", options());
    let [mut one, mut watcher] =
        ["a", "b"].map(|user| served.connect(&format!("user={user}")).expect("connected"));
    let number = pid(&mut one);
    let mut state = || {
        let text = format!("select state from pg_stat_activity where pid = {number}");
        lines(&mut watcher, &text).remove(0)
    };
    assert_eq!(state(), "idle");
    one.batch_execute("begin; savepoint s; select 1").expect("begun");
    assert_eq!(state(), "idle in transaction");
    one.batch_execute("select 1 / 0").expect_err("fails");
    assert_eq!(state(), "idle in transaction (aborted)");
    one.batch_execute("rollback to s").expect("goes back");
    assert_eq!(state(), "idle in transaction");
    one.batch_execute("commit").expect("committed");
    assert_eq!(state(), "idle");
}

#[test]
fn who_waits_for_whom_can_be_seen() {
    let served = Served::start("waits", options());
    let [mut holder, mut waiter, mut watcher] =
        ["a", "b", "c"].map(|user| served.connect(&format!("user={user}")).expect("connected"));
    holder
        .batch_execute("create table t (id int primary key, v int); insert into t values (1, 0)")
        .expect("made");
    let (holding, waiting) = (pid(&mut holder), pid(&mut waiter));
    holder.batch_execute("begin; update t set v = 1 where id = 1").expect("changed");
    let waiter = std::thread::spawn(move || {
        waiter.batch_execute("update t set v = 2 where id = 1").expect("changed after a wait");
    });
    let begun = Instant::now();
    let text =
        "select wait_event from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'";
    let event: String = loop {
        if let Some(row) = watcher.query_opt(text, &[&waiting]).expect("shown") {
            break row.get(0);
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it never waits");
    };
    assert_eq!(event, "tuple");
    let blocking: Vec<i32> =
        watcher.query_one("select pg_blocking_pids($1)", &[&waiting]).expect("shown").get(0);
    assert_eq!(blocking, [holding]);
    let text = "select l.pid, l.locktype, l.mode, l.granted from pg_locks l join pg_class c \
                on c.oid = l.relation where c.relname = 't' order by l.granted desc, l.pid, l.locktype";
    let shown = watcher.query(text, &[]).expect("shown");
    let shown: Vec<(i32, String, String, bool)> =
        shown.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect();
    let lock = |pid, kind: &str, mode: &str, granted| (pid, kind.into(), mode.into(), granted);
    let expected = [
        lock(holding, "relation", "RowExclusiveLock", true),
        lock(waiting, "relation", "RowShareLock", true),
        lock(waiting, "tuple", "ExclusiveLock", false),
    ];
    assert_eq!(shown, expected);
    holder.batch_execute("commit").expect("committed");
    waiter.join().expect("it has waited");
    let left = watcher.query("select 1 from pg_locks where locktype <> 'advisory'", &[]);
    assert!(left.expect("shown").is_empty());
}

#[test]
fn transactions_are_counted_by_their_end() {
    let served = Served::start("counted", options());
    let mut client = served.connect("user=a").expect("connected");
    let counts = |client: &mut Client| -> (i64, i64) {
        let text = "select xact_commit, xact_rollback from pg_stat_database";
        let row = client.query_one(text, &[]).expect("shown");
        (row.get(0), row.get(1))
    };
    client.batch_execute("create table t (id int primary key)").expect("made");
    let before = counts(&mut client);
    client.batch_execute("insert into t values (1)").expect("inserted");
    client.batch_execute("insert into t values (1)").expect_err("it is there");
    client.batch_execute("begin; insert into t values (2); commit").expect("committed");
    client.batch_execute("begin; insert into t values (3); rollback").expect("rolled back");
    let after = counts(&mut client);
    // The first count is a transaction, too.
    assert_eq!((after.0 - before.0, after.1 - before.1), (3, 2));
}

#[test]
fn statements_that_write_are_explained() {
    let served = Served::start("explained", options());
    let mut client = served.connect("user=a").expect("connected");
    client
        .batch_execute(
            "create table t (id int primary key, v int); \
             insert into t select g, 0 from generate_series(1, 100) as s(g)",
        )
        .expect("made");
    let plan = lines(&mut client, "explain (costs off) update t set v = 1 where id = 3");
    assert_eq!(plan[0], "Update on t");
    assert!(plan[1].starts_with("  ->  ") && plan.len() >= 2, "{plan:?}");
    assert_eq!(lines(&mut client, "explain insert into t values (0, 0)"), ["Insert on t"]);
    let untouched = client.query_one("select sum(v), count(*) from t", &[]).expect("read");
    assert_eq!((untouched.get::<_, i64>(0), untouched.get::<_, i64>(1)), (0, 100));
    let ran = lines(&mut client, "explain analyze delete from t where id > 90");
    assert_eq!(ran[0], "Delete on t (actual rows=10)");
    for word in ["  ->  ", "Log: ", "Commit Time: ", "Execution Time: "] {
        assert!(ran.iter().any(|line| line.starts_with(word)), "{word} in {ran:?}");
    }
    assert_eq!(lines(&mut client, "select count(*)::text from t"), ["90"]);
    client.batch_execute("begin").expect("begun");
    let ran = lines(&mut client, "explain (analyze, format json) insert into t select 200, 1");
    assert!(ran[0].contains("\"Operation\": \"Insert\"") && ran[0].contains("\"Log Bytes\""));
    client.batch_execute("rollback").expect("rolled back");
    assert_eq!(lines(&mut client, "select count(*)::text from t"), ["90"]);
    client.batch_execute("explain (analyze) update t set v = v / 0").expect_err("division");
}
