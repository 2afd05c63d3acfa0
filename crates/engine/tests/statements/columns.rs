//! Column tables: what a scan need not read, that readers keep their snapshot whatever becomes of the
//! chunks, and that loads which end early leave nothing.

mod indexes;
mod merges;

use std::path::PathBuf;

use arrow_array::ArrayRef;
use engine::{Database, ExecutionMode, Options, ResultSet, RingKind, Session, StatementResult};
use types::text::format_value;

/// A database, removed at the end.
struct Scratch {
    path: PathBuf,
    db: Option<Database>,
    options: Options,
}

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch::with(name, options())
    }

    fn with(name: &str, options: Options) -> Scratch {
        let file = format!("dovetail-columns-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        let db = Some(Database::create(&path, options.clone()).unwrap());
        Scratch { path, db, options }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().unwrap()
    }

    fn session(&self) -> Session {
        self.db().session()
    }

    /// Closes the file, and opens it again.
    fn reopen(&mut self) {
        self.db.take().unwrap().close().unwrap();
        self.db = Some(Database::open(&self.path, self.options.clone()).unwrap());
    }

    #[track_caller]
    fn check(&self) {
        let report = self.db().check().unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.db.take();
        std::fs::remove_file(&self.path).ok();
    }
}

fn options() -> Options {
    let (ring, workers) = (RingKind::Threads, 2);
    let (memory_bytes, pool_bytes) = (64 << 20, Some(8 << 20));
    Options { memory_bytes, pool_bytes, ring, workers, direct: false, ..pg::options() }
}

