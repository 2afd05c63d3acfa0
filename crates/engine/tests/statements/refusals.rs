//! Statements that cannot run say why in words of SQL: the SQLSTATE that PostgreSQL has or 0A000 with the
//! name of the thing, and no word of the library that binds and plans them.

use std::path::PathBuf;

use engine::{Database, Options, Session, SqlError};

struct Opened(PathBuf, Database);

impl Drop for Opened {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn open(name: &str) -> Opened {
    let folder =
        std::env::temp_dir().join(format!("dovetail-refusals-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = Options { memory_bytes: 16 << 20, workers: 1, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    let mut session = db.session();
    session
        .execute("create table t (a int primary key, b text, c numeric, d timestamp, e int[])")
        .expect("a table");
    Opened(folder, db)
}

/// Words of the library, in small letters.
const INSIDE: [&str; 30] = [
    "utf8",
    "int32",
    "int64",
    "float64",
    "decimal128",
    "decimal256",
    "date32",
    "time64",
    "monthdaynano",
    "fixedsizebinary",
    "binaryview",
    "list(",
    "coerc",
    "user-defined",
    "questiondash",
    "not implemented",
    "logicalplan",
    "logical plan",
    "scalarvalue",
    "schema error",
    "projections require",
    "execution error",
    "datafusion",
    "arrow error",
    "optimizer",
    "physical",
    "signature",
    "should be rewritten",
    "dot access",
    "iter_to_array",
];

/// What is refused by its name: statements, types, functions and operators of PostgreSQL that are not here.
const NAMED: [(&str, &str); 47] = [
    ("do $$ begin end $$", "DO"),
    ("cluster t", "CLUSTER"),
    ("reindex table t", "REINDEX"),
    ("alter system set work_mem = '1MB'", "ALTER SYSTEM"),
    ("alter database x set work_mem = '1MB'", "ALTER DATABASE"),
    ("security label on table t is 'x'", "SECURITY LABEL"),
    ("drop owned by x", "DROP OWNED"),
    ("reassign owned by x to y", "REASSIGN OWNED"),
    ("alter role x set work_mem = '1MB'", "ALTER ROLE"),
    ("create function f() returns int language sql as 'select 1'", "CREATE FUNCTION"),
    ("create or replace function f() returns int language sql as 'select 1'", "CREATE FUNCTION"),
    ("create schema s", "CREATE SCHEMA"),
    ("create type x as (a int)", "CREATE TYPE"),
    ("create domain x as int", "CREATE DOMAIN"),
    ("create extension x", "extension \"x\" is not available"),
    ("create trigger x before insert on t execute function f()", "CREATE TRIGGER"),
    ("create materialized view m as select 1", "MATERIALIZED VIEW"),
    ("refresh materialized view m", "REFRESH MATERIALIZED VIEW"),
    ("prepare transaction 'x'", "PREPARE TRANSACTION"),
    ("select '1.2.3.4'::inet", "inet"),
    ("select '1.2.3.0/24'::cidr", "cidr"),
    ("select '(1,2),(3,4)'::box", "box"),
    ("select '12.34'::money", "money"),
    ("select '[1,2)'::int4range", "int4range"),
    ("select 'a b'::tsvector", "tsvector"),
    ("select 'a'::tsquery", "tsquery"),
    ("select '{}'::json", "json"),
    ("select '{}'::jsonb", "jsonb"),
    ("select '<a/>'::xml", "xml"),
    ("select '10:00+01'::timetz", "timetz"),
    ("select '1'::bit(3)", "bit"),
    ("create table x (a json)", "json"),
    ("create table x (a point)", "point"),
    ("create table x (a macaddr[])", "macaddr"),
    ("create table x (a interval year to month)", "interval"),
    ("select to_json(1)", "to_json"),
    ("select lo_create(0)", "lo_create"),
    ("select json_agg(a) from t", "json_agg"),
    ("select row(1, 2)", "row"),
    ("select array[[1], [2]]", "dimension"),
    ("select array[e] from t", "dimension"),
    ("select ?- 1", "?-"),
    ("select '{\"a\":1}' -> 'a'", "->"),
    ("select string_agg(b::bytea, 'x'::bytea) from t", "string_agg"),
    ("create table x () with (storage = column)", "without columns"),
    ("select 'a' ~ '(?=a)'", "looking around"),
    ("select 'a' ~ '(a)\\1'", "reference"),
];

/// Statements that make little sense, or that only some of PostgreSQL understands.
const ODD: [&str; 72] = [
    "select 1 + 'x'::text",
    "select true + 1",
    "select now() + 1",
    "select now() * 2",
    "select interval '1 day' + 1",
    "select interval '1 day' * interval '1 day'",
    "select date '2020-01-01' + date '2020-01-01'",
    "select date '2020-01-01' * 2",
    "select -'a'::text",
    "select -true",
    "select not 1",
    "select 1 and true",
    "select 1 || 2",
    "select array[1] || 'x'::text",
    "select array[1] + 1",
    "select array[1, 'x'::text]",
    "select array[1] = array['a'::text]",
    "select 1 = 'a'::text",
    "select '{}'::text::uuid[]",
    "select b::uuid[] from t",
    "select e::uuid from t",
    "select 1::uuid",
    "select true::date",
    "select '2020-01-01'::date::int",
    "select a::bytea from t",
    "select b::bytea::int from t",
    "select greatest(1, 'x'::text)",
    "select greatest(1, true)",
    "select least(now(), 1)",
    "select coalesce(1, 'x'::text)",
    "select coalesce(now(), 1)",
    "select nullif(1, true)",
    "select case when 1 then 2 end",
    "select case when true then 1 else 'x'::text end",
    "select case 1 when 'x'::text then 1 end",
    "select sum(b) from t",
    "select sum(d) from t",
    "select avg(true)",
    "select max(true)",
    "select count(a, b) from t",
    "select sum(a, a) from t",
    "select stddev(b) from t",
    "select lag(a, 'x'::text) over () from t",
    "select ntile('x') over () from t",
    "select nth_value(a, true) over () from t",
    "select sum(a) over (range between 1 preceding and current row) from t",
    "select sum(a) over (order by b range between 1 preceding and current row) from t",
    "select upper(1, 2)",
    "select substr(1, 2)",
    "select substr('abc', 'x'::text)",
    "select extract(day from 1)",
    "select extract(nothing from now())",
    "select date_trunc('day', 1)",
    "select abs('x'::text)",
    "select abs(interval '1 day')",
    "select round('x'::text)",
    "select a[1] from t",
    "select e['x'::text] from t",
    "select (t).a from t",
    "select t.a.b from t",
    "select unnest(1)",
    "select unnest(e, e) from t",
    "select * from unnest(1)",
    "select a from t where unnest(e) = 1",
    "select a from t where sum(a) > 1",
    "select a from t group by b",
    "select a, a from t union select 1",
    "select a from t union select d from t",
    "select a in (select b from t) from t",
    "select (select a, b from t)",
    "select * from t join t on true",
    "with x as (insert into t values (1) returning a) select * from x",
];

fn failure(session: &mut Session, text: &str) -> Option<SqlError> {
    session.execute(text).err()
}

/// The error with all that a user sees of it.
fn shown(error: &SqlError) -> String {
    let rest = [&error.detail, &error.hint].into_iter().flatten();
    rest.fold(error.message.clone(), |text, more| format!("{text}\n{more}"))
}

fn check_words(text: &str, error: &SqlError) {
    let shown = shown(error);
    // What stands in quotes is the user's.
    let ours: String = shown.split('"').step_by(2).collect();
    let ours = ours.to_lowercase();
    let inside: Vec<_> = INSIDE.iter().filter(|word| ours.contains(*word)).collect();
    assert!(inside.is_empty(), "{text}: {shown}: {inside:?}");
    assert!(!shown.trim_end().ends_with(':'), "{text}: {shown}");
}

#[test]
fn what_is_not_here_is_refused_by_its_name() {
    let opened = open("refusals");
    let mut session = opened.1.session();
    let mut wrong = vec![];
    for (text, name) in NAMED {
        match failure(&mut session, text) {
            Some(error) => {
                check_words(text, &error);
                if error.state.0 != "0A000" || !shown(&error).contains(name) {
                    wrong.push(format!("{text}: {} {}", error.state.0, shown(&error)));
                }
            }
            None => wrong.push(format!("{text}: no error")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_message_has_words_of_the_library() {
    let opened = open("odd");
    let mut session = opened.1.session();
    let mut failed = 0;
    for text in ODD {
        let Some(error) = failure(&mut session, text) else { continue };
        failed += 1;
        check_words(text, &error);
        assert_ne!(error.state.0, "XX000", "{text}: {}", shown(&error));
    }
    assert!(failed > ODD.len() / 2, "most of these fail, not {failed}");
}
