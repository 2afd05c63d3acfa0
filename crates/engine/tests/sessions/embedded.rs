//! Transactions of programs that embed the engine.

use std::ops::Bound;
use std::path::PathBuf;

use engine::{
    Database, Datum, FoundRows, Isolation, KeyRange, Options, Parameter, Prepared, Row, Session,
    SqlResult, SqlState, StatementResult, Template, TransactionOptions,
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
        let options = Options { memory_bytes: 16 << 20, workers: 2, ..pg::options() };
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
        |key: &Option<&str>| Parameter { value: Datum::from(*key), ..Parameter::default() };
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

#[test]
fn a_look_up_that_is_none_keeps_no_version() {
    let opened = Opened::new("many-none");
    let fill = "insert into t select i, i from generate_series(2, 30000) as g(i)";
    opened.db().session().execute(fill).unwrap();
    let (mut session, mut other) = (opened.db().session(), opened.db().session());
    let done = opened.db().runtime_handle().block_on(move || async move {
        session.run_all("set default_transaction_isolation = 'serializable'").await?;
        let text = "select v from t where id = $1";
        let by_key = Prepared::new(Template::all(text).unwrap().pop().unwrap());
        let refused = many(&mut session, &by_key, &[Some("1"), Some("no such")]).await?;
        assert_eq!(refused, None);
        other.run_all("create table later (n int)").await?;
        session.prepared_text("select n from later").await.map(drop)
    });
    done.unwrap();
}

#[test]
fn rows_are_had_by_their_keys_and_with_types() {
    let opened = Opened::new("keyed");
    let setup = "create table item (shop text, id int, name varchar(20), price numeric(6,2), \
                 stock bigint not null, sold bool, weight double precision, \
                 twice bigint generated always as (stock * 2) stored, primary key (shop, id))";
    opened.db().session().execute(setup).unwrap();
    let options = TransactionOptions::default();
    let item = |id: i32, name: Option<&str>, stock: i64| -> Vec<Datum> {
        vec![
            "o'hara".into(),
            id.into(),
            name.into(),
            "1.50".into(),
            stock.into(),
            true.into(),
            0.25.into(),
        ]
    };
    let read = |id: i32, name: Option<&str>, stock: i64| {
        [item(id, name, stock), vec![(stock * 2).into()]].concat()
    };
    let key = |id: i32| -> Vec<Datum> { vec!["o'hara".into(), id.into()] };
    let done = opened.db().transaction(&options, async |tx| {
        for id in 1..=9 {
            tx.put("item", &item(id, Some("a thing"), i64::from(id))).await?;
        }
        assert_eq!(tx.get("item", &key(3)).await?, Some(read(3, Some("a thing"), 3)));
        tx.put("item", &item(3, None, 1 << 40)).await?;
        assert_eq!(tx.get("item", &key(3)).await?, Some(read(3, None, 1 << 40)));
        assert_eq!(tx.get("item", &key(10)).await?, None);
        // With SQL, in the same transaction.
        tx.run_all("update item set stock = 77 where id = 4").await?;
        assert!(tx.delete("item", &key(5)).await? && !tx.delete("item", &key(5)).await?);
        let range = KeyRange {
            prefix: vec!["o'hara".into()],
            from: Bound::Included(3.into()),
            to: Bound::Excluded(8.into()),
            ..KeyRange::default()
        };
        let ids =
            |rows: Vec<Row>| rows.into_iter().map(|mut row| row.swap_remove(1)).collect::<Vec<_>>();
        let four = tx.get("item", &key(4)).await?.unwrap();
        assert_eq!(four[4], Datum::Int(77));
        assert_eq!(ids(tx.scan("item", &range).await?), [3, 4, 6, 7].map(Datum::from));
        let last = KeyRange { descending: true, limit: Some(2), ..range };
        assert_eq!(ids(tx.scan("item", &last).await?), [7, 6].map(Datum::from));
        assert_eq!(tx.scan("item", &KeyRange::default()).await?.len(), 8);
        Ok(())
    });
    done.unwrap();
    assert_eq!(first(&opened.db().session().execute("select count(*) from item").unwrap()), 8);
    // What fails takes everything with it.
    let failed = opened.db().transaction(&options, async |tx| {
        tx.delete("item", &key(1)).await?;
        tx.put("item", &vec![Datum::Null; 7]).await
    });
    assert_eq!(failed.unwrap_err().state, SqlState("23502"));
    assert_eq!(first(&opened.db().session().execute("select count(*) from item").unwrap()), 8);
    for (table, key, state) in [
        ("item", vec![1.into()], "42601"),
        ("none", vec![1.into()], "42P01"),
        ("bare", vec![], "42P10"),
    ] {
        opened.db().session().execute("create table if not exists bare (a int)").unwrap();
        let refused = opened.db().transaction(&options, async |tx| tx.get(table, &key).await);
        assert_eq!(refused.unwrap_err().state.0, state, "{table}");
    }
}

#[test]
fn a_conflict_of_keyed_rows_is_tried_again() {
    let opened = Opened::new("keyed-again");
    let options = TransactionOptions {
        isolation: Isolation::RepeatableRead,
        attempts: 3,
        ..TransactionOptions::default()
    };
    let (mut count, mut other) = (0, opened.db().session());
    let done = opened.db().transaction(&options, async |tx| {
        count += 1;
        let row = tx.get("t", &[1.into()]).await?.unwrap();
        let Datum::Int(v) = row[1] else { panic!("{row:?}") };
        if count == 1 {
            other.put("t", &[1.into(), (v + 100).into()]).await?;
        }
        tx.put("t", &[1.into(), (v + 1).into()]).await
    });
    done.unwrap();
    assert_eq!((count, opened.value()), (2, 111));
}

#[test]
fn prepared_statements_take_typed_values() {
    let opened = Opened::new("typed");
    let options = TransactionOptions::default();
    let sums = opened.db().transaction(&options, async |tx| {
        let insert = tx.prepared_text("insert into t values ($1, $2)").await?;
        for id in 2..50 {
            tx.run_prepared(&insert, &[id.into(), (id * 10).into()]).await?;
        }
        let sum = tx.prepared_text("select sum(v) from t where id > $1 and id <= $2").await?;
        let mut sums = vec![];
        for id in 0..5 {
            let StatementResult::Rows(rows) =
                tx.run_prepared(&sum, &[id.into(), (id + 2).into()]).await?
            else {
                panic!("no rows");
            };
            sums.extend(rows.rows()?.into_iter().flatten());
        }
        let error = tx.run_prepared(&sum, &[1.into()]).await.unwrap_err();
        assert_eq!(error.state.0, "08P01");
        Ok(sums)
    });
    // The wrong number of values has failed the transaction, and so its commit.
    assert_eq!(sums.unwrap_err().state, SqlState::IN_FAILED_TRANSACTION);
    let sums = opened.db().transaction(&options, async |tx| {
        let sum = tx.prepared_text("select sum(v) from t where id > $1").await?;
        let StatementResult::Rows(rows) = tx.run_prepared(&sum, &[Datum::Null]).await? else {
            panic!("no rows");
        };
        assert_eq!(rows.rows()?, [[Datum::Null]]);
        let StatementResult::Rows(rows) = tx.run_prepared(&sum, &[0.into()]).await? else {
            panic!("no rows");
        };
        rows.rows()
    });
    assert_eq!(sums.unwrap(), [[Datum::Int(10)]]);
}

#[test]
fn an_error_before_a_statement_fails_its_transaction_too() {
    let opened = Opened::new("keyed-errors");
    let options = TransactionOptions::default();
    let ignored = opened.db().transaction(&options, async |tx| {
        tx.put("t", &[Datum::Int(1), Datum::Int(0)]).await?;
        assert_eq!(tx.get("missing", &[]).await.unwrap_err().state, SqlState("42P01"));
        let then = tx.get("missing", &[]).await.unwrap_err();
        assert_eq!(then.state, SqlState::IN_FAILED_TRANSACTION);
        Ok(())
    });
    let state = ignored.unwrap_err().state;
    assert_eq!((state, opened.value()), (SqlState::IN_FAILED_TRANSACTION, 10));
    let beyond = KeyRange {
        prefix: vec![Datum::Int(1)],
        from: Bound::Excluded(Datum::Int(9)),
        ..KeyRange::default()
    };
    let refused =
        opened.db().transaction(&options, async |tx| tx.scan("t", &beyond).await.map(drop));
    assert_eq!(refused.unwrap_err().state, SqlState("42601"));
}

#[test]
fn partitions_of_a_table_are_for_who_may_read_it() {
    let opened = Opened::new("partitions");
    opened.db().session().execute("create role reader").unwrap();
    let partitions = |role: &str| {
        let mut session = opened.db().session();
        session.execute(&format!("set role {role}")).unwrap();
        opened.db().runtime_handle().block_on(move || async move {
            session.partitions("t", 3).await.map(|partitions| partitions.len())
        })
    };
    assert_eq!(partitions("reader").unwrap_err().state, SqlState::INSUFFICIENT_PRIVILEGE);
    opened.db().session().execute("grant select on t to reader").unwrap();
    assert_eq!(partitions("reader").unwrap(), 3);
}
