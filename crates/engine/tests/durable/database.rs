//! The embedded database through SQL: what is written is there after a restart, what fails leaves
//! no trace, and bad files are refused with a clear error.

use std::path::PathBuf;

use engine::{Database, Options, RingKind, Session, SqlError, SqlState, StatementResult};
use types::text::format_value;

#[test]
fn pages_have_the_size_chosen_at_creation() {
    for (wanted, bytes) in [(None, 4096), (Some(8192), 8192), (Some(16_384), 16_384)] {
        let folder = Folder::new(&format!("pages-{bytes}"));
        let with = |page_bytes| Options { page_bytes, ..options() };
        let db = Database::create(&folder.file(), with(wanted)).unwrap();
        let text = "create table t (k int primary key, w text); create index t_w on t (w);
            insert into t select i, repeat('w' || i, 40) from generate_series(1, 5000) g (i)";
        db.session().execute(text).unwrap();
        db.close().unwrap();
        let other = Database::open(&folder.file(), with(Some(32_768))).map(|_| ()).unwrap_err();
        assert_eq!(other.state, SqlState::INVALID_PARAMETER_VALUE, "{other}");
        // Whoever asks for nothing, or for what is there, gets it.
        for again in [None, Some(bytes)] {
            let db = Database::open(&folder.file(), with(again)).unwrap();
            let mut session = db.session();
            assert_eq!(query(&mut session, "show block_size"), [[bytes.to_string()]]);
            assert_eq!(
                query(&mut session, "select count(*), min(k) from t where w > 'w2'")[0][1],
                "2"
            );
            db.close().unwrap();
        }
    }
}

#[test]
fn pages_of_odd_sizes_are_refused() {
    for bytes in [0, 1000, 2048, 12_288, 65_536] {
        let folder = Folder::new(&format!("odd-pages-{bytes}"));
        let options = Options { page_bytes: Some(bytes), ..options() };
        let error = Database::create(&folder.file(), options).map(|_| ()).unwrap_err();
        assert_eq!(error.state, SqlState::INVALID_PARAMETER_VALUE, "{error}");
        assert!(!folder.file().exists());
    }
}

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("dovetail-database-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&path).ok();
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("t.dovetail")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn options() -> Options {
    Options { memory_bytes: 8 << 20, workers: 2, ring: RingKind::Auto, ..pg::options() }
}

fn query(session: &mut Session, text: &str) -> Vec<Vec<String>> {
    let Some(StatementResult::Rows(result)) = session.execute(text).unwrap().pop() else {
        panic!("no rows: {text}")
    };
    let mut rows = vec![];
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            let cell = |c| format_value(c, row).unwrap_or_else(|| "null".to_owned());
            rows.push(batch.columns().iter().map(|c| cell(c.as_ref())).collect());
        }
    }
    rows
}

fn error(session: &mut Session, text: &str) -> SqlError {
    session.execute(text).expect_err(text)
}

const TABLE: &str = "create table t (a bigint primary key, b text, c numeric(10,2));
     create index t_b on t (b)";

#[test]
fn rows_are_there_after_a_restart() {
    let folder = Folder::new("restart");
    let db = Database::create(&folder.file(), options()).unwrap();
    let mut session = db.session();
    session.execute(TABLE).unwrap();
    session
        .execute("insert into t values (2, 'two', 2.50), (1, null, 1), (3, 'two', null)")
        .unwrap();
    session.execute("analyze t").unwrap();
    drop(session);
    db.close().unwrap();

    let db = Database::open(&folder.file(), options()).unwrap();
    let mut session = db.session();
    for mode in ["serial", "static", "ooo"] {
        session.execute(&format!("set execution_mode = {mode}")).unwrap();
        let rows = query(&mut session, "select a, b, c from t order by a");
        assert_eq!(rows, [["1", "null", "1.00"], ["2", "two", "2.50"], ["3", "two", "null"]]);
        let rows = query(&mut session, "select a from t where b = 'two' order by a");
        assert_eq!(rows, [["2"], ["3"]]);
    }
    drop(session);
    db.verify().unwrap();
    db.close().unwrap();
}

