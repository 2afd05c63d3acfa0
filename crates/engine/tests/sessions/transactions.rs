//! Transactions of the embedded library: blocks, savepoints, timeouts. All of what a block wrote stays,
//! or nothing does, and nobody else sees a part of it.

use std::path::PathBuf;

use engine::{Database, Options, Session, StatementResult, TransactionStatus};
use types::text::format_value;

use TransactionStatus::{Failed, Idle, Open};

/// A database of its own, removed at the end.
struct Opened {
    db: Database,
    path: PathBuf,
}

impl Opened {
    /// With `t (a int primary key, b int)`, an index on `b`, and the rows 1 to 3.
    fn new(name: &str) -> Opened {
        let file = format!("dovetail-transactions-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        let options = Options { workers: 2, memory_bytes: 64 << 20, ..pg::options() };
        let db = Database::create(&path, options).expect("a database");
        let table = "create table t (a int primary key, b int); create index t_b on t (b); \
                     insert into t values (1, 10), (2, 20), (3, 30)";
        db.session().execute(table).expect("a table");
        Opened { db, path }
    }

    /// What others see, by rows and by the index.
    #[track_caller]
    fn seen(&self, expected: &str) {
        let mut other = self.db.session();
        assert_eq!(rows(&mut other, "select a, b from t order by a"), expected);
        assert_eq!(rows(&mut other, "select a, b from t where b > -1000 order by a"), expected);
    }

    /// The same when nobody writes.
    #[track_caller]
    fn check(&self, expected: &str) {
        self.seen(expected);
        assert_eq!(self.db.check().expect("checked").problems, Vec::<String>::new());
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// The last result's rows, or its tag.
fn shown(results: Vec<StatementResult>) -> String {
    let result = match results.into_iter().last() {
        Some(StatementResult::Rows(result)) => result,
        Some(StatementResult::Command { tag }) => return tag,
        None => return String::new(),
    };
    let mut rows = vec![];
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            let value = |column| format_value(column, row).unwrap_or_else(|| "null".to_owned());
            let values: Vec<String> = batch.columns().iter().map(|c| value(c.as_ref())).collect();
            rows.push(values.join(","));
        }
    }
    rows.join(" ")
}

fn rows(session: &mut Session, text: &str) -> String {
    shown(session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}")))
}

/// Runs texts one after the other: what each answers, or the state of its error; the states of its
/// warnings; and where the session stands then.
#[track_caller]
fn check(session: &mut Session, steps: &[(&str, &str, &str, TransactionStatus)]) {
    for (text, answer, warnings, status) in steps {
        let ran = session.execute(text).map_or_else(|e| e.state.0.to_owned(), shown);
        let told = session.take_notices().into_iter().map(|n| n.message.state.0);
        let told: Vec<&str> = told.collect();
        let found = (ran.as_str(), told.join(" "), session.transaction_status());
        assert_eq!(found, (*answer, (*warnings).to_owned(), *status), "{text}");
    }
}

const BEFORE: &str = "1,10 2,20 3,30";

#[test]
fn a_block_ends_in_one_text_or_in_several() {
    let opened = Opened::new("ends");
    let mut session = opened.db.session();
    let one = "begin; insert into t values (4, 40); update t set b = 0 where a = 1; commit";
    check(&mut session, &[(one, "COMMIT", "", Idle)]);
    opened.check("1,0 2,20 3,30 4,40");
    let steps = [
        ("start transaction", "START TRANSACTION", "", Open),
        ("delete from t where a = 4; update t set b = 10 where a = 1", "UPDATE 1", "", Open),
        ("select count(*) from t", "3", "", Open),
        ("select b from t where a = 1", "10", "", Open),
        ("begin", "BEGIN", "25001", Open),
    ];
    check(&mut session, &steps);
    opened.seen("1,0 2,20 3,30 4,40");
    check(&mut session, &[("commit", "COMMIT", "", Idle), ("commit", "COMMIT", "25P01", Idle)]);
    opened.check(BEFORE);
    let undone = "begin; create table u (x int); truncate t; rollback; select to_regclass('u')";
    check(&mut session, &[(undone, "null", "", Idle), ("rollback", "ROLLBACK", "25P01", Idle)]);
    opened.check(BEFORE);
}

#[test]
fn outside_of_a_block_each_statement_is_a_transaction() {
    let opened = Opened::new("each");
    let mut session = opened.db.session();
    let steps = [
        ("insert into t values (4, 40); select 1 / 0", "22012", "", Idle),
        (
            "delete from t where a = 4; vacuum; reorganize table t; checkpoint",
            "CHECKPOINT",
            "",
            Idle,
        ),
        ("set local lock_timeout = 5; show lock_timeout", "0", "25P01", Idle),
    ];
    check(&mut session, &steps);
    opened.check(BEFORE);
}

#[test]
fn what_fails_fails_its_block() {
    let opened = Opened::new("fails");
    let mut session = opened.db.session();
    for error in [
        ("insert into t values (2, 2)", "23505"),
        ("no statement", "42601"),
        ("select nothing", "42703"),
        ("execute nothing", "26000"),
        ("select b from t where a = 1 / 0", "22012"),
        ("vacuum", "25001"),
        ("discard all", "25001"),
        ("release s", "3B001"),
        ("declare c cursor for select 1", "0A000"),
    ] {
        let steps = [
            ("begin; delete from t where a = 1", "DELETE 1", "", Open),
            (error.0, error.1, "", Failed),
            ("select 1", "25P02", "", Failed),
            ("select b from t where a = 1", "25P02", "", Failed),
            ("begin", "25P02", "", Failed),
            ("savepoint s", "25P02", "", Failed),
            ("prepare p as select 1", "25P02", "", Failed),
        ];
        check(&mut session, &steps);
        // What cannot be kept does not keep others from writing.
        opened.db.session().execute("update t set b = b").expect("written");
        check(&mut session, &[("commit", "ROLLBACK", "", Idle), ("select 1", "1", "", Idle)]);
        opened.check(BEFORE);
    }
}

#[test]
fn savepoints_keep_and_undo_parts() {
    let opened = Opened::new("savepoints");
    let mut session = opened.db.session();
    let steps = [
        ("savepoint s", "25P01", "", Idle),
        ("rollback to s", "25P01", "", Idle),
        ("begin; savepoint one; insert into t values (4, 40)", "INSERT 0 1", "", Open),
        ("savepoint two; delete from t", "DELETE 4", "", Open),
        ("insert into t values (1, 1), (1, 1)", "23505", "", Failed),
        ("rollback to two", "ROLLBACK", "", Open),
        ("select count(*) from t", "4", "", Open),
        ("release two; update t set b = 5 where a = 1", "UPDATE 1", "", Open),
        ("rollback to one; insert into t values (5, 50)", "INSERT 0 1", "", Open),
        ("rollback to two", "3B001", "", Failed),
        ("rollback to one; insert into t values (6, 60); commit", "COMMIT", "", Idle),
    ];
    check(&mut session, &steps);
    opened.check("1,10 2,20 3,30 6,60");
}

#[test]
fn a_block_has_modes_and_settings_of_its_own() {
    let opened = Opened::new("modes");
    let mut session = opened.db.session();
    let steps = [
        ("begin read only; show transaction_read_only", "on", "", Open),
        ("prepare w as delete from t; select count(*) from t", "3", "", Open),
        ("execute w", "25006", "", Failed),
        ("rollback; show transaction_read_only", "off", "", Idle),
        ("begin; set local lock_timeout = 5; show lock_timeout", "5ms", "", Open),
        ("execute w; rollback; show lock_timeout", "0", "", Idle),
        ("set default_transaction_read_only = on; delete from t", "25006", "", Idle),
        ("begin; show transaction_read_only", "on", "", Open),
        ("set transaction read write; delete from t where a = 9", "DELETE 0", "", Open),
        ("rollback", "ROLLBACK", "", Idle),
    ];
    check(&mut session, &steps);
    opened.check(BEFORE);
}

#[test]
fn what_is_prepared_and_what_is_copied_is_part_of_a_block() {
    let opened = Opened::new("copied");
    let mut session = opened.db.session();
    let steps = [
        ("prepare r as select count(*) from t; begin; execute r", "3", "", Open),
        ("prepare w as insert into t values ($1, 0); execute w(4)", "INSERT 0 1", "", Open),
    ];
    check(&mut session, &steps);
    session.copy_in("copy t from stdin", &mut &b"5\t50\n"[..]).expect("copied");
    let mut copied = vec![];
    session.copy_out("copy t to stdout", &mut copied).expect("copied");
    assert_eq!(copied.iter().filter(|byte| **byte == b'\n').count(), 5);
    opened.seen(BEFORE);
    session.copy_in("copy t from stdin", &mut &b"5\t50\n"[..]).expect_err("is there");
    check(&mut session, &[("execute r", "25P02", "", Failed), ("end", "ROLLBACK", "", Idle)]);
    opened.check(BEFORE);
    // A block that only reads keeps nobody from writing.
    check(&mut session, &[("begin; execute r", "3", "", Open)]);
    opened.db.session().execute("set lock_timeout = 1; update t set b = b").expect("written");
}

#[test]
fn a_session_that_goes_undoes_its_block() {
    let opened = Opened::new("goes");
    let mut session = opened.db.session();
    check(&mut session, &[("begin; savepoint s; delete from t", "DELETE 3", "", Open)]);
    let mut other = opened.db.session();
    let waits = "set lock_timeout = 20; update t set b = b";
    check(&mut other, &[(waits, "55P03", "", Idle)]);
    drop(session);
    check(&mut other, &[("set lock_timeout = 0; update t set b = b", "UPDATE 3", "", Idle)]);
    opened.check(BEFORE);
}

#[test]
fn statements_take_no_longer_than_their_timeout() {
    let opened = Opened::new("timeout");
    let mut session = opened.db.session();
    let long = "select count(*) from generate_series(1, 1000000000000)";
    let steps = [
        ("begin; update t set b = 0", "UPDATE 3", "", Open),
        ("set statement_timeout = '20ms'", "SET", "", Open),
        (long, "57014", "", Failed),
        ("rollback", "ROLLBACK", "", Idle),
        ("select pg_sleep(10)", "57014", "", Idle),
    ];
    check(&mut session, &steps);
    let error = session.execute(long).expect_err("too long");
    assert_eq!(error.message, "canceling statement due to statement timeout");
    let mut writer = opened.db.session();
    check(&mut writer, &[("begin; delete from t", "DELETE 3", "", Open)]);
    check(&mut session, &[("update t set b = 0", "57014", "", Idle)]);
    let free = "set statement_timeout = 0; select count(*) from generate_series(1, 1000000)";
    check(&mut session, &[(free, "1000000", "", Idle)]);
    drop(writer);
    opened.check(BEFORE);
}

#[test]
fn locks_are_free_when_a_transaction_has_ended() {
    let opened = Opened::new("let-go");
    let (mut one, mut other) = (opened.db.session(), opened.db.session());
    other.execute("prepare held (int) as select a from t where a = $1 for update nowait").unwrap();
    // The first executions are planned, and take longer than others.
    for round in 0..200 {
        let (key, value) = (round % 3 + 1, 100 + round);
        one.execute("begin").unwrap();
        one.execute(&format!("update t set b = {value} where a = {key}")).unwrap();
        one.execute("rollback").unwrap();
        assert_eq!(rows(&mut other, &format!("execute held ({key})")), key.to_string(), "{round}");
        let fails = format!("update t set b = {value} / (a - 3) where a > 1");
        assert!(one.execute(&fails).is_err());
        assert_eq!(rows(&mut other, "execute held (2)"), "2", "{round}");
    }
    opened.check("1,10 2,20 3,30");
}
