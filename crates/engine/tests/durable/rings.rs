//! The options of the rings, `sqpoll` and `iopoll`, each on and off: a database that is opened
//! with them answers through such rings, or is refused with the reason.

use std::path::PathBuf;

use engine::{Database, Options, RingKind, SqlError};

/// A file of its own, removed at the end.
struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str) -> TestFile {
        let file = format!("dovetail-rings-{name}-{}.dovetail", std::process::id());
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

fn options(ring: RingKind, sqpoll: bool, iopoll: bool) -> Options {
    Options { memory_bytes: 8 << 20, workers: 2, ring, sqpoll, iopoll, ..pg::options() }
}

/// Creates a database, writes, reads it back from the file, and says what its rings are.
fn rings_of_a_working_database(name: &str, options: Options) -> Result<Vec<String>, SqlError> {
    let file = TestFile::new(name);
    let db = Database::create(&file.0, options)?;
    let text = "create table t (k int primary key); insert into t select generate_series(1, 9000)";
    db.session().execute(text)?;
    db.drop_cache()?;
    db.session().execute("do_not_exist").unwrap_err();
    db.session().execute("select 1 / (count(*) - 8999) from t")?;
    let rings = db.rings().iter().map(|report| report.reason.clone()).collect();
    db.close()?;
    Ok(rings)
}

/// Whether this machine has io_uring; without it there is nothing to ask of it.
fn has_io_uring() -> bool {
    match rings_of_a_working_database("probe", options(RingKind::Uring, false, false)) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("skipped: {error}");
            false
        }
    }
}

#[test]
fn sqpoll_is_on_when_asked_for_and_off_otherwise() {
    for sqpoll in [false, true] {
        if !has_io_uring() {
            return;
        }
        let rings = rings_of_a_working_database("sqpoll", options(RingKind::Uring, sqpoll, false));
        let rings = rings.unwrap();
        assert_eq!(rings.len(), 2);
        assert!(rings.iter().all(|ring| ring.contains("SQPOLL") == sqpoll), "{rings:?}");
    }
}

#[test]
fn iopoll_is_on_or_refused_with_the_reason() {
    if !has_io_uring() {
        return;
    }
    let off = rings_of_a_working_database("polled", options(RingKind::Uring, false, false));
    assert!(!off.unwrap().iter().any(|ring| ring.contains("IOPOLL")));
    match rings_of_a_working_database("polled", options(RingKind::Uring, false, true)) {
        Ok(rings) => assert!(rings.iter().all(|ring| ring.contains("IOPOLL")), "{rings:?}"),
        Err(error) => assert!(error.to_string().contains("cannot be polled"), "{error}"),
    }
}

#[test]
fn polling_without_io_uring_is_refused() {
    for (sqpoll, iopoll) in [(true, false), (false, true)] {
        let error = rings_of_a_working_database("none", options(RingKind::Threads, sqpoll, iopoll));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("the ring must be `uring`"), "{error}");
    }
    let both = rings_of_a_working_database("both", options(RingKind::Uring, true, true));
    assert!(both.unwrap_err().to_string().contains("cannot be combined"));
}
