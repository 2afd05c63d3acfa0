//! Temporary tables go with the process that had them, however it ends, and nobody falls over what is
//! left of them.

use std::path::{Path, PathBuf};

use engine::{Database, Options};

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dovetail-temporary-{name}-{}", std::process::id()))
}

fn options() -> Options {
    Options { memory_bytes: 4 << 20, workers: 2, ..pg::options() }
}

/// The database as a crash at this moment would leave it.
fn after_a_crash(file: &Path, name: &str) -> (Database, PathBuf) {
    let copy = path(name);
    std::fs::copy(file, &copy).expect("a copy");
    (Database::open(&copy, options()).expect("the copy opens"), copy)
}

#[test]
fn a_crash_leaves_nothing_of_temporary_tables_that_later_processes_mind() {
    let file = path("first");
    std::fs::remove_file(&file).ok();
    let db = Database::create(&file, options()).expect("created");
    let mut session = db.session();
    let made = "create temp table x (a int); insert into x values (1); create table t (a int)";
    session.execute(made).expect("made");
    let mut files = vec![file.clone()];
    // Each process drops what is left with its first change, and ends by a crash.
    for round in 0..3 {
        let last = files.last().expect("a file");
        let (db, copy) = after_a_crash(last, &format!("crash-{round}"));
        let mut session = db.session();
        let gone = session.execute("select * from x").expect_err("the table went with its session");
        assert_eq!(gone.state.0, "42P01");
        session.execute("insert into t values (1)").expect("others write");
        session.execute("create temp table x (b int); insert into t values (2)").expect("again");
        let report = db.check().expect("checked");
        assert_eq!(report.problems, Vec::<String>::new());
        files.push(copy);
    }
    drop((session, db));
    files.iter().for_each(|file| std::fs::remove_file(file).expect("removed"));
}
