//! What the log says, and what it never says.

use std::sync::{Arc, Mutex};

use crate::served::{Served, options};
use engine::{Configuration, Origin};
use postgres::types::Type;
use server::{Log, ServerOptions};

type Lines = Arc<Mutex<Vec<String>>>;

/// A server that logs everything, and its lines.
fn start(name: &str, json: bool) -> (Served, Lines) {
    let lines = Lines::default();
    let theirs = lines.clone();
    let log = Log::new(move |line| theirs.lock().expect("no panic").push(line));
    let served = Served::start(name, ServerOptions { log: Arc::new(log), ..options() });
    let mut configuration = Configuration::default();
    let format = if json { "json" } else { "text" };
    for (name, value) in
        [("log_min_duration_statement", "0"), ("log_connections", "on"), ("log_format", format)]
    {
        configuration.give(name, value, Origin::Flag).expect("a value");
    }
    served.db.reconfigure(&configuration);
    served.server.follow_configuration();
    (served, lines)
}

fn all(lines: &Lines) -> String {
    lines.lock().expect("no panic").join("\n")
}

#[test]
fn statements_are_logged_with_their_id_and_plan() {
    let (served, lines) = start("log-json", true);
    let mut client = served.connect("user=x application_name=app").expect("connected");
    client.batch_execute("create table t (a int primary key, b text)").expect("created");
    client.query("select b from t where a + 0 = $1", &[&12_345_678i32]).expect("no rows");
    client.batch_execute("select nothing").expect_err("no such column");
    drop(client);
    served.eventually(|| all(&lines).contains("disconnection").then_some(()));
    let parsed: Vec<serde_json::Value> = lines
        .lock()
        .expect("no panic")
        .iter()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let line = |severity: &str, text: &str| {
        let found = parsed.iter().find(|line| {
            let begins = |statement: &str| statement.starts_with(text);
            line["severity"] == severity && line["statement"].as_str().is_some_and(begins)
        });
        found.unwrap_or_else(|| panic!("no line for {text}: {parsed:?}"))
    };
    let slow = line("LOG", "select b from t");
    assert!(slow["query_id"].as_u64().is_some_and(|id| id > 0), "{slow}");
    assert!(slow["duration_ms"].as_f64().is_some(), "{slow}");
    assert_eq!(slow["application_name"], "app");
    assert_eq!(slow["user"], "dovetail");
    let plan = slow["plan"].as_str().expect("a plan");
    assert!(plan.contains("Scan on t"), "{plan}");
    let failed = line("ERROR", "select nothing");
    assert_eq!(failed["sqlstate"], "42703");
}

/// Values that must not be found anywhere but where the client that sent them is answered.
const PASSWORD: &str = "canary-password-7Q";
const PARAMETER: &str = "canary-parameter-8R";
const NUMBER: i64 = 918_273_645_546_372;

#[test]
fn secrets_and_parameters_are_nowhere() {
    let (served, lines) = start("log-canary", false);
    let mut client = served.connect("user=x").expect("connected");
    client.batch_execute("create table t (a bigint primary key, b text)").expect("created");
    client.execute("insert into t values ($1, $2)", &[&NUMBER, &PARAMETER]).expect("inserted");
    // The same again fails with a detail that names the key.
    client
        .execute("insert into t values ($1, $2)", &[&NUMBER, &PARAMETER])
        .expect_err("a duplicate");
    client.query("select * from t where b = $1 or a = $2", &[&PARAMETER, &NUMBER]).expect("a row");
    client.query("select * from t where a = $1", &[&NUMBER]).expect("a row");
    let limited = client.prepare_typed("select * from t order by a limit $1", &[Type::INT8]);
    client.query(&limited.expect("prepared"), &[&NUMBER]).expect("a row");
    client.query("select ($1::text)::int", &[&PARAMETER]).expect_err("no number");
    client.query("select a from t where ($1::text)::date > '2020-01-01'", &[&PARAMETER]).ok();
    for statement in [
        format!("create role ann login password '{PASSWORD}'"),
        format!("create role ann login password '{PASSWORD}'"),
        format!("alter role ann with encrypted password $${PASSWORD}$$"),
        format!("alter role nobody password E'{PASSWORD}'"),
        format!("alter role ann password '{PASSWORD}' nonsense"),
        format!("create rule ann password '{PASSWORD}'"),
    ] {
        client.batch_execute(&statement).ok();
    }
    served.connect(&format!("user=ann password={PASSWORD}x")).map(drop).expect_err("wrong");
    let mut ann =
        served.connect(&format!("user=ann password={PASSWORD}")).expect("the right password");
    // What others see: the views, as a superuser and as one that is none.
    let mut seen = String::new();
    for viewer in [&mut client, &mut ann] {
        for view in [
            "pg_stat_activity",
            "dovetail_queries",
            "pg_roles",
            "pg_shadow",
            "pg_authid",
            "pg_settings",
        ] {
            for message in viewer.simple_query(&format!("select * from {view}")).unwrap_or_default()
            {
                if let postgres::SimpleQueryMessage::Row(row) = message {
                    seen.extend((0..row.len()).filter_map(|i| row.get(i)));
                }
            }
        }
    }
    assert!(seen.contains("pg_stat_activity"), "the views were read");
    let logged = all(&lines);
    assert!(logged.contains("query_id="), "{logged}");
    assert!(logged.contains("sqlstate=\"23505\""), "{logged}");
    assert!(logged.contains("sqlstate=\"28P01\""), "{logged}");
    for (what, text) in [("the log", &logged), ("the views", &seen)] {
        for canary in [PASSWORD, PARAMETER, &NUMBER.to_string()] {
            let place =
                text.find(canary).map(|at| &text[at.saturating_sub(300)..at + canary.len()]);
            assert!(place.is_none(), "{what} has {canary}: {place:?}");
        }
    }
}