#[test]
fn a_failed_statement_leaves_no_trace() {
    let folder = Folder::new("atomic");
    let db = Database::create(&folder.file(), options()).unwrap();
    let mut session = db.session();
    session.execute(TABLE).unwrap();
    session.execute("insert into t values (1, 'one', 1)").unwrap();
    let duplicate = error(&mut session, "insert into t values (2, 'x', 2), (1, 'y', 2)");
    assert_eq!(duplicate.state, SqlState::UNIQUE_VIOLATION);
    let twice = error(&mut session, "insert into t values (5, 'x', 2), (5, 'y', 2)");
    assert_eq!(twice.state, SqlState::UNIQUE_VIOLATION);
    let null = error(&mut session, "insert into t values (null, 'x', 2)");
    assert_eq!(null.state, SqlState::NOT_NULL_VIOLATION);
    let wide = error(&mut session, "insert into t values (7, 'x', 123456789.00)");
    assert_eq!(wide.state, SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    assert_eq!(query(&mut session, "select count(*) from t"), [["1"]]);
    assert_eq!(query(&mut session, "select a from t where b = 'x'").len(), 0);
    db.verify().unwrap();
}

#[test]
fn copy_takes_all_rows_or_none() {
    let folder = Folder::new("copy");
    let db = Database::create(&folder.file(), options()).unwrap();
    let mut session = db.session();
    session.execute(TABLE).unwrap();
    let path = folder.0.join("rows.csv");
    let copy = format!("copy t from '{}' with (format csv, header)", path.display());
    let mut text = "a,b,c\n".to_owned();
    for i in 0..50_000 {
        text += &format!("{},\"name {}\",{}.5\n", (i * 7919) % 50_000, i % 100, i);
    }
    std::fs::write(&path, format!("{text}x,bad,1\n")).unwrap();
    let bad = error(&mut session, &copy);
    assert_eq!(bad.state, SqlState::INVALID_TEXT_REPRESENTATION);
    assert!(bad.context().expect("where it is").contains("COPY t, line 50002"), "{bad}");
    assert_eq!(query(&mut session, "select count(*) from t"), [["0"]]);

    std::fs::write(&path, &text).unwrap();
    session.execute(&copy).unwrap();
    assert_eq!(query(&mut session, "select count(*), sum(a) from t"), [["50000", "1249975000"]]);
    assert_eq!(query(&mut session, "select count(*) from t where b = 'name 7'"), [["500"]]);
    let again = error(&mut session, &copy);
    assert_eq!(again.state, SqlState::UNIQUE_VIOLATION);
    session.execute("insert into t values (50000, 'name 7', 0)").unwrap();
    assert_eq!(query(&mut session, "select count(*) from t where b = 'name 7'"), [["501"]]);
    db.verify().unwrap();
}

#[test]
fn tables_and_indexes_come_and_go() {
    let folder = Folder::new("ddl");
    let db = Database::create(&folder.file(), options()).unwrap();
    let mut session = db.session();
    session
        .execute("create table u (x int, y int); insert into u values (1, 1), (1, 2), (2, 1)")
        .unwrap();
    let unique = error(&mut session, "create unique index u_x on u (x)");
    assert_eq!(unique.state, SqlState::UNIQUE_VIOLATION);
    session.execute("create index u_x on u (x); create unique index u_xy on u (x, y)").unwrap();
    assert_eq!(query(&mut session, "select y from u where x = 1 order by y"), [["1"], ["2"]]);
    let exists = error(&mut session, "create table u (z int)");
    assert_eq!(exists.state, SqlState::DUPLICATE_TABLE);
    session.execute("create table if not exists u (z int)").unwrap();
    let full = error(&mut session, "insert into u values (2, 1)");
    assert_eq!(full.state, SqlState::UNIQUE_VIOLATION);
    session.execute("drop index u_xy; insert into u values (2, 1); drop table u").unwrap();
    assert_eq!(error(&mut session, "select * from u").state, SqlState::UNDEFINED_TABLE);
    assert_eq!(error(&mut session, "drop table u").state, SqlState::UNDEFINED_TABLE);
    session.execute("drop table if exists u").unwrap();
    db.verify().unwrap();
}

#[test]
fn a_second_opener_is_refused() {
    let folder = Folder::new("lock");
    let db = Database::create(&folder.file(), options()).unwrap();
    let refused = Database::open(&folder.file(), options()).err().unwrap();
    assert_eq!(refused.state, SqlState::OBJECT_IN_USE);
    assert!(refused.hint.is_some());
    db.close().unwrap();
    Database::open(&folder.file(), options()).unwrap().close().unwrap();
}

#[test]
fn damaged_files_are_refused() {
    let folder = Folder::new("damage");
    let db = Database::create(&folder.file(), options()).unwrap();
    db.session().execute(TABLE).unwrap();
    db.session().execute("insert into t values (1, 'one', 1)").unwrap();
    db.close().unwrap();
    let good = std::fs::read(folder.file()).unwrap();

    std::fs::write(folder.file(), b"select 1").unwrap();
    let text = Database::open(&folder.file(), options()).err().unwrap();
    assert_eq!(text.state, SqlState::DATA_CORRUPTED, "{text}");
    std::fs::write(folder.file(), &good[..3 * 4096]).unwrap();
    let short = Database::open(&folder.file(), options()).err().unwrap();
    assert_eq!(short.state, SqlState::DATA_CORRUPTED, "{short}");
    let missing = Database::open(&folder.0.join("none"), options()).err().unwrap();
    assert_eq!(missing.state, SqlState::UNDEFINED_FILE, "{missing}");

    let mut detected = 0;
    for page in 2..good.len() / 4096 {
        let mut bad = good.clone();
        bad[page * 4096 + 100] ^= 0x10;
        std::fs::write(folder.file(), &bad).unwrap();
        let Ok(db) = Database::open(&folder.file(), options()) else {
            detected += 1;
            continue;
        };
        let rows = db.session().execute("select a, b from t where a = 1");
        match (rows, db.verify()) {
            (Err(error), _) | (_, Err(error)) => {
                assert_eq!(error.state, SqlState::DATA_CORRUPTED);
                detected += 1;
            }
            (Ok(_), Ok(_)) => {} // a free page
        }
    }
    assert!(detected >= 3, "only {detected} flips were seen");
}

#[test]
fn errors_in_queries_end_the_query_only() {
    let folder = Folder::new("errors");
    let db = Database::create(&folder.file(), options()).unwrap();
    let mut session = db.session();
    session.execute(TABLE).unwrap();
    session.execute("insert into t values (1, 'one', 1), (0, 'zero', 0)").unwrap();
    for mode in ["serial", "static", "ooo"] {
        session.execute(&format!("set execution_mode = {mode}")).unwrap();
        assert_eq!(error(&mut session, "select 1 / a from t").state, SqlState::DIVISION_BY_ZERO);
        assert_eq!(
            error(&mut session, "select a + 9223372036854775807 from t").state,
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE
        );
        assert_eq!(error(&mut session, "selec 1").state, SqlState::SYNTAX_ERROR);
        assert_eq!(error(&mut session, "select z from t").state, SqlState::UNDEFINED_COLUMN);
        assert_eq!(query(&mut session, "select count(*) from t"), [["2"]]);
    }
    let setting = error(&mut session, "set execution_mod = serial");
    assert_eq!(setting.state, SqlState::UNDEFINED_OBJECT);
    assert!(setting.hint.unwrap().contains("execution_mode"));
}
