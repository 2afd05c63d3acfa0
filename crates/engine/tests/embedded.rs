//! Transactions of programs that embed the engine.
#![allow(clippy::disallowed_methods)] // tests prepare files of their own

use std::path::PathBuf;

use engine::{
    Database, FoundRows, Isolation, Options, Parameter, Prepared, Session, SqlResult, SqlState,
    StatementResult, Template, TransactionOptions,
};
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

/// What `get_many` finds for these keys, as positions and values.
async fn many(
    session: &mut Session,
    prepared: &Prepared,
    keys: &[Option<&str>],
) -> SqlResult<Option<Vec<(usize, i64)>>> {
    let parameter =
        |key: &Option<&str>| Parameter { value: key.map(str::to_owned), ..Parameter::default() };
    let values: Vec<Vec<Parameter>> = keys.iter().map(|key| vec![parameter(key)]).collect();
    let found = session.get_many(prepared, &values).await?;
    Ok(found.map(|FoundRows { rows, positions }| {
        let value = |row| format_value(rows.column(0), row).unwrap().parse().unwrap();
        positions.into_iter().enumerate().map(|(row, position)| (position, value(row))).collect()
    }))
}

#[test]
fn many_keys_are_looked_up_in_one_call() {
    let opened = Opened::new("many");
    let fill = "insert into t select i, i * 10 from generate_series(2, 20000) as g(i)";
    opened.db().session().execute(fill).unwrap();
    let prepared = |text: &str| Prepared::new(Template::all(text).unwrap().pop().unwrap());
    let by_key = prepared("select v from t where id = $1");
    let (mut session, mut other) = (opened.db().session(), opened.db().session());
    let found = opened.db().runtime_handle().block_on(move || async move {
        let keys = ["19999", "7", "no such", "7"].map(Some);
        let refused = many(&mut session, &by_key, &keys).await?;
        let keys = [Some("19999"), Some("7"), None, Some("-1"), Some("7")];
        let found = many(&mut session, &by_key, &keys).await?;
        // All of a call see one version, and those of a transaction the same one.
        session.run_all("begin isolation level repeatable read").await?;
        let before = many(&mut session, &by_key, &[Some("7")]).await?;
        other.run_all("update t set v = 1 where id = 7").await?;
        let inside = many(&mut session, &by_key, &[Some("7")]).await?;
        session.run_all("commit").await?;
        let after = many(&mut session, &by_key, &[Some("7")]).await?;
        let all_null = many(&mut session, &by_key, &[None]).await?;
        let by_value = prepared("select id from t where v = $1");
        let scanned = many(&mut session, &by_value, &[Some("70")]).await?;
        SqlResult::Ok((found, [before, inside, after], [refused, all_null, scanned]))
    });
    let (found, versions, refused) = found.unwrap();
    assert_eq!(found, Some(vec![(0, 199_990), (1, 70), (4, 70)]));
    assert_eq!(versions.map(|version| version.unwrap()[0].1), [70, 70, 1]);
    assert_eq!(refused, [None, None, None]);
}

#[test]
fn many_keys_find_the_same_however_they_wait() {
    let opened = Opened::new("many-same");
    let fill = "insert into t select i, i from generate_series(2, 30000) as g(i)";
    opened.db().session().execute(fill).unwrap();
    for interleaved in [false, true, true] {
        opened.db().set_interleaved(interleaved);
        let mut session = opened.db().session();
        let found = opened.db().runtime_handle().block_on(move || async move {
            let text = "select v from t where id = $1";
            let prepared = Prepared::new(Template::all(text).unwrap().pop().unwrap());
            let keys: Vec<String> =
                (0..3000).map(|i| (i * 7919 % 30_000 + 1).to_string()).collect();
            let keys: Vec<Option<&str>> = keys.iter().map(|key| Some(key.as_str())).collect();
            many(&mut session, &prepared, &keys).await
        });
        let wanted = (0..3000).map(|i| match i * 7919 % 30_000 + 1 {
            1 => (i as usize, 10),
            id => (i as usize, id),
        });
        assert_eq!(found.unwrap(), Some(wanted.collect()), "{interleaved}");
    }
}