fn result(session: &mut Session, text: &str) -> ResultSet {
    match session.execute(text).unwrap().pop() {
        Some(StatementResult::Rows(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

/// The rows, `|` between columns.
fn lines(session: &mut Session, text: &str) -> Vec<String> {
    let (result, mut lines) = (result(session, text), vec![]);
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            let value = |c: &ArrayRef| format_value(c, row).unwrap_or_else(|| "NULL".into());
            lines.push(batch.columns().iter().map(value).collect::<Vec<_>>().join("|"));
        }
    }
    lines
}

/// Some hundred thousand rows in several chunks; `id` grows, `wide` takes most of the space.
const ROWS: &str = "create table t (id int, kind int, wide text) with (storage = column);
    insert into t select i, i % 1000, md5(i::text) || md5((i + 1)::text)
        from generate_series(1, 300000) i";

/// The number behind a word of a line.
fn number(line: &str, word: &str) -> u64 {
    let rest =
        &line[line.find(word).unwrap_or_else(|| panic!("no {word} in {line}")) + word.len()..];
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Runs `query` without a cached page; the line of its scan, and the bytes that this read.
fn scanned(scratch: &Scratch, mode: ExecutionMode, query: &str) -> (String, u64) {
    let mut session = scratch.session();
    session.settings().execution_mode = mode;
    scratch.db().drop_cache().unwrap();
    let plan = lines(&mut session, &format!("explain analyze {query}"));
    let scan = plan.iter().find(|line| line.contains("Column Scan")).unwrap();
    (scan.clone(), number(scan, "bytes="))
}

#[test]
fn bounds_say_which_chunks_and_vectors_need_not_be_read() {
    let scratch = Scratch::new("bounds");
    scratch.session().execute(ROWS).unwrap();
    for mode in ExecutionMode::ALL {
        let (all, all_bytes) = scanned(&scratch, mode, "select sum(length(wide)) from t");
        let chunks = number(&all, " of ");
        assert!(chunks > 2, "{all}");
        assert_eq!(number(&all, "chunks="), chunks, "{all}");
        let vectors = &all[all.find("vectors=").unwrap()..];
        assert_eq!(number(vectors, "vectors="), number(vectors, " of "), "{all}");
        assert!(all_bytes > 300_000 * 32, "{all}");
        let (few, few_bytes) =
            scanned(&scratch, mode, "select wide from t where id between 150000 and 150010");
        assert!(few.contains("actual rows=11 "), "{few}");
        assert_eq!(number(&few, "chunks="), 1, "{few}");
        assert!(number(&few, "vectors=") <= 4, "{few}");
        assert!(few_bytes < all_bytes / 8, "{few}: {few_bytes} of {all_bytes}");
        let (one, one_bytes) = scanned(&scratch, mode, "select sum(kind) from t");
        assert_eq!(number(&one, "chunks="), chunks, "{one}");
        assert!(one_bytes < all_bytes / 8, "{one}: {one_bytes} of {all_bytes}");
        let (none, _) = scanned(&scratch, mode, "select wide from t where id > 300000");
        assert_eq!(number(&none, "chunks="), 0, "{none}");
    }
}

#[test]
fn joins_say_which_rows_need_not_be_read() {
    const FEW: &str = "create table s (id int, kind int) with (storage = column);
        insert into s select i, 7 from generate_series(150000, 150009) i; analyze";
    let scratch = Scratch::new("joins");
    scratch.session().execute(ROWS).unwrap();
    scratch.session().execute(FEW).unwrap();
    let of_t = |mode, query: &str| {
        let mut session = scratch.session();
        session.settings().execution_mode = mode;
        scratch.db().drop_cache().unwrap();
        let plan = lines(&mut session, &format!("explain analyze {query}"));
        let scan = plan.iter().find(|line| line.contains("Column Scan on t"));
        scan.unwrap_or_else(|| panic!("{plan:#?}")).clone()
    };
    for mode in ExecutionMode::ALL {
        let (_, all_bytes) = scanned(&scratch, mode, "select sum(length(wide)) from t");
        for query in [
            "select sum(length(wide)) from t join s on t.id = s.id",
            "select sum(length(wide)) from t where id in (select id from s)",
            "select s.id from s join (select id, max(wide) w from t group by id) g on g.id = s.id",
        ] {
            let scan = of_t(mode, query);
            assert!(scan.contains("actual rows=10 "), "{query}: {scan}");
            assert_eq!(number(&scan, "chunks="), 1, "{query}: {scan}");
            assert!(number(&scan, "bytes=") < all_bytes / 8, "{query}: {scan}");
            assert!(number(&scan, "dropped=") > 0, "{query}: {scan}");
        }
        let kinds = of_t(mode, "select count(*) from t join s on t.kind = s.kind");
        assert!(kinds.contains("actual rows=300 "), "{kinds}");
        // The others are in vectors without a row of this kind.
        assert!(number(&kinds, "dropped=") > 250_000, "{kinds}");
        let outer = of_t(mode, "select count(wide) from t left join s on t.id = s.id");
        assert!(outer.contains("actual rows=300000 "), "{outer}");
    }
}

#[test]
fn statements_change_rows_wherever_they_are() {
    let scratch = Scratch::new("changes");
    let mut session = scratch.session();
    session.execute(ROWS).unwrap();
    let mut check = |statement: &str, wanted: &str| {
        session.execute(statement).unwrap();
        let found = lines(&mut session, "select count(*), sum(id) from t");
        assert_eq!(found, [wanted], "{statement}");
    };
    check("delete from t where id % 2 = 0", "150000|22500000000");
    check("insert into t values (-1, 1, 'one')", "150001|22499999999");
    check("update t set wide = 'new' where id < 1000", "150001|22499999999");
    check("update t set id = id - 1 where wide = 'new'", "150001|22499999498");
    check("delete from t where wide = 'new' and id < 0", "150000|22499999500");
    check("begin; delete from t; rollback", "150000|22499999500");
    check("reorganize table t", "150000|22499999500");
    check("insert into t select 1, 0, '' from generate_series(1, 50000)", "200000|22500049500");
    check("truncate t", "0|NULL");
    scratch.check();
}

/// Statements that each leave every question of [`QUESTIONS`] with one of its answers.
const WRITES: [&str; 7] = [
    "delete from c where k = 5",
    "insert into c select i * 20 + 5, 5, 100 from generate_series(0, 1999) i",
    "reorganize table c",
    "update c set v = case when id < 20000 then v - 1 else v + 1 end where k = 7",
    "update c set v = 100 where k = 7",
    "delete from c where k = 99",
    "reorganize table c",
];

/// Questions, with all the answers that they may have.
const QUESTIONS: [(&str, &[&str]); 4] = [
    ("select count(v) from c where k = 5", &["0", "2000"]),
    ("select sum(v) from c where k = 7", &["200000"]),
    ("select count(*) || ' ' || count(distinct id) from c where k >= 9", &["22000 22000"]),
    ("select sum(v) || ' ' || count(*) from c where id >= 0", &["4000000 40000", "3800000 38000"]),
];

/// Rounds of all questions of each reader.
const ROUNDS: usize = 20;

#[test]
fn readers_see_each_statement_whole_or_not_at_all() {
    let scratch = Scratch::new("readers");
    let rows = "create table c (id int, k int, v int) with (storage = column);
        insert into c select i, i % 20, 100 from generate_series(0, 39999) i; reorganize table c";
    scratch.session().execute(rows).unwrap();
    std::thread::scope(|scope| {
        let reader = |mode: ExecutionMode| {
            let mut session = scratch.session();
            session.settings().execution_mode = mode;
            move || {
                for _ in 0..ROUNDS {
                    for (question, answers) in QUESTIONS {
                        let found = lines(&mut session, question);
                        assert!(answers.contains(&found[0].as_str()), "{question}: {found:?}");
                    }
                }
            }
        };
        let readers: Vec<_> = ExecutionMode::ALL.map(|mode| scope.spawn(reader(mode))).into();
        let mut writer = scratch.session();
        while readers.iter().any(|reader| !reader.is_finished()) {
            WRITES.iter().for_each(|write| drop(writer.execute(write).unwrap()));
        }
    });
    scratch.check();
}

#[test]
fn everything_is_there_after_the_file_was_closed() {
    let mut scratch = Scratch::new("reopened");
    scratch.session().execute(ROWS).unwrap();
    let changes = "delete from t where id between 1000 and 1999; insert into t values (0, 0, null);
        update t set kind = -1 where id = 5";
    scratch.session().execute(changes).unwrap();
    let query = "select count(*), sum(id), sum(kind), sum(length(wide)) from t";
    let before = lines(&mut scratch.session(), query);
    scratch.reopen();
    assert_eq!(lines(&mut scratch.session(), query), before);
    scratch.session().execute("insert into t select * from t where id < 5000").unwrap();
    let counts = "select count(*), count(distinct id) from t";
    assert_eq!(lines(&mut scratch.session(), counts), ["303001|299001"]);
    scratch.reopen();
    assert_eq!(lines(&mut scratch.session(), counts), ["303001|299001"]);
    let kind = "select amname from pg_class c join pg_am a on a.oid = relam where relname = 't'";
    assert_eq!(lines(&mut scratch.session(), kind), ["column"]);
    scratch.check();
}

#[test]
fn a_load_that_is_taken_back_leaves_nothing() {
    let mut scratch = Scratch::new("taken-back");
    let mut session = scratch.session();
    session.execute("create table t (a int not null, b text) with (storage = column)").unwrap();
    let load = "insert into t select i, md5(i::text) from generate_series(1, 200000) i";
    session.execute(&format!("begin; savepoint s; {load}")).unwrap();
    assert_eq!(lines(&mut session, "select count(*) from t"), ["200000"]);
    session.execute("rollback to s").unwrap();
    assert_eq!(lines(&mut session, "select count(*) from t"), ["0"]);
    session.execute("rollback").unwrap();
    let refused = load.replace("select i,", "select nullif(i, 199999),");
    assert_eq!(session.execute(&refused).unwrap_err().state.to_string(), "23502");
    assert_eq!(lines(&mut session, "select count(*) from t"), ["0"]);
    drop(session);
    scratch.reopen();
    scratch.session().execute("insert into t values (1, 'one')").unwrap();
    let report = scratch.db().check().unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    // What the loads took is free: the rest is the log and a few trees of a page.
    let log = (scratch.db().log_usage().1 / scratch.db().page_bytes()) as u64;
    let used = scratch.db().page_count() - report.free_pages - log;
    assert!(used < 64, "{used} pages for one row");
}

/// Text that no encoding makes shorter by much.
fn noise(seed: &mut u64, count: usize) -> String {
    let mut next = || {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (*seed >> 58) as u8)
    };
    // `\` is the escape of COPY.
    (0..count).map(|_| next()).map(|c| if c == '\\' { '~' } else { c }).collect()
}

#[test]
fn wide_rows_go_into_as_many_chunks_as_they_need() {
    let scratch = Scratch::new("wide");
    let rows = scratch.path.with_extension("rows");
    // More than one value of the store has, in a batch and in a few rows.
    for (count, width) in [(4096, 20_000), (3, 30 << 20)] {
        let mut seed = 1;
        let text: String =
            (0..count).map(|i| format!("{i}\t{}\n", noise(&mut seed, width))).collect();
        std::fs::write(&rows, text).unwrap();
        let mut session = scratch.session();
        session.execute("create table t (id int, wide text) with (storage = column)").unwrap();
        session.execute(&format!("copy t from '{}'", rows.display())).unwrap();
        let found = lines(&mut session, "select count(*), sum(id), sum(length(wide)) from t");
        assert_eq!(found, [format!("{count}|{}|{}", count * (count - 1) / 2, count * width)]);
        session.execute("drop table t").unwrap();
    }
    std::fs::remove_file(&rows).unwrap();
}

#[test]
fn what_column_tables_cannot_be_is_refused() {
    let scratch = Scratch::new("refused");
    let mut session = scratch.session();
    session.execute("create table c (a int, b text) with (storage = column)").unwrap();
    for (statement, state) in [
        ("create table x (a int) with (storage = paper)", "22023"),
        ("create table x () with (storage = column)", "0A000"),
        ("create table x (a int primary key, b int primary key) with (storage = column)", "42P16"),
        ("create table x (a int references c) with (storage = column)", "42704"),
        ("insert into c values (1) on conflict (a) do nothing", "42P10"),
        ("set default_table_storage = paper", "22023"),
    ] {
        let error = session.execute(statement).expect_err(statement);
        assert_eq!(error.state.to_string(), state, "{statement}: {error}");
        assert!(error.hint.is_some() || state.starts_with("42"), "{statement}: {error}");
    }
    assert_eq!(lines(&mut session, "select count(*) from c"), ["0"]);
}
