//! A backup and an archive lead to any moment: rows, definitions, loads, and what was never committed.
#![allow(clippy::disallowed_methods)] // tests prepare files of their own

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::{ArchiveOptions, Database, Options, Session, StatementResult, Until};
use types::text::format_value;

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn scratch(name: &str) -> Scratch {
    let folder = std::env::temp_dir().join(format!("dovetail-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    Scratch(folder)
}

fn options(archive: Option<&Path>) -> Options {
    let tell = Arc::new(|said: &str| println!("{said}"));
    let archive = archive.map(|folder| ArchiveOptions { folder: folder.to_owned(), tell });
    Options { memory_bytes: 24 << 20, archive, ..pg::options() }
}

fn row(session: &mut Session, text: &str) -> String {
    let results = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Some(StatementResult::Rows(rows)) = results.last() else { panic!("{text} gives no rows") };
    let batch = rows.batches.iter().find(|batch| batch.num_rows() > 0).expect("a row");
    let value =
        |column: &arrow_array::ArrayRef| format_value(column, 0).unwrap_or_else(|| "NULL".into());
    batch.columns().iter().map(value).collect::<Vec<_>>().join("|")
}

/// A moment between what was done and what is done next.
fn now() -> Until {
    std::thread::sleep(Duration::from_millis(2));
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    Until::Time(since.as_micros() as u64)
}

const TABLES: &str = "select string_agg(relname, ',' order by relname) from pg_class \
                      where relkind = 'r' and relnamespace = 'public'::regnamespace";

#[test]
fn each_moment_is_as_it_was() {
    let folder = scratch("restore");
    let [file, backup, archive, later] =
        ["db", "backup", "archive", "later"].map(|name| folder.0.join(name));
    let db = Database::create(&file, options(Some(&archive))).unwrap();
    let (mut session, mut other) = (db.session(), db.session());
    session.execute("create table t (a int primary key, b text)").unwrap();
    session.execute(&format!("backup database to '{}'", backup.display())).unwrap();
    session.execute("insert into t values (1, 'one')").unwrap();
    // Each statement, and what is asked after it: the count of rows and the tables.
    let steps = [
        "insert into t select i, 'many' from generate_series(2, 100) g(i)",
        "update t set b = 'other' where a % 2 = 0",
        "delete from t where a > 50; checkpoint",
        "create table loaded as select i as a from generate_series(1, 20000) g(i)",
        "alter table t add column c int default 7",
        "create table columns (a int) with (storage = column); \
         insert into columns select i from generate_series(1, 30000) g(i)",
        "drop table loaded",
        "begin; update t set c = 8; rollback; insert into t values (1000, 'last', 9)",
    ];
    let ask = "select count(*), min(b), max(a) from t";
    let mut moments = vec![];
    // A transaction that is open all the time, beside checkpoints: nobody ever sees it.
    other.execute("create table own (a int); begin; insert into own values (1)").unwrap();
    for (at, step) in steps.into_iter().enumerate() {
        if at == 3 {
            // Definitions are changed by one alone.
            other.execute("rollback").unwrap();
        }
        session.execute(step).unwrap();
        moments.push((now(), row(&mut session, ask), row(&mut session, TABLES)));
    }
    // What was committed last is what time leads to.
    let end = row(&mut session, ask);
    drop((session, other));
    db.close().unwrap();
    for (until, rows, tables) in moments.into_iter().rev() {
        std::fs::remove_file(&later).ok();
        let until = if rows == end { Until::End } else { until };
        engine::restore(&backup, &archive, until, &later, &options(None), &Arc::default()).unwrap();
        let restored = Database::open(&later, options(None)).unwrap();
        let mut session = restored.session();
        assert_eq!(row(&mut session, ask), rows);
        assert_eq!(row(&mut session, TABLES), tables);
        assert!(restored.check().unwrap().problems.is_empty());
        session.execute("insert into t (a, b) values (5000, 'goes on')").unwrap();
        drop(session);
        restored.close().unwrap();
    }
    let early =
        engine::restore(&backup, &archive, Until::Time(1), &later, &options(None), &Arc::default());
    assert_eq!(early.unwrap_err().message, "the moment lies before the backup");
}
