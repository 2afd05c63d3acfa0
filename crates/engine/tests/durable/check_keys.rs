//! A check finds keys that several rows have, and rows that refer to none.

use std::ops::Bound;
use std::path::{Path, PathBuf};

use engine::{Database, Options, RingKind, StatementResult};
use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{Direction, Store, StoreOptions};
use types::SqlState;

fn options() -> Options {
    let (ring, workers) = (RingKind::Threads, 2);
    Options { memory_bytes: 8 << 20, ring, workers, direct: false, ..pg::options() }
}

fn create(name: &str, statements: &str) -> PathBuf {
    let name = format!("dovetail-check-keys-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let db = Database::create(&path, options()).unwrap();
    db.session().execute(statements).unwrap();
    db.close().unwrap();
    path
}

/// Changes texts in what is defined, below the engine: keys were not so when their rows came.
fn define_anew(path: &Path, from: &'static str, to: &'static str) {
    let path = path.to_path_buf();
    let config = Config { workers: 1, ring: RingChoice::Threads, ..Config::default() };
    let count = Runtime::start(config).unwrap().block_on(move || async move {
        let options =
            StoreOptions { pool_bytes: 4 << 20, direct: false, ..StoreOptions::default() };
        let store = Store::open(&path, options).await.unwrap();
        let (io, mut key, mut count) = (IoCounters::default(), vec![], 0);
        for id in store.tree_ids() {
            let tree = store.tree(id).unwrap();
            let all = Bound::Unbounded;
            let mut leaves = tree.range(all, all, Direction::Forward);
            let mut changed = vec![];
            while let Some(leaf) = leaves.next(&io).await.unwrap() {
                for at in 0..leaf.len() {
                    key.clear();
                    let value = leaf.entry(at, &mut key);
                    let text = str::from_utf8(value).ok().filter(|text| text.contains(from));
                    changed.extend(text.map(|text| (key.clone(), text.replace(from, to))));
                }
            }
            for (key, value) in changed {
                count += 1;
                assert!(tree.replace(&key, value.as_bytes(), &io).await.unwrap());
            }
        }
        store.checkpoint().await.unwrap();
        store.close().await;
        count
    });
    assert_eq!(count, 1, "{from} is in one definition");
}

/// What a check finds after definitions were changed.
fn check(name: &str, statements: &str, (from, to): (&'static str, &'static str)) -> Vec<String> {
    let path = create(name, statements);
    assert_eq!(problems(&path), Vec::<String>::new(), "{name} is sound before");
    define_anew(&path, from, to);
    let problems = problems(&path);
    std::fs::remove_file(&path).unwrap();
    problems
}

fn problems(path: &Path) -> Vec<String> {
    Database::open(path, options()).unwrap().check().unwrap().problems
}

const UNIQUE: (&str, &str) = ("\"unique\":false", "\"unique\":true");
const DEFERRABLE: (&str, &str) = ("\"unique\":false", "\"unique\":true,\"deferral\":\"Initial\"");

#[test]
fn keys_that_several_rows_have_are_found() {
    // Of 3,000 rows some have no key, one has that of another, and another two have one.
    let rows = "insert into t select i, case when i % 10 = 3 then null when i = 3000 then 5
            when i in (2000, 2001) then 1999 else i end, i % 2
        from generate_series(1, 3000) as g (i)";
    let found = ["index \"t_b\": 3 of 3000 rows have the key of another one, the first with \
                  (b)=(5)"];
    let clustered = format!(
        "create table t (a int primary key, b int, c int); create index t_b on t (b); {rows}"
    );
    assert_eq!(check("clustered", &clustered, UNIQUE), found);
    assert_eq!(check("deferrable", &clustered, DEFERRABLE), found);
    let heap = format!("create table t (a int, b int, c int); {rows}; create index t_b on t (b)");
    assert_eq!(check("heap", &heap, UNIQUE), found);
    let primary = ("\"unique\":false", "\"unique\":true,\"primary\":true");
    assert_eq!(check("primary", &heap, primary), found);
    let columns = format!(
        "create table t (a int, b int, c int) with (storage = column); create index t_b on t (b); {rows}"
    );
    assert_eq!(check("columns", &columns, UNIQUE), found);
    // Rows beside those of the parts, which have keys of these.
    let beside = format!(
        "{columns}; reorganize table t; delete from t where a in (3000, 2000);
         insert into t values (3000, 5, 1), (2000, 1999, 0)"
    );
    assert_eq!(check("beside", &beside, UNIQUE), found);
}

#[test]
fn keys_of_several_columns_are_compared_as_a_whole() {
    let statements =
        "create table t (a int primary key, b text, c int); create index t_b on t (b, c);
        insert into t values (1, 'x', 1), (2, 'x', 2), (3, 'y', 1), (4, 'x', null), (5, 'x', null),
            (6, null, 1), (7, null, 1), (8, 'xx', 1), (9, 'x', 2)";
    let found = "index \"t_b\": 1 of 9 rows have the key of another one, the first with \
                 (b, c)=(x, 2)";
    assert_eq!(check("several", statements, UNIQUE), [found]);
}

#[test]
fn rows_that_refer_to_none_are_found() {
    let refers = ("\"columns\":[1],\"table\"", "\"columns\":[2],\"table\"");
    for (name, using) in [("rows", ""), ("parts", "with (storage = column)")] {
        let statements = format!(
            "create table p (k int primary key); insert into p select generate_series(1, 1000);
             create table t (a int, b int references p, c int) {using};
             insert into t select i, i, case when i % 10 = 3 then null when i = 77 then -1
                 when i = 500 then 1001 else i end from generate_series(1, 1000) as g (i);
             reorganize table t"
        );
        let found = "foreign key \"t_b_fkey\" of table \"t\": 2 of 1000 rows refer to no row of \
                     table \"p\", the first with (c)=(-1)";
        assert_eq!(check(name, &statements, refers), [found]);
    }
}

#[test]
fn deferred_keys_leave_nothing_to_find() {
    let path = create(
        "deferred",
        "create table t (a int primary key deferrable, b int unique deferrable initially deferred);
         create table p (k int primary key);
         create table c (k int references p deferrable initially deferred);
         insert into t select i, i from generate_series(1, 100) as g (i)",
    );
    let db = Database::open(&path, options()).unwrap();
    let mut session = db.session();
    session.execute("update t set a = 101 - a, b = b + 1").unwrap();
    session.execute("begin; insert into t values (200, 50); insert into c values (7)").unwrap();
    // What a transaction may break for a while is no damage.
    let refused = session.execute("check database").unwrap_err();
    assert_eq!(refused.state, SqlState::OBJECT_IN_USE);
    assert_eq!(
        refused.message,
        "cannot check a database with pending checks of deferred constraints"
    );
    session.execute("rollback; begin; insert into t values (200, 50)").unwrap();
    let mended = "delete from t where a <> 200 and b = 50; check database; commit";
    let results = session.execute(mended).unwrap();
    assert!(matches!(&results[1], StatementResult::Rows(rows) if rows.row_count() == 0));
    assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
    std::fs::remove_file(&path).unwrap();
}
