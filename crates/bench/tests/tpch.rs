//! All 22 queries in all modes on both rings give the rows of an independent engine.
#![allow(clippy::disallowed_methods)] // tests prepare files of their own

use bench::answers::Scale;
use bench::tpch;
use engine::{Database, ExecutionMode, Options, RingKind, TableStorage};

fn verify(ring: RingKind, storage: TableStorage) {
    let folder = std::env::temp_dir().join(format!(
        "dovetail-tpch-{ring:?}-{}-{}",
        storage.name(),
        std::process::id()
    ));
    std::fs::create_dir_all(&folder).unwrap();
    // A quarter of the data: pages come and go.
    let options = Options { memory_bytes: 5 << 20, ring, workers: 2, ..pg::options() };
    let db = match Database::create(&folder.join("t.dovetail"), options) {
        Ok(db) => db,
        Err(error) if ring == RingKind::Uring => {
            println!("SKIPPED: io_uring is not to be had here: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    tpch::load(&db, 0.01, storage, None, |_| ()).unwrap();
    let all: Vec<u8> = (1..=22).collect();
    let mut failures = vec![];
    let mut count = 0;
    tpch::verify(&mut db.session(), Scale::Hundredth, &all, &ExecutionMode::ALL, |check| {
        count += 1;
        if let Some(why) = check.failure {
            failures.push(format!("q{:02} {}: {why}", check.query, check.mode.name()));
        }
    });
    let checked = db.check().unwrap();
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    db.close().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(count, 66);
    assert!(failures.is_empty(), "{} of {count} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn answers_agree_on_uring() {
    verify(RingKind::Uring, TableStorage::Row);
}

#[test]
fn answers_agree_on_threads() {
    verify(RingKind::Threads, TableStorage::Row);
}

#[test]
fn answers_agree_on_column_tables_on_uring() {
    verify(RingKind::Uring, TableStorage::Column);
}

#[test]
fn answers_agree_on_column_tables_on_threads() {
    verify(RingKind::Threads, TableStorage::Column);
}
