//! Statements that are too deep, too long or too wide: each ends with an answer or with an error that says
//! so, on a stack of 8 MiB, and the session goes on.

use std::fmt::Write;

use engine::{Database, Options, Session, StatementResult};

/// The stack of a thread that runs statements.
const STACK_BYTES: usize = 8 << 20;

/// What may come of a statement.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    /// Rows.
    Answer,
    /// One of these SQLSTATEs.
    Error(&'static [&'static str]),
    /// Either.
    Any(&'static [&'static str]),
}

/// Limits that a statement can meet: too complex, too many, too large.
const LIMITS: &[&str] = &["54001", "54000", "54011", "54023", "53200"];

#[test]
fn statements_too_deep_too_long_or_too_wide() {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run_all);
    thread.expect("a thread").join().expect("no panic");
}

fn run_all() {
    let name = format!("dovetail-bad-input-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let options = Options { workers: 2, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    let mut session = db.session();
    session.execute("create table t (a int primary key, b text)").expect("a table");
    session.execute("insert into t values (1, 'x'), (2, null)").expect("rows");
    for (name, text, wanted) in deep().into_iter().chain(long()).chain(wide()) {
        check(&mut session, name, &text, wanted);
    }
    views(&mut session);
    drop(session);
    db.close().expect("the database closes");
    std::fs::remove_dir_all(&folder).ok();
}

/// Runs one statement, and another one after it.
fn check(session: &mut Session, name: &str, text: &str, wanted: Wanted) {
    println!("{name}");
    let state = session.execute(text).err().map(|error| error.state.0.to_owned());
    let right = match (wanted, state.as_deref()) {
        (Wanted::Answer | Wanted::Any(_), None) => true,
        (Wanted::Error(states) | Wanted::Any(states), Some(state)) => states.contains(&state),
        _ => false,
    };
    assert!(right, "{name}: {state:?} instead of {wanted:?}");
    let rows = match session.execute("select count(*) from t").map(|mut results| results.pop()) {
        Ok(Some(StatementResult::Rows(rows))) => rows.row_count(),
        other => panic!("after {name}: {other:?}"),
    };
    assert_eq!(rows, 1, "after {name}");
}

type Case = (&'static str, String, Wanted);

fn around(before: &str, inner: &str, after: &str, depth: usize) -> String {
    format!("select {}{inner}{}", before.repeat(depth), after.repeat(depth))
}

fn deep() -> Vec<Case> {
    let refused = Wanted::Error(LIMITS);
    let derived = |depth: usize| {
        let mut text = String::from("select * from t");
        for level in 0..depth {
            text = format!("select * from ({text}) s{level}");
        }
        text
    };
    let mut cases: Vec<Case> = vec![];
    for (depth, wanted) in [(10, Wanted::Answer), (10_000, refused)] {
        cases.extend([
            ("parentheses", around("(", "1", ")", depth), wanted),
            ("CASE", around("case when true then ", "1", " end", depth), wanted),
            (
                "CASE in its condition",
                around("case when ", "true", " then true end", depth),
                wanted,
            ),
            ("NOT", around("not ", "true", "", depth), wanted),
            ("signs", around("- ", "1", "", depth), wanted),
            ("scalar subqueries", around("(select ", "1", ")", depth), wanted),
            ("EXISTS", around("exists (select ", "1", ")", depth), wanted),
            ("calls", around("abs(", "1", ")", depth), wanted),
            ("COALESCE", around("coalesce(null, ", "1", ")", depth), wanted),
            ("CAST", around("cast(", "1", " as int)", depth), wanted),
            (
                "arrays",
                around("array[", "1", "]", depth),
                Wanted::Any(&["54001", "0A000", "54000"]),
            ),
            ("IN", around("1 in (", "1", ")", depth), Wanted::Any(&["54001", "42883", "42804"])),
        ]);
    }
    cases.extend([
        ("derived tables, 10", derived(10), Wanted::Answer),
        ("derived tables", derived(2_000), refused),
        ("brackets without end", format!("select {}", "(".repeat(100_000)), refused),
        ("CASE without end", format!("select {}", "case when ".repeat(100_000)), refused),
        ("comments", format!("{} select 1", "/*".repeat(100_000)), Wanted::Error(&["42601"])),
        (
            "WITH in WITH",
            {
                let before: String = (0..2_000).fold(String::new(), |mut text, i| {
                    write!(text, "with c{i} as (").expect("text takes all");
                    text
                });
                let after: String =
                    (0..2_000).rev().fold(String::from("select 1 as x"), |text, i| {
                        format!("{text}) select * from c{i}")
                    });
                format!("{before}{after}")
            },
            refused,
        ),
    ]);
    cases
}

fn chain(operator: &str, operand: &str, length: usize) -> String {
    format!("select {}", vec![operand; length].join(&format!(" {operator} ")))
}

fn long() -> Vec<Case> {
    let any = Wanted::Any(LIMITS);
    let sets = |operation: &str| vec!["select 1"; 10_000].join(&format!(" {operation} "));
    let conditions = |operator: &str| {
        let parts: Vec<String> = (0..10_000).map(|i| format!("a = {i}")).collect();
        format!("select a from t where {}", parts.join(&format!(" {operator} ")))
    };
    let numbers: Vec<String> = (0..20_000).map(|i| i.to_string()).collect();
    let literal = "x".repeat(10 << 20);
    let chained: Vec<String> =
        (1..1_000).map(|i| format!("c{i} as (select * from c{})", i - 1)).collect();
    vec![
        ("AND", conditions("and"), any),
        ("OR", conditions("or"), any),
        ("+", chain("+", "1", 10_000), any),
        ("||", chain("||", "'x'", 10_000), any),
        ("=", chain("=", "true", 10_000), any),
        ("casts", format!("select 1{}", "::int".repeat(10_000)), any),
        (
            "subscripts",
            format!("select array[1]{}", "[1]".repeat(10_000)),
            Wanted::Error(&["54000"]),
        ),
        ("UNION ALL", sets("union all"), any),
        ("UNION", sets("union"), any),
        ("INTERSECT", sets("intersect"), any),
        ("EXCEPT", sets("except"), any),
        ("IN list", format!("select a from t where a in ({})", numbers.join(",")), any),
        ("VALUES", format!("values ({})", numbers.join("),(")), any),
        ("a literal of 10 MiB", format!("select length('{literal}')"), Wanted::Answer),
        ("a name of 10 MiB", format!("select \"{literal}\" from t"), Wanted::Error(&["42703"])),
        (
            "a number of 10 MiB",
            format!("select {}", "9".repeat(10 << 20)),
            Wanted::Error(&["22003", "54000", "42601"]),
        ),
        ("a comment of 10 MiB", format!("select 1 /* {literal} */"), Wanted::Answer),
        ("a literal without end", format!("select '{literal}"), Wanted::Error(&["42601"])),
        ("a dollar quote without end", format!("select $a${literal}"), Wanted::Error(&["42601"])),
        (
            "more than is parsed",
            format!("select '{}'", "x".repeat(70 << 20)),
            Wanted::Error(LIMITS),
        ),
        (
            "a chain of WITH",
            format!("with c0 as (select 1 as x), {} select * from c999", chained.join(", ")),
            any,
        ),
        ("1,000 statements", "select 1;".repeat(1_000), Wanted::Any(LIMITS)),
    ]
}

fn wide() -> Vec<Case> {
    let any = Wanted::Any(LIMITS);
    let columns = |count: usize, what: &str| {
        (0..count).map(|i| format!("{what}{i}")).collect::<Vec<_>>().join(", ")
    };
    let tables = |count: usize| (0..count).map(|i| format!("t t{i}")).collect::<Vec<_>>();
    let joined = |count: usize| {
        let joins = (1..count).map(|i| format!(" join t t{i} on t{i}.a = t0.a"));
        format!("select count(*) from t t0{}", joins.collect::<String>())
    };
    let fields: Vec<String> = (0..10_000).map(|i| format!("c{i} int")).collect();
    vec![
        ("10,000 columns of a result", format!("select {}", columns(10_000, "1 + ")), any),
        (
            "10,000 columns of a table",
            format!("create table w ({})", fields.join(", ")),
            Wanted::Error(LIMITS),
        ),
        ("30 joins", joined(30), Wanted::Answer),
        ("65 joins", joined(65), Wanted::Error(LIMITS)),
        ("10,000 joins", joined(10_000), Wanted::Error(LIMITS)),
        (
            "10,000 tables",
            format!("select 1 from {}", tables(10_000).join(", ")),
            Wanted::Error(LIMITS),
        ),
        ("10,000 groups", format!("select 1 from t group by {}", columns(10_000, "a + ")), any),
        (
            "10,000 arguments",
            format!("select concat({})", columns(10_000, "'x").replace(", ", "', ") + "'"),
            Wanted::Any(LIMITS),
        ),
        (
            "10,000 keys of an order",
            format!("select a from t order by {}", columns(10_000, "a + ")),
            any,
        ),
    ]
}

/// Views over views, and one over itself.
fn views(session: &mut Session) {
    session.execute("create view v0 as select a, b from t").expect("a view");
    let mut refused = None;
    for level in 1..200 {
        let text = format!("create view v{level} as select a, b from v{}", level - 1);
        if let Err(error) = session.execute(&text) {
            refused = Some(error.state.0.to_owned());
            break;
        }
    }
    assert_eq!(refused.as_deref(), Some("54001"), "a stack of views ends somewhere");
    let cyclic = "create or replace view v0 as select a, b from v3";
    check(session, "a view over itself", cyclic, Wanted::Error(&["42P17", "54001"]));
    check(session, "the view is as it was", "select a from v3", Wanted::Answer);
}
