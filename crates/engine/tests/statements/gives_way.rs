//! No statement keeps a worker to itself: the runtime notes for each kind of task the longest that
//! one computed without giving way, in processor time of its thread, so a busy machine does not
//! count.

use std::time::Duration;

use engine::{Database, Options};

/// What a task may take between two suspensions: a hundred times what release builds keep, since debug
/// builds are some ten times slower and clocks of threads stand in coarse steps on some machines.
const PORTION_MAX: Duration = Duration::from_secs(1);

const SETUP: &str = "
    create table t (id int primary key, k int, v text, u float8);
    insert into t select i, i % 97, 'value ' || i, i * 0.5 from generate_series(1, 20000) as g (i);
    create index t_k on t (k);
    analyze t";

/// Each makes one kind of operator work for a while.
const STATEMENTS: &[&str] = &[
    "select count(*) from generate_series(1, 300000)",
    "select count(*) from (select generate_series(1, 100000) x, v from t where id < 3) s",
    "select sum(a + b) from generate_series(1, 400) a, generate_series(1, 400) b",
    "select sum(x) from (select unnest(array_agg(id)) x from t) s",
    "select count(*) from t a join t b on a.id = b.id",
    "select count(*) from t a join t b on a.k = b.k where a.id < 2000",
    "select count(*) from t a join t b on a.u < b.u where a.id < 50",
    "select v from t order by v desc, id offset 19990",
    "select v, count(*) from t group by v order by v limit 3",
    "select k, count(distinct v) from t group by k order by k limit 3",
    "select max(s) from (select sum(u) over (partition by k order by id) s from t) w",
    "select max(r) from (select rank() over (order by v) r from t) w",
    "select length(string_agg(v, ',' order by v)) from t",
    "with recursive r (i) as (select 1 union all select i + 1 from r where i < 300) select count(*) from r",
    "select count(*) from (select v from t union select v || 'x' from t) s",
    "select count(*) from t where id in (select k from t) and v like '%1%'",
    "select count(*) from t where v ~ '(1|2)+.*9$'",
    "create table copied as select * from t",
    "update t set v = v || 'x', k = k + 1 where id % 3 = 0",
    "delete from copied where id % 2 = 0",
    "create index copied_v on copied (v, k)",
    "create table chunks (id int, words text[], v text) with (storage = column)",
    "insert into chunks select i, string_to_array(repeat(i::text || ',', 30) || '1', ','), 'value ' || i
        from generate_series(1, 60000) i",
    "check database",
];

#[test]
fn no_statement_keeps_a_worker_to_itself() {
    let name = format!("dovetail-gives-way-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let options = Options { workers: 1, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    let mut session = db.session();
    session.execute(SETUP).expect("tables");
    let mut before = Duration::ZERO;
    for text in STATEMENTS {
        session.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let portions = db.runtime_handle().portions();
        let Some(longest) = portions.iter().max_by_key(|of| of.cpu_ns_max) else { continue };
        let portion = Duration::from_nanos(longest.cpu_ns_max);
        if portion > before {
            println!("{portion:?} in {} after: {text}", longest.kind);
        }
        assert!(
            portion < PORTION_MAX,
            "{portion:?} without giving way, in {} by: {text}",
            longest.kind
        );
        before = portion;
    }
    drop(session);
    db.close().expect("the database closes");
    std::fs::remove_dir_all(&folder).ok();
}
