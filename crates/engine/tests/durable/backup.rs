//! Copies of a database that is in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};

use engine::{Database, Options, Session, StatementResult};
use types::text::format_value;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder =
            std::env::temp_dir().join(format!("dovetail-backup-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn options() -> Options {
    Options { memory_bytes: 24 << 20, ..pg::options() }
}

/// The first row of the last result, its values apart by `|`.
fn row(session: &mut Session, text: &str) -> String {
    let results = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Some(StatementResult::Rows(rows)) = results.last() else { panic!("{text} gives no rows") };
    let batch = rows.batches.iter().find(|batch| batch.num_rows() > 0).expect("a row");
    let value =
        |column: &arrow_array::ArrayRef| format_value(column, 0).unwrap_or_else(|| "NULL".into());
    batch.columns().iter().map(value).collect::<Vec<_>>().join("|")
}

fn refused(session: &mut Session, text: &str) -> String {
    session.execute(text).expect_err(text).state.to_string()
}

fn backup(path: &Path) -> String {
    format!("backup database to '{}'", path.display())
}

#[test]
fn a_copy_is_what_was_durable_while_others_write() {
    let scratch = Scratch::new("backup");
    let db = Database::create(&scratch.file("db"), options()).unwrap();
    let mut session = db.session();
    let setup = "create table account (id int primary key, balance bigint not null); \
                 insert into account select i, 100 from generate_series(0, 999) g(i); \
                 create table entry (id bigint generated always as identity primary key, amount int); \
                 create index entry_amount on entry (amount); \
                 create table column_table (a int, b text) with (storage = column); \
                 insert into column_table select i, 'text ' || i from generate_series(1, 50000) g(i)";
    session.execute(setup).unwrap();
    let (over, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
    let writers: Vec<_> = (0..3)
        .map(|number| {
            let (db, over, acknowledged) = (db.clone(), over.clone(), acknowledged.clone());
            std::thread::spawn(move || {
                let mut session = db.session();
                for turn in 0.. {
                    if over.load(SeqCst) {
                        return;
                    }
                    let (from, to) = (number * 300 + turn % 100, number * 300 + 100 + turn % 100);
                    let moved = format!(
                        "begin; update account set balance = balance - 1 where id = {from}; \
                         update account set balance = balance + 1 where id = {to}; \
                         insert into entry (amount) values ({turn}); commit"
                    );
                    session.execute(&moved).unwrap();
                    acknowledged.fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    for round in 0..4 {
        while acknowledged.load(SeqCst) < (round + 1) * 20 {
            std::thread::yield_now();
        }
        let before = acknowledged.load(SeqCst);
        let copy = scratch.file(&format!("copy{round}"));
        session.execute(&backup(&copy)).unwrap();
        let after = acknowledged.load(SeqCst);
        let copied = Database::open(&copy, options()).unwrap();
        let mut there = copied.session();
        let sums = "select count(*), sum(balance) from account";
        assert_eq!(row(&mut there, sums), "1000|100000", "no transaction is there in part");
        let entries: i64 = row(&mut there, "select count(*) from entry").parse().unwrap();
        // A transaction of each writer may be durable and not acknowledged yet.
        assert!((before..=after + 3).contains(&entries), "{before} <= {entries} <= {after} + 3");
        assert_eq!(row(&mut there, "select count(*), max(a) from column_table"), "50000|50000");
        assert!(copied.check().unwrap().problems.is_empty());
        there.execute("insert into entry (amount) values (1); create table more (a int)").unwrap();
        drop(there);
        copied.close().unwrap();
        // Definitions, and a checkpoint, between two copies.
        session
            .execute(&format!("create table round{round} as select 1 as a; checkpoint"))
            .unwrap();
    }
    over.store(true, SeqCst);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    drop(session);
    db.close().unwrap();
}

#[test]
fn a_copy_is_a_new_file_of_the_superuser() {
    let scratch = Scratch::new("backup-refused");
    let db = Database::create(&scratch.file("db"), options()).unwrap();
    let mut session = db.session();
    session.execute("create table t (a int)").unwrap();
    let copy = scratch.file("copy");
    for (text, state) in [
        ("backup database", "42601"),
        ("backup database to copy", "42601"),
        ("backup database to 'copy'", "42602"),
        ("backup database to '/no/such/folder/copy'", "58P01"),
    ] {
        assert_eq!(refused(&mut session, text), state, "{text}");
    }
    session.execute("begin").unwrap();
    assert_eq!(refused(&mut session, &backup(&copy)), "25001");
    session.execute("rollback").unwrap();
    assert!(!copy.exists());
    session.execute(&backup(&copy)).unwrap();
    assert_eq!(refused(&mut session, &backup(&copy)), "58P02");
    assert_eq!(refused(&mut session, &backup(&scratch.file("db"))), "58P02");
    session.execute("create role clerk; set role clerk").unwrap();
    assert_eq!(refused(&mut session, &backup(&scratch.file("other"))), "42501");
    assert!(!scratch.file("other").exists());
    drop(session);
    db.close().unwrap();
    Database::open(&copy, options()).unwrap().close().unwrap();
}
