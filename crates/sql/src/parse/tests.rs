//! Statements, syntax errors with positions, refusals, and limits of depth.

use crate::parse::statement::Statement;
use crate::parse::text::parse;

fn outcome(text: &str) -> String {
    match parse(text) {
        Ok(statements) => {
            let kinds = statements.iter().map(|s| {
                let debug = format!("{s:?}");
                debug.split(['(', ' ']).next().unwrap_or_default().to_string()
            });
            kinds.collect::<Vec<_>>().join(" ")
        }
        Err(error) => {
            let place = error.position.map(|p| format!(" at {p}")).unwrap_or_default();
            format!("{}{place}: {}", error.state, error.message)
        }
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(outcome(text), expected, "{text}");
}

#[test]
fn statements_are_dispatched() {
    check("", "");
    check(" ; ; -- nothing\n", "");
    check("select 1; values (1); with x as (select 1) select * from x", "Query Query Query");
    check("explain (analyze, costs off) select 1", "Explain");
    check("explain analyze select 1", "Explain");
    check("create table t (a int primary key, b varchar(10) not null)", "CreateTable");
    check("create index i on t (a, b)", "CreateIndex");
    check("drop table if exists a, b", "Drop");
    check("insert into t (a) values (1), (2)", "Insert");
    check("copy t from '/tmp/x.csv' with (format csv, header, delimiter '|')", "Copy");
    check("copy t (a, b) from stdin csv header", "Copy");
    check("analyze", "Analyze");
    check("analyze t", "Analyze");
    check("set execution_mode = ooo", "Set");
    check("set x to 'a b'", "Set");
    check("show all; reset all; reset x", "Show Reset Reset");
    check("checkpoint; backup database to '/tmp/x'", "Checkpoint Backup");
    check("alter database add member '/x' with format", "Member");
    check("alter database drop member '/dev/sdb, c'", "Member");
}

#[test]
fn values_of_settings_are_plain_text() {
    for (text, expected) in [
        ("set m = OOO", Some("ooo")),
        ("set m = 'Ooo'", Some("Ooo")),
        ("set m to 5", Some("5")),
        ("set m = default", None),
    ] {
        let statements = parse(text).unwrap();
        let [Statement::Set { name, value }] = statements.as_slice() else {
            panic!("{text}: {statements:?}");
        };
        assert_eq!((name.as_str(), value.as_deref()), ("m", expected), "{text}");
    }
}

#[test]
fn syntax_errors_have_a_position() {
    check("selekt 1", "42601 at 1: syntax error at or near \"selekt\"");
    check("select 1 from", "42601 at 14: syntax error at end of input");
    check("select 1;\nselect (2", "42601 at 20: syntax error at end of input");
    check("select 1 1", "42601 at 10: syntax error at or near \"1\"");
    check("select 'ü', from from t", "42601 at 18: syntax error at or near \"from\"");
    check("select 'open", "42601 at 8: unterminated string literal");
}

#[test]
fn what_we_do_not_have_is_refused() {
    for text in [
        "select * from t tablesample system (10)",
        "create table t (a int) partition by range (a)",
        "create table t (a json)",
        "create materialized view v as select 1",
        "explain (format xml) select 1",
        "create index i on t using gist (a)",
        "create unique index i on t using hash (a)",
        "create index i on t ((a + 1))",
        "copy t to program 'cat'",
        "copy t from stdin where a > 1",
    ] {
        let got = outcome(text);
        assert!(got.starts_with("0A000"), "{text}: {got}");
    }
}

#[test]
fn definitions_are_checked() {
    check("create table t (a int, a int)", "42701: column \"a\" specified more than once");
    check(
        "create table t (a numeric(40,2))",
        "22023: numeric precision 40 must be between 1 and 38",
    );
}

/// Nothing deep may overflow the stack: tests run on threads with 2 MiB.
#[test]
fn depth_is_limited() {
    for text in [
        format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("select {}1", "- ".repeat(100_000)),
        format!("select 1{}", " + 1".repeat(100_000)),
        format!("select 1{}", "::int".repeat(100_000)),
        format!("select {}", "not ".repeat(100_000)),
        format!("select 1{}", " union select 1".repeat(100_000)),
        format!("select {}", "case when true then ".repeat(100_000)),
        format!("select * from t{}", " join t on true".repeat(100_000)),
    ] {
        let got = outcome(&text);
        assert!(got.starts_with("54001"), "{}: {got}", &text[..40]);
    }
    let wide = format!("select 1 in ({})", vec!["1"; 10_000].join(", "));
    check(&wide, "Query");
    let joins = format!("select * from {}", vec!["t"; 1000].join(", "));
    check(&joins, "54000: too many relations in FROM");
}
