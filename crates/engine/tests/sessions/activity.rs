//! What sessions do, as another session sees it.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use engine::{
    Database, LockLog, Options, Session, Simulation, StatementResult, TransactionOptions,
};
use runtime::sim::{Disk, Latency};

/// The rows of a query, as text.
fn rows(session: &mut Session, text: &str) -> Vec<String> {
    texts(session.execute(text).expect("rows"))
}

fn texts(mut results: Vec<StatementResult>) -> Vec<String> {
    let Some(StatementResult::Rows(rows)) = results.pop() else { panic!("no rows") };
    let mut lines = vec![];
    for batch in &rows.batches {
        for row in 0..batch.num_rows() {
            let value = |column| types::text::format_value(column, row).unwrap_or_default();
            lines.push(batch.columns().iter().map(|c| value(c)).collect::<Vec<_>>().join("|"));
        }
    }
    lines
}

#[test]
fn sessions_queries_and_workers_are_seen() {
    let folder = std::env::temp_dir().join(format!("dovetail-activity-{}", std::process::id()));
    #[allow(clippy::disallowed_methods, reason = "a test stands outside of the seam")]
    std::fs::create_dir_all(&folder).expect("a folder");
    let db = Database::create(&folder.join("t.dovetail"), pg::options()).expect("a database");
    let (mut one, mut two) = (db.session(), db.session());
    one.execute("set application_name = 'first'").expect("set");
    one.execute("select count(*) from generate_series(1, 1000)").expect("rows");
    let seen = rows(
        &mut two,
        "select application_name, state, query from pg_stat_activity order by query_id",
    );
    assert_eq!(seen[0], "first|idle|select count(*) from generate_series(1, 1000)");
    assert!(seen[1].starts_with("|active|select application_name"), "{seen:?}");
    let seen = rows(
        &mut two,
        "select state, execution_mode, progress, tasks_created = tasks_done, tasks_running
         from dovetail_queries where query like '%generate_series%' and state = 'ended'",
    );
    assert_eq!(seen, ["ended|ooo|1|t|0"]);
    let workers = db.worker_count().to_string();
    assert_eq!(rows(&mut two, "select count(*) from dovetail_tasks where alive >= 0")[0], workers);
    assert_eq!(rows(&mut two, "select count(*) from dovetail_io where inflight >= 0")[0], workers);
    let portions =
        "select count(*) from dovetail_portions where kind is null or longest_ms < 1 or long < 0";
    assert_eq!(rows(&mut two, portions)[0], "0");
    // A password in a statement is not shown, not even in one that fails.
    one.execute("create role r1 password 'canary'").expect("a role");
    let all = rows(&mut two, "select * from pg_stat_activity").join("\n");
    assert!(!all.contains("canary") && all.contains("create role r1"), "{all}");
    drop(one);
    assert_eq!(rows(&mut two, "select count(*) from pg_stat_activity"), ["1"]);
    drop(two);
    db.close().expect("closed");
    #[allow(clippy::disallowed_methods, reason = "as above")]
    std::fs::remove_dir_all(&folder).ok();
}

/// On a simulated disk that takes its time.
#[test]
fn a_commit_that_is_not_durable_yet_is_seen_to_wait_for_the_log() {
    let disk = Disk::new(1);
    let simulation = Some(Simulation { disk: disk.clone(), seed: 1 });
    let options = Options { simulation, workers: 1, memory_bytes: 24 << 20, ..pg::options() };
    let db = Database::create("/db".as_ref(), options).expect("a database");
    let (mut writer, mut watcher) = (db.session(), db.session());
    writer.execute("create table t (id int primary key)").expect("a table");
    let slow_ns = 60_000_000_000;
    disk.latency(Latency { write_ns: slow_ns, sync_ns: slow_ns, ..Latency::default() });
    let waiting = "select wait_event_type, wait_event, state from pg_stat_activity
        where wait_event = 'WALSync'";
    let mut writer = Some(writer);
    let seen = db.transaction(&TransactionOptions::default(), async |_| {
        let mut writer = writer.take().expect("it is done once");
        let commit =
            runtime::spawn(
                async move { writer.run_all("insert into t values (1)").await.map(drop) },
            );
        runtime::time::sleep(Duration::from_secs(1)).await;
        let seen = texts(watcher.run_all(waiting).await?);
        commit.await.expect("it ends")?;
        Ok((seen, texts(watcher.run_all(waiting).await?)))
    });
    let seen = seen.expect("the transaction");
    assert_eq!(seen, (vec!["IO|WALSync|active".to_owned()], vec![]));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test stands outside of the seam")]
fn waits_for_locks_that_take_long_are_told_of() {
    let folder = std::env::temp_dir().join(format!("dovetail-waits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let db = Database::create(&folder.join("t.dovetail"), pg::options()).expect("a database");
    let (mut one, mut two) = (db.session(), db.session());
    one.execute("create table t (id int primary key, v int); insert into t values (1, 1)")
        .expect("a table");
    let (tell, told) = mpsc::channel();
    let tell = Arc::new(move |waited: &engine::LockWaited| tell.send(waited.clone()).unwrap());
    db.activities().log_lock_waits(Some(LockLog { after: Duration::from_millis(1), tell }));
    let (first, second) = (one.activity().session_id as i64, two.activity().session_id as i64);
    // What one does, what the other wants then, and the lock that it waits for.
    for (held, wanted, lock) in [
        ("update t set v = 2", "update t set v = 3", "ExclusiveLock on tuple of relation \"t\""),
        ("delete from t", "delete from t", "AccessExclusiveLock on tuple of relation \"t\""),
        (
            "create table a (b int)",
            "create table c (d int)",
            "ShareUpdateExclusiveLock on database",
        ),
        ("insert into t values (7, 7)", "truncate t cascade", "AccessExclusiveLock on database"),
        ("truncate t cascade", "insert into t values (8, 8)", "ExclusiveLock on transaction"),
    ] {
        one.execute("begin").expect("begun");
        one.execute(held).expect(held);
        let waiting = std::thread::spawn(move || {
            two.execute(wanted).expect(wanted);
            two
        });
        let waited = told.recv().expect("it waits");
        assert_eq!((waited.pid, &*waited.lock, waited.is_over), (second, lock, false), "{wanted}");
        assert_eq!((&*waited.holders, &*waited.statement), (&[first][..], wanted));
        let said = format!("process {second} still waiting for {lock} after ");
        assert!(waited.message().starts_with(&said), "{}", waited.message());
        one.execute("commit").expect("committed");
        two = waiting.join().expect("it ends");
        let said = format!("process {second} acquired {lock} after ");
        assert!(told.recv().expect("it is told").message().starts_with(&said), "{said}");
        assert!(told.try_recv().is_err(), "no more is told: {wanted}");
    }
    // Nobody wants to know it any more.
    db.activities().log_lock_waits(None);
    one.execute("begin; update t set v = 4").expect("changed");
    two.execute("set lock_timeout = 20").expect("set");
    two.execute("update t set v = 5").expect_err("it waits in vain");
    assert!(told.try_recv().is_err());
    drop((one, two));
    db.close().expect("closed");
    std::fs::remove_dir_all(&folder).ok();
}
