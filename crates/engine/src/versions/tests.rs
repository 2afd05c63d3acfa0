//! Who watches sees which commits are not durable yet.

use crate::datum::Datum;
use crate::door;
use crate::options::Options;
use crate::result::StatementResult;
use crate::session::Session;
use crate::{Database, ResultSet};

fn count(session: &mut Session, text: &str) -> Datum {
    let mut results = session.execute(text).expect("a result");
    let Some(StatementResult::Rows(rows)) = results.pop() else { panic!("no rows") };
    ResultSet::rows(&rows).expect("values").remove(0).remove(0)
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test stands outside of the seam")]
fn a_session_whose_commit_is_not_durable_yet_waits_for_the_log() {
    let file = format!("dovetail-committing-{}.dovetail", std::process::id());
    let path = std::env::temp_dir().join(file);
    std::fs::remove_file(&path).ok();
    let options = Options { memory_bytes: 32 << 20, workers: 1, ..Options::default() };
    let db = Database::create(&path, options).expect("a database");
    let (mut writer, mut watcher) = (db.session(), db.session());
    writer.execute("create table t (id int primary key)").expect("a table");
    // Nothing becomes durable while somebody else publishes.
    let versions = db.versions().clone();
    let publishing = door::wait(&db.handle(), move || {
        Box::pin(async move { versions.publish_lock.acquire().await })
    });
    let writing = std::thread::spawn(move || writer.execute("insert into t values (1)"));
    let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'IO'
        and wait_event = 'WALSync' and state = 'active' and query like 'insert%'";
    while count(&mut watcher, waiting) != Datum::Int(1) {}
    drop(publishing);
    writing.join().expect("it ends").expect("it is durable");
    assert_eq!(count(&mut watcher, waiting), Datum::Int(0));
    assert_eq!(count(&mut watcher, "select count(*) from t"), Datum::Int(1));
    drop(watcher);
    db.close().expect("closed");
    std::fs::remove_file(&path).ok();
}
