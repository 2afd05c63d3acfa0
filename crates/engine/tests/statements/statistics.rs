//! `pg_stat_statements`: what is counted, for whom it is shown, and what is never in it.

use std::path::PathBuf;

use engine::{Database, Options, Session, StatementResult};

struct Opened(PathBuf, Database);

impl Drop for Opened {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn open(name: &str) -> Opened {
    let folder = std::env::temp_dir().join(format!("dovetail-stats-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = Options { memory_bytes: 16 << 20, workers: 1, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    Opened(folder, db)
}

/// The rows of a query, their columns with `|` between them.
fn rows(session: &mut Session, text: &str) -> Vec<String> {
    match session.execute(text).expect(text).pop() {
        Some(StatementResult::Rows(result)) => {
            let line = |batch: &arrow_array::RecordBatch, row| {
                let cells = batch.columns().iter().map(|c| types::text::format_value(c, row));
                cells.map(|c| c.unwrap_or_else(|| "NULL".into())).collect::<Vec<_>>().join("|")
            };
            let batches = result.batches.iter();
            batches.flat_map(|b| (0..b.num_rows()).map(move |row| line(b, row))).collect()
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn statements_are_counted_by_their_shape() {
    let opened = open("shape");
    let mut session = opened.1.session();
    session
        .execute(
            "create table t (a int primary key, b text);
             insert into t values (1, 'x'), (2, 'y');
             INSERT  INTO t /* a secret */ VALUES (3, 'z'), (4, 'z');
             select b from t where a = 1;
             SELECT b\n FROM t WHERE a = 2;
             select b from t where a in (1, 2);
             prepare p as select b from t where a = $1 and b <> 'q'; execute p(7)",
        )
        .expect("run");
    session.execute("select b from t where a = 1 / 0").expect_err("it fails");
    let seen = "select calls, rows, query from pg_stat_statements
                where query like '% t %' order by query";
    assert_eq!(
        rows(&mut session, seen),
        [
            "1|0|create table t (a int primary key, b text)",
            "2|4|insert into t values ($1, $2), ($3, $4)",
            "1|0|prepare p as select b from t where a = $1 and b <> $2",
            "2|2|select b from t where a = $1",
            "1|2|select b from t where a in ($1, $2)",
        ]
    );
    let sane = "select bool_and(total_exec_time >= max_exec_time and min_exec_time <= mean_exec_time
                and mean_exec_time <= max_exec_time and queryid is not null) from pg_stat_statements";
    assert_eq!(rows(&mut session, sane), ["t"]);
    let planned = "select plans, total_plan_time > 0 from pg_stat_statements
                   where query = 'select b from t where a = $1'";
    assert_eq!(rows(&mut session, planned), ["2|t"]);
}

#[test]
fn secrets_are_not_in_it_and_others_see_no_text() {
    let opened = open("secret");
    let mut session = opened.1.session();
    for statement in [
        "create role reader login password 'canary-1'",
        "alter role reader password 'canary-2' -- canary-3",
        "select 'canary-4', $$canary-5$$, E'canary-6'",
        "prepare p as select 'canary-8'",
        "select /* canary-9 */ 1",
    ] {
        session.execute(statement).expect(statement);
    }
    let all = rows(&mut session, "select query from pg_stat_statements").join("\n");
    assert!(all.contains("alter role reader password") && !all.contains("canary"), "{all}");
    let mut reader = opened.1.session();
    reader.log_in("reader", 2).expect("logged in");
    reader.execute("select 1 + 1").expect("run");
    let seen = "select count(*), count(queryid) from pg_stat_statements
                where query = '<insufficient privilege>'";
    let others = rows(&mut reader, seen);
    assert!(others[0].ends_with("|0") && !others[0].starts_with("0|"), "{others:?}");
    assert_eq!(
        rows(&mut reader, "select query from pg_stat_statements where query like '%$1 + $2'").len(),
        1
    );
    let error = reader.execute("select pg_stat_statements_reset()").expect_err("it may not");
    assert_eq!(error.state.0, "42501");
    session.execute("grant pg_read_all_stats to reader").expect("granted");
    let hidden = "select count(*) from pg_stat_statements where query = '<insufficient privilege>'";
    assert_eq!(rows(&mut reader, hidden), ["0"]);
    session.execute("select pg_stat_statements_reset()").expect("reset");
    assert_eq!(rows(&mut session, "select count(*) from pg_stat_statements"), ["1"]);
    assert_eq!(rows(&mut session, "select dealloc from pg_stat_statements_info"), ["0"]);
}
