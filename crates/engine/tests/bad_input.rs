//! Statements that are too deep, too long or too large: each works or ends with an error that says
//! why, never with a panic, and the session goes on.
#![allow(clippy::disallowed_methods)] // a stack of known size, a file of its own

use engine::{Database, Options, RingKind, Session};

/// The stack of a program's main thread; the library is not optimised in tests.
const STACK_BYTES: usize = 8 << 20;

#[test]
fn bad_input_ends_cleanly() {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    thread.expect("a thread").join().expect("no panic");
}

fn run() {
    let path = std::env::temp_dir().join(format!("dovetail-bad-{}.dovetail", std::process::id()));
    let options = Options {
        memory_bytes: 64 << 20,
        workers: 2,
        ring: RingKind::Threads,
        ..Options::default()
    };
    let db = Database::create(&path, options).expect("a database");
    let mut session = db.session();
    session.execute("create table t(a int, b int)").expect("a table");
    session.execute("insert into t values (1, 1), (2, 2), (null, 3)").expect("rows");
    for (text, expected) in statements() {
        check(&mut session, &text, expected);
    }
    drop(session);
    db.close().expect("closed");
    std::fs::remove_file(&path).expect("removed");
}

/// Runs a statement, of which the SQLSTATE is known ("ok" for none), and then another.
fn check(session: &mut Session, text: &str, expected: &str) {
    let got = match session.execute(text) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.state.to_string(),
    };
    let shown: String = text.chars().take(60).collect();
    assert_eq!(got, expected, "{shown} ..");
    session.execute("select count(*) from t").expect("the session goes on");
}

fn statements() -> Vec<(String, &'static str)> {
    let list = |count: usize, glue: &str, item: &dyn Fn(usize) -> String| {
        (0..count).map(item).collect::<Vec<_>>().join(glue)
    };
    let nested = |open: &str, count: usize, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(count), close.repeat(count))
    };
    let chains = nested("(", 40, "1", &format!("{})", "+1".repeat(200)));
    let views: Vec<String> =
        (1..60).map(|i| format!("create view v{i} as select * from v{}", i - 1)).collect();
    vec![
        (format!("select {}", nested("(", 10_000, "1", ")")), "54001"),
        (format!("select {}", nested("(", 40, "1", ")")), "ok"),
        // Each level is short enough, all of them are not.
        (format!("select {chains}"), "54001"),
        (format!("select 1{}", "+1".repeat(20_000)), "54001"),
        (format!("select 1{}", "+1".repeat(250)), "ok"),
        (format!("select * from t where {}", list(300, " and ", &|i| format!("a <> {i}"))), "ok"),
        (format!("select * from t where {}", list(3000, " or ", &|i| format!("a = {i}"))), "ok"),
        (
            format!("select * from t where {}", list(10_000, " and ", &|i| format!("a <> {i}"))),
            "54001",
        ),
        (list(1000, " union all ", &|i| format!("select {i}")), "ok"),
        (list(1000, " union ", &|i| format!("select {i} as x")), "ok"),
        (list(1000, " except ", &|i| format!("select {i} as x")), "54001"),
        (list(2000, " union ", &|i| format!("select {i}, 1")), "ok"),
        (
            format!(
                "select count(*) from t where a in ({})",
                list(20_000, ",", &|i| i.to_string())
            ),
            "ok",
        ),
        (format!("select {} from t", list(2000, ",", &|i| format!("a + {i}"))), "ok"),
        (format!("select {}", nested("case when true then ", 2000, "1", " end")), "54001"),
        (format!("select a{} from t", " between 1 and a".repeat(5000)), "54001"),
        (
            format!(
                "select count(*) from t t0{}",
                list(64, "", &|i| match i {
                    0 => String::new(),
                    i => format!(" join t t{i} on t{i}.a = t{}.a", i - 1),
                })
            ),
            "ok",
        ),
        (format!("select count(*) from t t0{}", " cross join t".repeat(100)), "54000"),
        (format!("select length('{}')", "x".repeat(1_000_000)), "ok"),
        (format!("select {}", "9".repeat(100_000)), "0A000"),
        ("select repeat('x', 2000000000)".into(), "54000"),
        ("select lpad('x', 2000000000, 'ab')".into(), "54000"),
        ("create view v0 as select a from t".into(), "ok"),
        (views[..30].join(";"), "ok"),
        (views[30..].join(";"), "54001"),
        ("create or replace view v0 as select a from v5".into(), "42P17"),
        ("select * from v20".into(), "ok"),
    ]
}
