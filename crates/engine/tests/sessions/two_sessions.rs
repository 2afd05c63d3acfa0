//! Readers beside writers: each statement is seen whole or not at all, by every way to the rows.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use engine::{Database, Options, RingKind, Session, StatementResult};
use types::text::format_value;

/// A file of its own, removed at the end.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str) -> TestFile {
        let file = format!("dovetail-two-sessions-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        TestFile(path)
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// 400 rows with the keys 0 to 19, and one of each key in a table to join with.
const SETUP: &str = "
    create table t (id int primary key, k int, v int, w int);
    insert into t select i, i % 20, 100, i from generate_series(0, 399) i;
    create index t_k on t (k);
    create index t_h on t using hash (k);
    create index t_w on t (w) include (v);
    create table o (k int primary key);
    insert into o select generate_series(0, 19);
    analyze";

/// Statements that each leave every question of [`QUESTIONS`] with one of its answers.
const WRITES: &[&str] = &[
    // Entries go and come back.
    "delete from t where k = 5",
    "insert into t select i * 20 + 5, 5, 100, i * 20 + 5 from generate_series(0, 19) i",
    // Values move between rows.
    "update t set v = case when id < 200 then v - 1 else v + 1 end where k = 7",
    "update t set v = 100 where k = 7",
    // Entries move forward and backward in their index, past those that are read.
    "update t set w = w + 5000 where k = 3",
    "update t set w = w - 5000 where k = 3",
    "update t set k = 1000 + k where k = 9",
    "update t set k = k - 1000 where k > 1000",
];

/// Questions, with all the answers that they may have.
const QUESTIONS: &[(&str, &[&str])] = &[
    ("select count(v) from t where k = 5", &["0", "20"]),
    ("select count(v) from o join t on t.k = o.k where o.k = 5", &["0", "20"]),
    ("select sum(v) from t where k = 7", &["2000"]),
    ("select sum(v) from o join t on t.k = o.k where o.k = 7", &["2000"]),
    ("select sum(v) from t where id between 0 and 399 and id % 20 = 7", &["2000"]),
    ("select count(v) || ' ' || count(distinct id) from t where k >= 9", &["220 220"]),
    ("select sum(v) || ' ' || count(*) from t where w >= 0 and v > 0", &["40000 400", "38000 380"]),
    (
        "select count(*) || ' ' || count(distinct id) from \
         (select id, v from t where k >= 8 order by k limit 1000) x",
        &["240 240"],
    ),
    (
        "select count(*) || ' ' || sum(v) from \
         (select w, v from t where w >= 0 order by w desc limit 1000) x",
        &["400 40000", "380 38000"],
    ),
    ("select count(*) from t where id = 25", &["0", "1"]),
];

const MODES: [&str; 3] = ["serial", "static", "ooo"];

/// Rounds of all questions of each reader: enough for hundreds of statements beside them.
const ROUNDS: usize = 12;

fn answer(session: &mut Session, text: &str) -> String {
    let results = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let Some(StatementResult::Rows(rows)) = results.last() else { panic!("no rows: {text}") };
    format_value(rows.batches[0].column(0), 0).unwrap_or_default()
}

fn read(db: &Database, mode: &str) {
    let mut session = db.session();
    let settings =
        format!("set execution_mode = {mode}; set enable_seqscan = off; set enable_hashjoin = off");
    session.execute(&settings).expect("set");
    for _ in 0..ROUNDS {
        for (question, answers) in QUESTIONS {
            let found = answer(&mut session, question);
            assert!(answers.contains(&found.as_str()), "{mode}: {question}: {found}");
        }
    }
}

fn write(db: &Database, is_over: &AtomicBool, count: &AtomicU64) {
    let mut session = db.session();
    while !is_over.load(SeqCst) {
        for statement in WRITES {
            session.execute(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
            count.fetch_add(1, SeqCst);
        }
    }
}

fn readers_beside_a_writer(name: &str, ring: RingKind) {
    let file = TestFile::new(name);
    let options = Options { memory_bytes: 32 << 20, workers: 2, ring, ..pg::options() };
    let db = Database::create(&file.0, options).expect("a database");
    db.session().execute(SETUP).expect("tables");
    let (is_over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let db = &db;
        scope.spawn(|| write(db, &is_over, &count));
        let readers: Vec<_> = MODES.map(|mode| scope.spawn(move || read(db, mode))).into();
        let outcomes: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        is_over.store(true, SeqCst);
        outcomes.into_iter().for_each(|outcome| outcome.expect("right answers"));
    });
    assert!(count.into_inner() >= WRITES.len() as u64, "a round was written meanwhile");
    let report = db.check().expect("checked");
    assert_eq!(report.problems, Vec::<String>::new());
    db.close().expect("closed");
}

#[test]
fn statements_are_seen_whole_or_not_at_all() {
    readers_beside_a_writer("auto", RingKind::Auto);
}

#[test]
fn statements_are_seen_whole_or_not_at_all_on_threads() {
    readers_beside_a_writer("threads", RingKind::Threads);
}
