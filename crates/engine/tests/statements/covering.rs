//! Covering indexes: plans that read nothing but the index, indexes that follow their rows through
//! every way of writing, and a check that compares what they carry.

use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
use engine::{Database, ExecutionMode, Options, ResultSet, RingKind, Session, StatementResult};
use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{Direction, Store, StoreOptions};
use types::text::format_value;

fn options() -> Options {
    let (ring, workers) = (RingKind::Threads, 2);
    let (memory_bytes, pool_bytes) = (64 << 20, Some(4 << 20));
    Options { memory_bytes, pool_bytes, ring, workers, direct: false, ..pg::options() }
}

/// A table of 20,000 wide rows, with an index that has some of their columns.
fn create(name: &str) -> PathBuf {
    let name = format!("dovetail-covering-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let db = Database::create(&path, options()).unwrap();
    let statements = "create table t (k int primary key, a int, b text, c numeric(8,2), w text);
        insert into t select i, i % 1000, 'b' || i, i * 0.25, repeat('w', 150)
            from generate_series(1, 20000) as g (i);
        create index t_a on t (a) include (b, c);
        create index t_c on t (c);
        create table few (x int primary key, y int);
        insert into few select i, i * 7 from generate_series(1, 50) as g (i);
        analyze";
    db.session().execute(statements).unwrap();
    db.close().unwrap();
    path
}

fn result(session: &mut Session, text: &str) -> ResultSet {
    match session.execute(text).unwrap().pop() {
        Some(StatementResult::Rows(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

/// The rows, `|` between columns.
fn lines(result: &ResultSet) -> Vec<String> {
    let mut lines = vec![];
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            let value = |c: &ArrayRef| format_value(c, row).unwrap_or_else(|| "NULL".into());
            lines.push(batch.columns().iter().map(value).collect::<Vec<_>>().join("|"));
        }
    }
    lines
}

#[track_caller]
fn check_plan(session: &mut Session, query: &str, wanted: &[&str]) {
    let plan = lines(&result(session, &format!("explain {query}"))).join("\n");
    for part in wanted {
        let (absent, part) = match part.strip_prefix('!') {
            Some(part) => (true, part),
            None => (false, *part),
        };
        assert_ne!(plan.contains(part), absent, "{query}: {part}\n{plan}");
    }
}

#[test]
fn plans_read_only_the_index_where_it_has_everything() {
    let path = create("plans");
    let db = Database::open(&path, options()).unwrap();
    let mut session = db.session();
    let only = "Index Only Scan using t_a on t";
    for (query, wanted) in [
        ("select b, c from t where a = 5", &[only, "Index Cond: (a = 5)"][..]),
        ("select k, a from t where a between 5 and 9 and b > 'b5'", &[only, "Filter: "]),
        ("select sum(c), max(b) from t", &[only, "!Index Cond"]),
        ("select a, count(*) from t group by a", &[only, "!Index Cond"]),
        ("select w from t where a = 5", &["Index Scan using t_a on t"]),
        ("select b from t where c = 5", &["Index Scan using t_c on t"]),
        ("select k from t where c = 5", &["Index Only Scan using t_c on t"]),
        ("select sum(length(w)) from t", &["Full Scan on t"]),
        ("select b from t where k = 5", &["Index Scan using t_pkey on t"]),
        (
            "select x, b, c from few join t on a = y",
            &["Index Nested Loop Join on t using t_a", "Index Only: yes"],
        ),
        (
            "select x, w from few join t on a = y where x = 3",
            &["Index Nested Loop Join on t using t_a", "!Index Only: yes"],
        ),
        (
            "select x from few where exists (select 1 from t where a = y and b > 'c')",
            &["Index Semi Nested Loop Join on t using t_a", "Index Only: yes"],
        ),
    ] {
        check_plan(&mut session, query, wanted);
    }
    session.execute("set enable_seqscan = off").unwrap();
    check_plan(&mut session, "select count(*) from t", &["Index Only Scan using t_c on t"]);
    drop((session, db));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn an_index_only_plan_reads_fewer_pages_in_every_mode() {
    let path = create("reads");
    let db = Database::open(&path, options()).unwrap();
    let mut session = db.session();
    for mode in [ExecutionMode::Serial, ExecutionMode::Static, ExecutionMode::OutOfOrder] {
        session.execute(&format!("set execution_mode = {}", mode.name())).unwrap();
        let mut reads = |query: &str| {
            db.drop_cache().unwrap();
            let result = result(&mut session, query);
            let bytes = result.figures.as_ref().expect("a query ran").read_bytes();
            (lines(&result), bytes / 4096)
        };
        let (narrow, few) = reads("select b, c from t where a = 5 order by c");
        let (wide, many) = reads("select b, c, length(w) from t where a = 5 order by c");
        assert_eq!(narrow.len(), 20);
        let same = narrow.iter().zip(&wide).all(|(n, w)| format!("{n}|150") == *w);
        assert!(same, "{narrow:?} {wide:?}");
        assert!(few + 19 <= many, "{mode:?}: {few} pages against {many}");
    }
    drop((session, db));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn entries_follow_their_rows_through_every_way_of_writing() {
    let path = create("writes");
    let db = Database::open(&path, options()).unwrap();
    let mut session = db.session();
    let file = path.with_extension("csv");
    std::fs::write(&file, "30001,5,copied,1.00,w\n30002,5,,,\n").unwrap();
    let copy = format!("copy t from '{}' (format csv)", file.display());
    for statement in [
        "update t set b = 'new', c = null where a = 5 and k < 5000",
        // Enough rows for a rebuild of the trees.
        "update t set b = b || '!' where k % 2 = 0",
        "delete from t where a = 5 and k > 15000",
        "insert into t values (30000, 5, 'added', 7, 'w')",
        &copy,
        "alter table t add column z int default 3",
        "alter table t drop column z",
        "reorganize table t",
        "insert into t select k + 50000, a, b, c, w from t where k <= 2000",
    ] {
        session.execute(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        let sums = "select count(*), count(b), sum(length(b)), sum(c), sum(k) from t where a > 0";
        check_plan(&mut session, sums, &["Index Only Scan using t_a on t"]);
        let by_index = lines(&result(&mut session, sums));
        // A column that the index has not: the rows themselves.
        let by_rows = format!("{sums} and (w is null or length(w) < 1000)");
        check_plan(&mut session, &by_rows, &["Full Scan on t"]);
        assert_eq!(by_index, lines(&result(&mut session, &by_rows)), "{statement}");
        assert_eq!(db.check().unwrap().problems, Vec::<String>::new(), "{statement}");
    }
    drop(session);
    db.close().unwrap();
    let db = Database::open(&path, options()).unwrap();
    let mut session = db.session();
    let definition = "select pg_get_indexdef('t_a'::regclass)";
    let text = "CREATE INDEX t_a ON public.t USING btree (a) INCLUDE (b, c)";
    assert_eq!(lines(&result(&mut session, definition)), [text]);
    let query = "select b, c from t where k = 30000 and a = 5";
    assert_eq!(lines(&result(&mut session, query)), ["added|7.00"]);
    drop((session, db));
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&file).unwrap();
}

/// Changes what an entry of `t_a` carries, below the engine: the only tree in which the number of
/// the text `b5` stands in a value but not the text `w`.
fn tamper(path: &Path) {
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
            let Some(leaf) = tree.range(all, all, Direction::Forward).next(&io).await.unwrap()
            else {
                continue;
            };
            let mut value = leaf.entry(0, &mut key).to_vec();
            let has = |what: &[u8]| value.windows(what.len()).any(|w| w == what);
            if has(b"b1000") && !has(b"www") {
                *value.last_mut().unwrap() = b'7';
                assert!(tree.replace(&key, &value, &io).await.unwrap());
            }
        }
        store.checkpoint().await.unwrap();
        store.close().await;
    });
}

#[test]
fn a_check_compares_what_an_index_carries() {
    let path = create("check");
    let problems = |path: &Path| Database::open(path, options()).unwrap().check().unwrap().problems;
    assert_eq!(problems(&path), Vec::<String>::new());
    tamper(&path);
    let problem = "index \"t_a\": 1 of 20000 rows have an entry with other included values";
    assert_eq!(problems(&path), [problem]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn ordered_limits_take_the_first_entries_of_an_index() {
    let path = create("ordered");
    let db = Database::open(&path, options()).unwrap();
    let mut session = db.session();
    session.execute("alter table t add column n int; update t set n = nullif(k % 50, 0)").unwrap();
    session.execute("create index t_n on t (n, c); analyze; set enable_seqscan = off").unwrap();
    let (forward, backward) = ("Index Scan using", "Index Scan Backward using");
    for (query, plan) in [
        ("select k, w from t order by k limit 3", Some(format!("{forward} t_pkey"))),
        ("select k, w from t order by k desc limit 5000", Some(format!("{backward} t_pkey"))),
        ("select k, w from t where k > 17 order by k limit 2", Some(format!("{forward} t_pkey"))),
        ("select k, w from t order by c limit 7 offset 3", Some(format!("{forward} t_c"))),
        (
            "select n, k, w from t order by n desc, c desc limit 450",
            Some(format!("{backward} t_n")),
        ),
        ("select n, k, w from t where n = 7 order by c limit 3", Some(format!("{forward} t_n"))),
        (
            "select n, k, w from t where n = 7 order by c desc, k desc limit 3",
            Some(format!("{backward} t_n")),
        ),
        ("select n, w from t where n > 48 order by n, c limit 9", Some(format!("{forward} t_n"))),
        ("select n, k, w from t where n < 0 order by n limit 3", Some(String::new())),
        // What is computed besides does not matter.
        (
            "select k, length(w) as long from t order by k limit 3",
            Some(format!("{forward} t_pkey")),
        ),
        (
            "select c, upper(w) || '!' as loud from t order by c limit 7",
            Some(format!("{forward} t_c")),
        ),
        // Another order than that of an index, or other rows than those of one range.
        ("select n, k, w from t order by n desc nulls last, c, k limit 3", None),
        ("select n, k, w from t order by n, c desc, k limit 3", None),
        ("select k, w from t where b like '%9' order by k limit 3", None),
        ("select k, w from t where k in (5, 50, 500) order by k limit 2", None),
    ] {
        let shown = lines(&result(&mut session, &format!("explain {query}"))).join("\n");
        match &plan {
            Some(plan) => assert!(shown.contains(plan), "{query}: {plan}\n{shown}"),
            None => assert!(!shown.contains("First Rows"), "{query}\n{shown}"),
        }
        for mode in [ExecutionMode::Serial, ExecutionMode::Static, ExecutionMode::OutOfOrder] {
            session.execute(&format!("set execution_mode = {}", mode.name())).unwrap();
            let got = lines(&result(&mut session, query));
            // The same rows, all of them sorted: a row number hides the limit from the planner.
            let (all, limit) = query.split_once(" limit ").unwrap();
            let order = all.split_once(" order by ").unwrap().1;
            let numbered = all.replacen(
                " from t",
                &format!(", row_number() over (order by {order}) as r from t"),
                1,
            );
            let columns = all.strip_prefix("select ").unwrap().split_once(" from ").unwrap().0;
            let names = columns.split(", ").map(|c| c.rsplit(' ').next().unwrap());
            let columns = names.collect::<Vec<_>>().join(", ");
            let words: Vec<&str> = limit.split(' ').collect();
            let count: usize = words[0].parse().unwrap();
            let skip: usize = words.get(2).map_or(0, |n| n.parse().unwrap());
            let wanted = format!(
                "select {columns} from ({numbered}) as x where r > {skip} and r <= {} order by r",
                skip + count
            );
            assert_eq!(got, lines(&result(&mut session, &wanted)), "{query} {mode:?}");
        }
    }
    drop((session, db));
    std::fs::remove_file(&path).unwrap();
}
