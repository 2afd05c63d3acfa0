//! Rows of a query that go into a table as they come: more of them than there is memory for.

use std::path::PathBuf;

use engine::{Database, Options, Session, SqlState, StatementResult};
use types::text::format_value;

/// A database of 8 MiB, 2 of them for operators, removed at the end.
struct Small {
    path: PathBuf,
    db: Option<Database>,
}

impl Small {
    fn new(name: &str) -> Small {
        let file = format!("dovetail-streamed-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        let options = Options { memory_bytes: 8 << 20, workers: 2, ..pg::options() };
        let db = Database::create(&path, options).unwrap();
        let text = "create table source (k int primary key, g int, t text)";
        let mut session = db.session();
        session.execute(text).unwrap();
        for part in 0..4 {
            let (from, to) = (part * 10_000 + 1, (part + 1) * 10_000);
            let rows = format!(
                "select i, i / 10, repeat('t', 20) from generate_series({from}, {to}) s (i)"
            );
            session.execute(&format!("insert into source {rows}")).unwrap();
        }
        drop(session);
        Small { path, db: Some(db) }
    }

    fn session(&self) -> Session {
        self.db.as_ref().unwrap().session()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        self.db.take();
        std::fs::remove_file(&self.path).ok();
    }
}

fn one_row(session: &mut Session, text: &str) -> Vec<String> {
    let Some(StatementResult::Rows(result)) = session.execute(text).unwrap().pop() else {
        panic!("no rows: {text}")
    };
    let row = result.batches.iter().find(|batch| batch.num_rows() > 0).expect("a row");
    row.columns().iter().map(|c| format_value(c, 0).unwrap_or_default()).collect()
}

/// About 8 MB of rows from the 40,000 of the source.
const WIDE: &str = "select k, g, repeat(t, 10) as t from source";

#[test]
fn a_query_fills_a_table_with_more_rows_than_memory() {
    let small = Small::new("insert");
    let mut session = small.session();
    session.execute("create table t (id serial, k int primary key, g int, t text)").unwrap();
    let done = session.execute(&format!("insert into t (k, g, t) {WIDE}")).unwrap().pop();
    assert!(matches!(done, Some(StatementResult::Command { tag }) if tag == "INSERT 0 40000"));
    let sums = "select count(*), sum(k), sum(length(t)), min(id), max(id), sum(id) from t";
    let wanted = ["40000", "800020000", "8000000", "1", "40000", "800020000"];
    assert_eq!(one_row(&mut session, sums), wanted);
    // From itself: the query sees the state before the statement.
    session.execute("insert into t (k, g, t) select k + 40000, g, t from t").unwrap();
    let sums = "select count(*), max(k), sum(id), sum(length(t)) from t";
    assert_eq!(one_row(&mut session, sums), ["80000", "80000", "3200040000", "16000000"]);
}

#[test]
fn a_table_is_created_from_more_rows_than_memory() {
    let small = Small::new("create");
    let mut session = small.session();
    let done = session.execute(&format!("create table t as {WIDE}")).unwrap().pop();
    assert!(matches!(done, Some(StatementResult::Command { tag }) if tag == "SELECT 40000"));
    let sums = "select count(*), sum(k), sum(length(t)) from t";
    assert_eq!(one_row(&mut session, sums), ["40000", "800020000", "8000000"]);
    session.execute("create table none as select k from source where k < 0").unwrap();
    session.execute("insert into none values (5)").unwrap();
    assert_eq!(one_row(&mut session, "select sum(k) from none"), ["5"]);
}

#[test]
fn rows_that_break_a_rule_leave_the_table_as_it_was() {
    let small = Small::new("refused");
    let mut session = small.session();
    let tables = "create table t (k int primary key, g int references source, t text);
        insert into t values (40000, 1, 'there')";
    session.execute(tables).unwrap();
    let cases = [
        (format!("insert into t {WIDE}"), SqlState::FOREIGN_KEY_VIOLATION),
        (format!("insert into t select k, k, t from ({WIDE}) w"), SqlState::UNIQUE_VIOLATION),
        (
            format!("insert into t select k, k, t || 1 / (k - 39000) from ({WIDE}) w"),
            SqlState("22012"),
        ),
        ("insert into t select k, g, t, k from source".to_owned(), SqlState::SYNTAX_ERROR),
        (
            "insert into t (k, g) select k from source where k < 0".to_owned(),
            SqlState::SYNTAX_ERROR,
        ),
        (
            format!("create table u as select 1 / (k - 39000) as k, t from ({WIDE}) w"),
            SqlState("22012"),
        ),
    ];
    for (text, state) in cases {
        let error = session.execute(&text).unwrap_err();
        assert_eq!(error.state, state, "{text}: {error}");
        assert_eq!(one_row(&mut session, "select count(*), max(t) from t"), ["1", "there"]);
    }
    session.execute(&format!("insert into t select k + 40000, k, t from ({WIDE}) w")).unwrap();
    assert_eq!(one_row(&mut session, "select count(*) from t"), ["40001"]);
    assert!(small.session().database().verify().unwrap().problems.is_empty());
}
