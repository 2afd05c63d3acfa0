//! A check finds what is damaged and says where; reorganising changes nothing but the trees.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use engine::{CheckReport, Database, Options, RingKind, StatementResult, probe_damage};
use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{Direction, Store, StoreOptions};

fn options() -> Options {
    let (ring, workers) = (RingKind::Threads, 2);
    Options { memory_bytes: 8 << 20, ring, workers, direct: false, ..pg::options() }
}

/// A database with a table of 3,000 rows, long values among them, and an index.
fn create(name: &str) -> PathBuf {
    let name = format!("dovetail-check-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let db = Database::create(&path, options()).unwrap();
    let mut session = db.session();
    let statements = "create table t (a int primary key, b int, c text);
        create index t_b on t (b);
        insert into t select i, i % 7, case when i % 500 = 0 then repeat('x', 9000) else 'y' end
            from generate_series(1, 3000) as g (i)";
    session.execute(statements).unwrap();
    db.close().unwrap();
    path
}

fn check(path: &Path) -> CheckReport {
    assert_eq!(probe_damage(path, &options()).unwrap(), None);
    Database::open(path, options()).unwrap().check().unwrap()
}

/// Changes the index's tree below the engine: its entries have no values.
fn tamper(path: &Path, adds: bool) {
    let path = path.to_path_buf();
    let config = Config { workers: 1, ring: RingChoice::Threads, ..Config::default() };
    Runtime::start(config).unwrap().block_on(move || async move {
        let options =
            StoreOptions { pool_bytes: 4 << 20, direct: false, ..StoreOptions::default() };
        let store = Store::open(&path, options).await.unwrap();
        let (io, mut key) = (IoCounters::default(), vec![]);
        for id in store.tree_ids() {
            let tree = store.tree(id).unwrap();
            let all = std::ops::Bound::Unbounded;
            let leaf = tree.range(all, all, Direction::Forward).next(&io).await.unwrap();
            if leaf.is_some_and(|leaf| leaf.entry(0, &mut key).is_empty()) {
                match adds {
                    true => drop(tree.insert(&[255; 8], b"").await.unwrap()),
                    false => assert!(tree.delete(&key, &io).await.unwrap()),
                }
            }
        }
        store.checkpoint().await.unwrap();
        store.close().await;
    });
}

#[test]
fn a_sound_file_has_no_problems() {
    let path = create("sound");
    let report = check(&path);
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!((report.table_count, report.index_count, report.row_count), (1, 1, 3000));
    assert_eq!(report.overflow_pages, 6 * 3);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn an_index_that_disagrees_with_its_table_is_named() {
    let path = create("index");
    tamper(&path, false);
    assert_eq!(check(&path).problems, ["index \"t_b\": 2999 entries for 3000 rows"]);
    tamper(&path, true);
    assert_eq!(check(&path).problems, ["index \"t_b\": 1 of 3000 rows have no entry"]);
    std::fs::remove_file(&path).unwrap();
}

/// What `CHECK DATABASE` gives: its rows, and its notices.
fn check_by_statement(session: &mut engine::Session) -> (usize, Vec<String>) {
    let results = session.execute("check database").unwrap();
    let [StatementResult::Rows(rows)] = &results[..] else { panic!("{results:?}") };
    let notices = session.take_notices().into_iter().map(|notice| notice.message.message);
    (rows.row_count(), notices.collect())
}

#[test]
fn an_open_database_is_checked_by_a_statement() {
    let path = create("online");
    let db = Database::open(&path, options()).unwrap();
    let mut session = db.session();
    // What has just been written, and is in memory still, is looked at as well.
    session.execute("update t set b = b + 1; delete from t where a > 2900").unwrap();
    let (problems, notices) = check_by_statement(&mut session);
    assert_eq!(problems, 0);
    assert!(notices[0].contains("1 tables with 2900 rows, 1 indexes"), "{notices:?}");
    drop(session);
    db.close().unwrap();
    tamper(&path, false);
    let db = Database::open(&path, options()).unwrap();
    assert_eq!(check_by_statement(&mut db.session()), (1, vec![]));
    std::fs::remove_file(&path).unwrap();
}

/// Checks a database with one table that has no index, and cancels that in the middle of a job; how it ends.
fn cancelled_in(name: &str, setup: &str, job: &str) -> String {
    let name = format!("dovetail-check-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let db = Database::create(&path, options()).unwrap();
    let mut session = db.session();
    session.execute(setup).unwrap();
    session.execute("checkpoint").unwrap();
    let (handle, checked) = (session.cancel_handle(), std::sync::atomic::AtomicBool::new(false));
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !db.job().phase.starts_with(job) && !checked.load(Relaxed) {
                std::thread::yield_now();
            }
            handle.cancel();
        });
        let ended = session.execute("check database");
        checked.store(true, Relaxed);
        ended
    });
    drop(session);
    db.close().unwrap();
    std::fs::remove_file(&path).unwrap();
    ended.map_or_else(|error| error.state.0.to_owned(), |_| "it went to its end".to_owned())
}

