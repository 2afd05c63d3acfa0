//! What sessions do, as another session sees it.

use engine::{Database, Options, Session, StatementResult};

/// The rows of a query, as text.
fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let Some(StatementResult::Rows(rows)) = session.execute(text).expect("rows").pop() else {
        panic!("no rows")
    };
    let mut lines = vec![];
    for batch in &rows.batches {
        for row in 0..batch.num_rows() {
            let value = |column| types::text::format_value(column, row).unwrap_or_default();
            lines.push(batch.columns().iter().map(|c| value(c)).collect::<Vec<_>>().join("|"));
        }
    }
    lines
}

#[test]
fn sessions_queries_and_workers_are_seen() {
    let folder = std::env::temp_dir().join(format!("dovetail-activity-{}", std::process::id()));
    #[allow(clippy::disallowed_methods, reason = "a test stands outside of the seam")]
    std::fs::create_dir_all(&folder).expect("a folder");
    let db = Database::create(&folder.join("t.dovetail"), Options::default()).expect("a database");
    let (mut one, mut two) = (db.session(), db.session());
    one.execute("set application_name = 'first'").expect("set");
    one.execute("select count(*) from generate_series(1, 1000)").expect("rows");
    let seen = rows(
        &mut two,
        "select application_name, state, query from pg_stat_activity order by query_id",
    );
    assert_eq!(seen[0], "first|idle|select count(*) from generate_series(1, 1000)");
    assert!(seen[1].starts_with("|active|select application_name"), "{seen:?}");
    let seen = rows(
        &mut two,
        "select state, execution_mode, progress, tasks_created = tasks_done, tasks_running
         from dovetail_queries where query like '%generate_series%' and state = 'ended'",
    );
    assert_eq!(seen, ["ended|ooo|1|t|0"]);
    let workers = db.worker_count().to_string();
    assert_eq!(rows(&mut two, "select count(*) from dovetail_tasks where alive >= 0")[0], workers);
    assert_eq!(rows(&mut two, "select count(*) from dovetail_io where inflight >= 0")[0], workers);
    // A password in a statement is not shown, not even in one that fails.
    one.execute("create role r1 password 'canary'").expect("a role");
    let all = rows(&mut two, "select * from pg_stat_activity").join("\n");
    assert!(!all.contains("canary") && all.contains("create role r1"), "{all}");
    drop(one);
    assert_eq!(rows(&mut two, "select count(*) from pg_stat_activity"), ["1"]);
    drop(two);
    db.close().expect("closed");
    #[allow(clippy::disallowed_methods, reason = "as above")]
    std::fs::remove_dir_all(&folder).ok();
}
