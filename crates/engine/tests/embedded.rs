//! Transactions of programs that embed the engine.
#![allow(clippy::disallowed_methods)] // tests prepare files of their own

use std::path::PathBuf;

use engine::{Database, Isolation, Options, SqlState, StatementResult, TransactionOptions};
use types::text::format_value;

struct Opened {
    path: PathBuf,
    db: Option<Database>,
}

impl Opened {
    fn new(name: &str) -> Opened {
        let file = format!("dovetail-embedded-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        let options = Options { memory_bytes: 16 << 20, workers: 2, ..Options::default() };
        let db = Database::create(&path, options).unwrap();
        let setup = "create table t (id int primary key, v int); insert into t values (1, 10)";
        db.session().execute(setup).unwrap();
        Opened { path, db: Some(db) }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().unwrap()
    }

    fn value(&self) -> i64 {
        first(&self.db().session().execute("select v from t where id = 1").unwrap())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.db.take();
        std::fs::remove_file(&self.path).ok();
    }
}

fn first(results: &[StatementResult]) -> i64 {
    let Some(StatementResult::Rows(rows)) = results.last() else { panic!("no rows") };
    format_value(rows.batches[0].column(0), 0).unwrap().parse().unwrap()
}

#[test]
fn what_returns_is_committed_and_what_fails_is_not() {
    let opened = Opened::new("whole");
    let options = TransactionOptions::default();
    let found = opened.db().transaction(&options, async |tx| {
        tx.run_all("update t set v = v + 1 where id = 1").await?;
        tx.run_all("select v from t where id = 1").await.map(|found| first(&found))
    });
    assert_eq!((found.unwrap(), opened.value()), (11, 11));
    let failed = opened.db().transaction(&options, async |tx| {
        tx.run_all("update t set v = 0 where id = 1").await?;
        tx.run_all("insert into t values (1, 1)").await
    });
    assert_eq!((failed.unwrap_err().state, opened.value()), (SqlState::UNIQUE_VIOLATION, 11));
    // Who takes no notice of an error commits nothing either.
    let ignored = opened.db().transaction(&options, async |tx| {
        tx.run_all("update t set v = 0 where id = 1").await?;
        tx.run_all("select 1 / 0").await.ok();
        Ok(())
    });
    let state = ignored.unwrap_err().state;
    assert_eq!((state, opened.value()), (SqlState::IN_FAILED_TRANSACTION, 11));
}

#[test]
fn a_conflict_is_tried_again() {
    let opened = Opened::new("again");
    let adds = |attempts| {
        let options = TransactionOptions {
            isolation: Isolation::Serializable,
            attempts,
            ..TransactionOptions::default()
        };
        let (mut count, mut other) = (0, opened.db().session());
        let done = opened.db().transaction(&options, async |tx| {
            count += 1;
            let v = first(&tx.run_all("select v from t where id = 1").await?);
            if count < 3 {
                other.run_all("update t set v = v + 100 where id = 1").await?;
            }
            tx.run_all(&format!("update t set v = {v} + 1 where id = 1")).await.map(drop)
        });
        (done.map_err(|error| error.state), count)
    };
    assert_eq!(adds(5), (Ok(()), 3));
    assert_eq!(opened.value(), 211);
    assert_eq!(adds(2), (Err(SqlState("40001")), 2));
    assert_eq!(opened.value(), 411);
}

#[test]
fn one_that_is_dropped_leaves_nothing() {
    let opened = Opened::new("dropped");
    let (db, mut session) = (opened.db(), opened.db().session());
    db.runtime_handle().block_on(async move || {
        let options = TransactionOptions::default();
        let unfinished = session.in_transaction(&options, async |tx| {
            tx.run_all("set local lock_timeout = 77; update t set v = 1 where id = 1").await?;
            std::future::pending::<()>().await;
            Ok(())
        });
        let cut = runtime::time::timeout(std::time::Duration::from_millis(200), unfinished).await;
        assert!(cut.is_err(), "it never ends by itself");
        assert!(session.is_idle());
        session.run_all("update t set v = 2 where id = 1").await.unwrap();
    });
    assert_eq!(opened.value(), 2);
}

#[test]
fn one_that_reads_only_is_refused_to_write() {
    let opened = Opened::new("reads");
    let options = TransactionOptions { read_only: true, ..TransactionOptions::default() };
    let refused = opened.db().transaction(&options, async |tx| {
        tx.run_all("update t set v = 0 where id = 1").await.map(drop)
    });
    assert_eq!((refused.unwrap_err().state, opened.value()), (SqlState("25006"), 10));
}
