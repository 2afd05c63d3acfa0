//! Indexes of column tables: rows that are fetched by their positions are those that a scan finds, wherever
//! they are and whatever becomes of them.

use engine::ExecutionMode;

use super::{ROWS, Scratch, lines, number};

/// What is asked by an index; the scan of the same table is the answer.
const QUESTIONS: [&str; 8] = [
    "select id, kind, wide from t where id = 150000 order by 1, 2, 3",
    "select id, wide from t where id in (-5, 1, 2, 2, 999, 150000, 299999, 300001) order by 1, 2",
    "select count(*), sum(id), min(wide) from t where id between 1000 and 9000",
    "select count(*), sum(id), sum(length(wide)) from t where kind = 7",
    "select id, kind from t where kind = 7 and id % 2 = 1 and wide > 'f' order by id",
    "select id, wide from t where id > 299000 order by id limit 5",
    "select t.id, t.wide from (values (5), (5), (77), (150000), (null)) v(i) join t on t.id = v.i order by 1, 2",
    "select v.i, t.kind from (values (1), (400000)) v(i) left join t on t.id = v.i order by 1",
];

/// What is done between rounds of questions.
const WRITES: [&str; 11] = [
    "delete from t where id % 10 = 3",
    "insert into t values (-5, 7, 'one'), (150000, 8, null)",
    "update t set wide = 'new' where id < 1000 and id % 7 = 0",
    "update t set id = id + 1000000 where kind = 9",
    "begin; delete from t where kind = 7; rollback",
    "begin; savepoint s; update t set kind = 7 where id = 2; rollback to s; commit",
    "insert into t select i, i % 1000, 'more' from generate_series(300001, 340000) i",
    "reorganize table t",
    "alter table t add column extra int default 3",
    "alter table t drop column extra",
    "analyze t",
];

fn same(scratch: &Scratch, modes: &[ExecutionMode], after: &str) {
    for &mode in modes {
        let (mut by_index, mut by_scan) = (scratch.session(), scratch.session());
        for session in [&mut by_index, &mut by_scan] {
            session.settings().execution_mode = mode;
        }
        by_index.execute("set enable_seqscan = off; set enable_hashjoin = off").unwrap();
        by_scan.execute("set enable_indexscan = off; set enable_indexonlyscan = off").unwrap();
        by_scan.execute("set enable_indexnestloop = off").unwrap();
        for question in QUESTIONS {
            let explained = lines(&mut by_index, &format!("explain {question}")).join("\n");
            assert!(explained.contains("Index "), "{question}: {explained}");
            let scanned = lines(&mut by_scan, &format!("explain {question}")).join("\n");
            assert!(scanned.contains("Column Scan"), "{question}: {scanned}");
            let (found, wanted) = (lines(&mut by_index, question), lines(&mut by_scan, question));
            assert_eq!(found, wanted, "{question} after {after}, {mode:?}");
        }
    }
}

#[test]
fn rows_are_fetched_by_their_positions() {
    let mut scratch = Scratch::new("indexes");
    scratch.session().execute(ROWS).unwrap();
    let indexes = "create index t_id on t (id); create index t_kind on t using hash (kind);
        create index t_both on t (kind, id)";
    scratch.session().execute(indexes).unwrap();
    same(&scratch, &ExecutionMode::ALL, "the load");
    for (write, mode) in WRITES.iter().zip(ExecutionMode::ALL.iter().cycle()) {
        scratch.session().execute(write).unwrap();
        same(&scratch, &[*mode], write);
    }
    scratch.check();
    scratch.reopen();
    same(&scratch, &ExecutionMode::ALL, "opening the file");
    scratch.session().execute("truncate t; insert into t values (1, 7, 'again')").unwrap();
    let found = lines(&mut scratch.session(), "select id from t where kind = 7");
    assert_eq!(found, ["1"]);
    scratch.session().execute("drop index t_both").unwrap();
    scratch.check();
}

#[test]
fn one_row_takes_few_pages() {
    let scratch = Scratch::new("one-row");
    scratch.session().execute(ROWS).unwrap();
    scratch.session().execute("create index on t (id); analyze t").unwrap();
    let mut session = scratch.session();
    let query = "explain analyze select id, kind, wide from t where id = 123456";
    lines(&mut session, query);
    scratch.db().drop_cache().unwrap();
    let plan = lines(&mut session, query);
    let scan =
        plan.iter().find(|line| line.contains("Index Scan")).unwrap_or_else(|| panic!("{plan:#?}"));
    assert!(scan.contains("actual rows=1 "), "{scan}");
    // Of 300,000 rows of some twenty million bytes: the index, the list and the header of a chunk, and a
    // vector of each column, of which the texts have some 40 KB.
    let bytes = number(scan, "bytes=");
    assert!(bytes < 400_000, "{scan}");
}

#[test]
fn unique_keys_are_kept() {
    let mut scratch = Scratch::new("unique");
    let mut session = scratch.session();
    session
        .execute("create table t (id int unique, kind int, wide text) with (storage = column)")
        .unwrap();
    let load = "insert into t select i, i % 1000, md5(i::text) from generate_series(1, 300000) i";
    session.execute(load).unwrap();
    let refused = |session: &mut engine::Session, statement: &str| {
        let error = session.execute(statement).unwrap_err();
        assert_eq!(error.state.to_string(), "23505", "{statement}: {error}");
    };
    refused(&mut session, "insert into t values (300000, 0, '')");
    refused(&mut session, load);
    refused(&mut session, "insert into t values (-1, 0, ''), (-1, 1, '')");
    refused(&mut session, "update t set id = 7 where id = 8");
    session
        .execute("update t set id = 500000 where id = 8; insert into t values (8, 0, 'eight')")
        .unwrap();
    session.execute("delete from t where id = 9; insert into t values (9, 1, 'nine'), (null, 1, ''), (null, 1, '')").unwrap();
    let upsert = "insert into t values (9, 2, 'x'), (10, 2, 'y'), (600000, 2, 'z')
        on conflict (id) do update set kind = t.kind + 100, wide = excluded.wide";
    session.execute(upsert).unwrap();
    session.execute("insert into t values (11, 0, 'no') on conflict do nothing").unwrap();
    let found = lines(
        &mut session,
        "select id, kind, wide from t where id in (8, 9, 10, 11, 600000) order by id",
    );
    let eleven = lines(&mut session, "select md5('11')").remove(0);
    assert_eq!(
        found,
        [
            "8|0|eight".to_owned(),
            "9|101|x".into(),
            "10|110|y".into(),
            format!("11|11|{eleven}"),
            "600000|2|z".into()
        ]
    );
    assert_eq!(lines(&mut session, "select count(*) from t"), ["300004"]);
    session.execute("create table child (t_id int references t (id) on delete cascade)").unwrap();
    session.execute("insert into child values (9), (500000), (12)").unwrap();
    session.execute("delete from t where id in (9, 500000)").unwrap();
    assert_eq!(lines(&mut session, "select t_id from child"), ["12"]);
    drop(session);
    scratch.check();
    scratch.reopen();
    scratch.check();
}
