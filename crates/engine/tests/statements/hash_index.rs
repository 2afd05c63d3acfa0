//! Hash indexes: which plans use them, and that they follow their rows through every way of writing
//! and through a restart.

use std::path::PathBuf;

use engine::{Database, Options, ResultSet, RingKind, Session, StatementResult};
use types::text::format_value;

fn options() -> Options {
    let (ring, workers) = (RingKind::Threads, 2);
    let (memory_bytes, pool_bytes) = (64 << 20, Some(4 << 20));
    Options { memory_bytes, pool_bytes, ring, workers, direct: false, ..pg::options() }
}

/// A file of its own, removed at the end.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str) -> TestFile {
        let name = format!("dovetail-hash-index-{}-{name}", std::process::id());
        TestFile(std::env::temp_dir().join(name))
    }

    /// A database with a table of 20,000 rows, and what there is to join it with.
    fn database(&self) -> Database {
        let db = Database::create(&self.0, options()).unwrap();
        let statements = "create table t (k int primary key, a int, b text, w text);
            insert into t select i, i % 5000, 'b' || i % 4000, repeat('w', 150)
                from generate_series(1, 20000) as g (i);
            create index t_a on t using hash (a);
            create index t_b_hash on t using hash (b);
            create index t_b_tree on t (b);
            create table few (x int primary key, y int);
            insert into few select i, i * 7 from generate_series(1, 50) as g (i);
            analyze";
        db.session().execute(statements).unwrap();
        db
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

fn lines(session: &mut Session, text: &str) -> Vec<String> {
    let results = session.execute(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let rows: ResultSet = match results.into_iter().next_back() {
        Some(StatementResult::Rows(rows)) => rows,
        other => panic!("{text}: {other:?}"),
    };
    let mut lines = vec![];
    for batch in &rows.batches {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter();
            let values = values.map(|c| format_value(c, row).unwrap_or_else(|| "NULL".into()));
            lines.push(values.collect::<Vec<_>>().join("|"));
        }
    }
    lines
}

#[track_caller]
fn check_plan(session: &mut Session, query: &str, wanted: &str) {
    let plan = lines(session, &format!("explain {query}")).join("\n");
    assert!(plan.contains(wanted), "{query}: {wanted}\n{plan}");
}

#[test]
fn equality_is_by_hash_and_nothing_else() {
    let file = TestFile::new("plans");
    let db = file.database();
    let mut session = db.session();
    for (query, wanted) in [
        ("select w from t where a = 5", "Index Scan using t_a on t"),
        ("select w from t where a in (5, 6, 7)", "Index Scan using t_a on t"),
        ("select k, a from t where a = 5", "Index Only Scan using t_a on t"),
        ("select w from t where a > 4990", "Full Scan on t"),
        ("select w from t where a between 5 and 6", "Full Scan on t"),
        ("select k from t order by a limit 3", "Full Scan on t"),
        // Of two that would do the one without a descent.
        ("select w from t where b = 'b5'", "Index Scan using t_b_hash on t"),
        ("select w from t where b between 'b5' and 'b50'", "Index Scan using t_b_tree on t"),
        ("select b from t order by b limit 3", "Index Only Scan using t_b_tree on t"),
        ("select count(*) from t", "Index Only Scan using t_b_tree on t"),
        ("select x, w from few join t on a = y", "Index Nested Loop Join on t using t_a"),
        (
            "select x from few where exists (select 1 from t where a = y and w > 'a')",
            "Index Semi Nested Loop Join on t using t_a",
        ),
    ] {
        check_plan(&mut session, query, wanted);
    }
    let found = lines(&mut session, "select k from t where a in (7, 4999) order by k");
    assert_eq!(found, ["7", "4999", "5007", "9999", "10007", "14999", "15007", "19999"]);
}

#[test]
fn entries_follow_their_rows_through_every_way_of_writing() {
    let file = TestFile::new("writes");
    let db = file.database();
    let mut session = db.session();
    let csv = file.0.with_extension("csv");
    std::fs::write(&csv, "30001,5,copied,w\n30002,5,,\n").unwrap();
    let copy = format!("copy t from '{}' (format csv)", csv.display());
    for statement in [
        "update t set a = a + 1 where a = 5 and k < 6000",
        // Enough rows for a rebuild of the trees.
        "update t set a = a + 1 where k % 2 = 0",
        "delete from t where a = 5 and k > 15000",
        "insert into t values (30000, 5, 'added', 'w'), (30003, null, null, null)",
        &copy,
        "begin; update t set a = 5 where a < 50; delete from t where a = 5; rollback",
        "begin; update t set a = 5 where a = 50; savepoint s; delete from t where a = 5; \
         rollback to s; commit",
        "alter table t add column z int default 3",
        "alter table t drop column z",
        "alter table t alter column a type bigint",
        "reorganize table t",
        "insert into t select k + 50000, a, b, w from t where k <= 2000",
    ] {
        session.execute(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        for a in [5, 6, 50, 4000] {
            let sums = format!("select count(*), sum(k), count(b) from t where a = {a}");
            let all = sums.replace("a = ", "a * 2 = 2 * ");
            check_plan(&mut session, &sums, "Index Scan using t_a on t");
            let by_hash = lines(&mut session, &sums);
            let by_rows = lines(&mut session, &all);
            assert_eq!(by_hash, by_rows, "{statement}: {a}");
        }
        assert_eq!(db.check().unwrap().problems, Vec::<String>::new(), "{statement}");
    }
    let before = lines(&mut session, "select k from t where a = 5 order by k");
    drop(session);
    db.close().unwrap();
    let db = Database::open(&file.0, options()).unwrap();
    let mut session = db.session();
    assert_eq!(lines(&mut session, "select k from t where a = 5 order by k"), before);
    check_plan(&mut session, "select w from t where a = 5", "Index Scan using t_a on t");
    let definition = lines(&mut session, "select pg_get_indexdef('t_a'::regclass)");
    assert_eq!(definition, ["CREATE INDEX t_a ON public.t USING hash (a)"]);
    std::fs::remove_file(&csv).unwrap();
}

#[test]
fn a_compiled_change_finds_its_rows_by_hash() {
    let file = TestFile::new("compiled");
    let db = file.database();
    let mut session = db.session();
    session.execute("prepare move (int, int) as update t set a = $1 where a = $2").unwrap();
    session.execute("prepare find (int) as select count(*) from t where a = $1").unwrap();
    for (from, to) in [(10, 6000), (11, 6000), (6000, 6001), (9999, 1)] {
        session.execute(&format!("execute move({to}, {from})")).unwrap();
        assert_eq!(lines(&mut session, &format!("execute find({from})")), ["0"]);
    }
    assert_eq!(lines(&mut session, "execute find(6001)"), ["8"]);
    assert_eq!(lines(&mut session, "execute find(1)"), ["4"]);
    assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
}
