//! Sequences across crashes and sessions: no number is given out twice.

use std::collections::BTreeSet;
use std::path::PathBuf;

use engine::{Database, Options, Session, StatementResult};
use types::text::format_value;

/// A database file in a folder that goes at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("dovetail-sequences-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("t.dovetail")
    }

    /// The database as a crash at this moment would leave it.
    fn after_a_crash(&self) -> Database {
        let copy = self.0.join("copy.dovetail");
        std::fs::copy(self.file(), &copy).expect("a copy");
        Database::open(&copy, options()).expect("the copy opens")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn options() -> Options {
    Options { memory_bytes: 4 << 20, workers: 2, ..pg::options() }
}

fn number(session: &mut Session, text: &str) -> i64 {
    let Some(StatementResult::Rows(result)) = session.execute(text).expect(text).pop() else {
        panic!("no rows: {text}")
    };
    let value = format_value(result.batches[0].column(0), 0).expect("a number");
    value.parse().expect("a number")
}

#[test]
fn a_crash_gives_no_number_out_again() {
    let folder = Folder::new("sequence-crash");
    let db = Database::create(&folder.file(), options()).expect("created");
    let mut session = db.session();
    session.execute("create sequence s; create table t (id serial, a int)").expect("created");
    for round in 0..70 {
        let given = number(&mut session, "select nextval('s')");
        let of_column = match round % 3 {
            0 => number(&mut session, "insert into t (a) values (1) returning id"),
            _ => number(&mut session, "select nextval('t_id_seq')"),
        };
        assert_eq!((given, of_column), (round + 1, round + 1));
        if [0, 1, 31, 32, 33, 34, 69].contains(&round) {
            let mut crashed = folder.after_a_crash().session();
            let next = number(&mut crashed, "select nextval('s')");
            assert!((given + 1..=given + 33).contains(&next), "{next} after {given}");
            let next = number(&mut crashed, "insert into t (a) values (1) returning id");
            assert!((of_column + 1..=of_column + 33).contains(&next), "{next} after {of_column}");
        }
    }
}

#[test]
fn what_is_set_stays_set() {
    let folder = Folder::new("sequence-set");
    let db = Database::create(&folder.file(), options()).expect("created");
    let mut session = db.session();
    session.execute("create sequence s").expect("created");
    number(&mut session, "select nextval('s')");
    assert_eq!(number(&mut session, "select setval('s', 1000)"), 1000);
    assert!(number(&mut folder.after_a_crash().session(), "select nextval('s')") > 1000);
    number(&mut session, "select setval('s', 5, false)");
    assert_eq!(number(&mut folder.after_a_crash().session(), "select nextval('s')"), 5);
}

#[test]
fn a_restart_goes_on_where_rows_ended() {
    let folder = Folder::new("sequence-restart");
    let db = Database::create(&folder.file(), options()).expect("created");
    db.session()
        .execute(
            "create table t (id serial, a int); insert into t (a) values (1), (2), (3);
             create sequence s; select nextval('s'), nextval('s')",
        )
        .expect("rows");
    db.close().expect("closed");
    let db = Database::open(&folder.file(), options()).expect("opened");
    let next = number(&mut db.session(), "insert into t (a) values (4) returning id");
    assert_eq!(next, 4);
    assert_eq!(number(&mut db.session(), "select nextval('s')"), 3);
}

#[test]
fn sessions_at_once_get_different_numbers() {
    let folder = Folder::new("sequence-sessions");
    let db = Database::create(&folder.file(), options()).expect("created");
    db.session().execute("create sequence s cycle").expect("created");
    let take = |mut session: Session| {
        let taken = (0..100).map(|_| number(&mut session, "select nextval('s')"));
        let taken: Vec<i64> = taken.collect();
        assert!(taken.is_sorted());
        taken
    };
    let sessions: Vec<_> = (0..4).map(|_| db.session()).collect();
    let all: Vec<i64> = std::thread::scope(|scope| {
        let threads: Vec<_> = sessions.into_iter().map(|s| scope.spawn(move || take(s))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    });
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 400);
    assert_eq!(all.iter().max(), Some(&400));
}
