//! Merges in the background: what becomes of deltas and of deleted rows, and that nobody sees it.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Database, MergeEnded, MergeStatus, Options, Origin, Session};

use super::{Scratch, lines, options};

/// The longest that a merge is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Small bounds: few statements are enough.
fn merging(rows: u32) -> Options {
    let mut options = options();
    let configuration = Arc::make_mut(&mut options.configuration);
    configuration.give("column_merge_rows", &rows.to_string(), Origin::Flag).unwrap();
    options
}

fn wait_until(db: &Database, what: &str, is_so: impl Fn(&MergeStatus) -> bool) -> MergeStatus {
    let began = Instant::now();
    loop {
        let status = db.merge_status();
        if status.table.is_none() && is_so(&status) {
            return status;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: {status:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Vectors that a scan of all rows reads: none of a delta.
fn vectors(session: &mut Session) -> u64 {
    let plan = lines(session, "explain analyze select sum(v) from t");
    let scan = plan.iter().find(|line| line.contains("Column Scan")).unwrap();
    scan.split_once("vectors=").map_or(0, |(_, rest)| super::number(rest, ""))
}

const SUMS: &str = "select count(*), sum(k), sum(v), sum(length(s)), count(distinct s) from t";

fn insert(session: &mut Session, keys: std::ops::Range<i64>) {
    let rows: Vec<String> = keys.map(|k| format!("({k}, {k} % 97, md5('{k}'))")).collect();
    session.execute(&format!("insert into t values {}", rows.join(", "))).unwrap();
}

fn fill(session: &mut Session, count: i64) {
    (0..count).step_by(20).for_each(|k| insert(session, k..count.min(k + 20)));
}

/// A table of so many rows, few at a time, of which every fifth goes again.
fn many_small_statements(name: &str, columns: &str) {
    let scratch = Scratch::with(name, merging(400));
    let mut session = scratch.session();
    session.execute(&format!("create table t {columns} with (storage = column)")).unwrap();
    session.execute("create table r (k bigint, v bigint, s text)").unwrap();
    for from in (0..4000).step_by(20) {
        insert(&mut session, from..from + 20);
        session.execute(&format!("delete from t where k % 5 = 3 and k >= {from}")).unwrap();
    }
    session
        .execute(
            "insert into r select k, k % 97, md5(k::text) from generate_series(0, 3999) k
                where k % 5 <> 3",
        )
        .unwrap();
    let status = wait_until(scratch.db(), "merges", |status| status.rows >= 2000);
    assert_eq!((status.failures, &status.last_failure), (0, &None), "{status:?}");
    assert!(vectors(&mut session) >= 2, "nothing lies in parts");
    let (merged, expected) =
        (lines(&mut session, SUMS), lines(&mut session, &SUMS.replace("from t", "from r")));
    assert_eq!(merged, expected);
    assert!(lines(&mut session, "select * from t except select * from r").is_empty());
    for k in [0, 1, 399, 400, 2222, 3999] {
        let found =
            lines(&mut session, &format!("select v, s = md5(k::text) from t where k = {k}"));
        assert_eq!(found, [format!("{}|t", k % 97)], "row {k}");
    }
    assert!(lines(&mut session, "select * from t where k = 2223").is_empty());
    scratch.check();
}

#[test]
fn many_small_statements_end_in_parts() {
    many_small_statements("small", "(k bigint, v bigint, s text)");
}

#[test]
fn an_index_finds_rows_that_have_become_a_part() {
    many_small_statements("indexed", "(k bigint primary key, v bigint, s text)");
}

#[test]
fn a_snapshot_keeps_what_it_has_seen_across_a_merge() {
    let mut scratch = Scratch::with("snapshot", merging(300));
    let mut session = scratch.session();
    session
        .execute("create table t (k bigint unique, v bigint, s text) with (storage = column)")
        .unwrap();
    fill(&mut session, 280);
    let mut reader = scratch.session();
    reader.execute("begin isolation level repeatable read read only").unwrap();
    let before = lines(&mut reader, SUMS);
    session.execute("update t set v = v + 1000 where k % 7 = 0").unwrap();
    (280..900).step_by(20).for_each(|k| insert(&mut session, k..k + 20));
    session.execute("delete from t where k % 11 = 0").unwrap();
    wait_until(scratch.db(), "a merge", |status| status.deltas > 0);
    let after = lines(&mut session, SUMS);
    assert_ne!(before, after);
    assert_eq!(lines(&mut reader, SUMS), before);
    assert_eq!(lines(&mut reader, "select v from t where k = 14"), ["14"]);
    assert_eq!(lines(&mut reader, "select v from t where k = 400"), Vec::<String>::new());
    reader.execute("commit").unwrap();
    assert_eq!(lines(&mut reader, SUMS), after);
    assert_eq!(lines(&mut reader, "select v from t where k = 14"), ["1014"]);
    scratch.check();
    drop((session, reader));
    scratch.reopen();
    assert_eq!(lines(&mut scratch.session(), SUMS), after);
}

#[test]
fn a_transaction_that_keeps_its_version_and_may_write_puts_merges_off() {
    let scratch = Scratch::with("keeper", merging(300));
    let mut session = scratch.session();
    session.execute("create table t (k bigint, v bigint, s text) with (storage = column)").unwrap();
    let mut keeper = scratch.session();
    keeper.execute("begin isolation level serializable").unwrap();
    assert_eq!(lines(&mut keeper, "select count(*) from t"), ["0"]);
    fill(&mut session, 500);
    let began = Instant::now();
    while scratch.db().merge_status().put_off == 0 {
        assert!(began.elapsed() < PATIENCE, "nothing was put off");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(scratch.db().merge_status().deltas, 0);
    keeper.execute("rollback").unwrap();
    let mut writer = scratch.session();
    writer.execute("begin isolation level repeatable read").unwrap();
    let seen = lines(&mut writer, "select count(*) from t");
    writer.execute("update t set v = -1 where k = 7").unwrap();
    writer.execute("commit").unwrap();
    assert_eq!(seen, ["500"]);
    wait_until(scratch.db(), "a merge", |status| status.deltas > 0);
    assert_eq!(lines(&mut session, "select v from t where k = 7"), ["-1"]);
    scratch.check();
}

#[test]
fn parts_that_lose_many_rows_are_written_without_them() {
    let scratch = Scratch::with("hollow", merging(1000));
    let mut session = scratch.session();
    let told = Arc::new(Mutex::new(vec![]));
    let tell = told.clone();
    let log = move |ended: &MergeEnded| tell.lock().unwrap().push(ended.clone());
    scratch.db().activities().log_merges(Arc::new(log));
    session.execute("create table t (k bigint, v bigint, s text) with (storage = column)").unwrap();
    session
        .execute("insert into t select k, k % 97, md5(k::text) from generate_series(0, 49999) k")
        .unwrap();
    for from in (0..20000).step_by(50) {
        let range = format!("k between {from} and {}", from + 49);
        session.execute(&format!("delete from t where {range}")).unwrap();
    }
    let status = wait_until(scratch.db(), "a rewritten part", |status| status.parts > 0);
    assert_eq!(status.last_failure, None);
    let told = told.lock().unwrap().clone();
    assert!(told.iter().any(|ended| ended.parts > 0 && ended.table == "t"), "{told:?}");
    assert_eq!(
        lines(&mut session, "select count(*), min(k), max(k), sum(k) from t"),
        [format!("30000|20000|49999|{}", (20000..50000u64).sum::<u64>())]
    );
    session.execute("update t set v = 0 where k = 20000").unwrap();
    assert_eq!(lines(&mut session, "select v from t where k = 20000"), ["0"]);
    scratch.check();
}

#[test]
fn statements_beside_merges_lose_nothing() {
    let scratch = Scratch::with("beside", merging(200));
    scratch
        .session()
        .execute("create table t (k bigint unique, v bigint, s text) with (storage = column)")
        .unwrap();
    fill(&mut scratch.session(), 200);
    let writer = |number: i64| {
        let db = scratch.db().clone();
        move || {
            let mut session = db.session();
            for round in 0..60 {
                let first = 1000 * (number + 1) + 10 * round;
                insert(&mut session, first..first + 10);
                let text = format!("update t set v = v + 1 where k = {}", 50 * number + round % 50);
                session.execute(&text).unwrap();
                session.execute(&format!("delete from t where k = {first}")).unwrap();
            }
        }
    };
    let writers: Vec<_> = (0..4).map(|number| thread::spawn(writer(number))).collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let mut session = scratch.session();
    wait_until(scratch.db(), "merges", |status| status.deltas > 0);
    assert_eq!(lines(&mut session, "select count(*) from t"), [(200 + 4 * 60 * 9).to_string()]);
    let added = "select sum(v - k % 97) from t where k < 200";
    assert_eq!(lines(&mut session, added), ["240"]);
    scratch.check();
}

#[test]
fn nothing_is_merged_where_that_is_turned_off() {
    let filled = |name, rows| {
        let scratch = Scratch::with(name, merging(rows));
        let mut session = scratch.session();
        let create = "create table t (k bigint, v bigint, s text) with (storage = column)";
        session.execute(create).unwrap();
        fill(&mut session, 1000);
        scratch
    };
    let off = filled("off", 0);
    // One that is filled later has merges, so this one would have some by then.
    let on = filled("on", 400);
    wait_until(on.db(), "a merge", |status| status.deltas > 0);
    assert_eq!(off.db().merge_status(), MergeStatus::default());
    let mut session = off.session();
    assert_eq!(lines(&mut session, "select count(*) from t"), ["1000"]);
    assert_eq!(vectors(&mut session), 0, "a part");
}

/// Merges see the catalog of nobody's session, in which a temporary table has no name.
#[test]
fn a_temporary_table_takes_nobodys_place_by_a_merge() {
    let scratch = Scratch::with("temporary", merging(1));
    let mut session = scratch.session();
    for statement in [
        "set default_table_storage = column",
        "create table t (a int primary key, b text)",
        "insert into t values (1, 'permanent')",
        "create temp table t (a int, c numeric)",
        "insert into t values (7, 1.5), (8, 2.5)",
        "reorganize table t",
        "update t set c = c + 1 where a = 8",
        "create table later (k bigint, v bigint, s text)",
    ] {
        session.execute(statement).expect(statement);
    }
    session.execute("insert into later values (1, 1, 'x'), (2, 2, 'y')").unwrap();
    // One of the permanent table, two of the later one; they come in the order of the statements.
    wait_until(scratch.db(), "the later rows", |status| status.rows >= 3);
    session.execute("drop table t").unwrap();
    assert_eq!(lines(&mut session, "select * from t"), ["1|permanent"]);
}