#[test]
fn a_check_is_cancelled_in_the_middle_of_a_file_and_of_a_column_table() {
    let rows = "create table t (a text);
        insert into t select repeat('x', 900) from generate_series(1, 50000) as g (i)";
    assert_eq!(cancelled_in("cancelled-pages", rows, "checking pages"), "57014");
    let columns = "create table c (a int, b text, d int) with (storage = column);
        insert into c select i, i::text, i % 1000 from generate_series(1, 500000) as g (i)";
    assert_eq!(cancelled_in("cancelled-chunks", columns, "checking c"), "57014");
}

#[test]
fn damage_anywhere_is_found() {
    let path = create("flips");
    let sound = std::fs::read(&path).unwrap();
    let mut named = 0;
    for page in 2..sound.len() / 4096 {
        let mut bytes = sound.clone();
        bytes[page * 4096 + 2000] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let Ok(None) = probe_damage(&path, &options()) else { continue };
        let Ok(db) = Database::open(&path, options()) else { continue };
        let problems = db.check().unwrap().problems;
        named += usize::from(problems.iter().any(|p| p.starts_with("table \"t\": page")));
    }
    // Leaves, and the 18 pages of long values; free pages may hold anything.
    assert!(named > 30, "only {named} pages of the table were noticed");
    // The file is longer than its pages: it grows ahead of them.
    std::fs::write(&path, &sound[..sound.len() / 4]).unwrap();
    let truncated = probe_damage(&path, &options()).unwrap().expect("the file is too short");
    assert!(truncated.contains("truncated"), "{truncated}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_is_no_database_cannot_be_opened() {
    let missing = std::env::temp_dir().join("dovetail-check-nothing");
    assert!(probe_damage(&missing, &options()).is_err());
}

#[test]
fn reorganising_keeps_rows_and_fills_pages() {
    let path = create("reorganize");
    let db = Database::open(&path, options()).unwrap();
    let mut session = db.session();
    session.execute("delete from t where a % 10 <> 0").unwrap();
    let rows = |session: &mut engine::Session| {
        let text = "select count(*), sum(a), sum(length(c)), count(b) from t";
        match session.execute(text).unwrap().remove(0) {
            StatementResult::Rows(rows) => format!("{:?}", rows.batches),
            other => panic!("{other:?}"),
        }
    };
    let before = rows(&mut session);
    session.execute("reorganize table t; reorganize t").unwrap();
    assert_eq!(rows(&mut session), before);
    let report = db.check().unwrap();
    assert_eq!((report.problems, report.row_count), (vec![], 300));
    session.execute("insert into t values (5, 5, 'five')").unwrap();
    drop(session);
    db.close().unwrap();
    let db = Database::open(&path, options()).unwrap();
    assert_eq!(db.check().unwrap().row_count, 301);
    std::fs::remove_file(&path).unwrap();
}
