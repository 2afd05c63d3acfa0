//! Queries that nobody prepares: texts that differ in the literals behind equals signs have a generic plan together,
//! and each answers as it would alone.

use engine::{Database, Session, SqlError};

use super::statements::SETUP;
use super::{TestFile, run};

/// How often queries whose shapes begin so were planned.
fn plans(session: &mut Session, shape: &str) -> i64 {
    let text = format!(
        "select coalesce(sum(plans), 0) from pg_stat_statements where query like '{shape}%'"
    );
    run(session, &text)[0].parse().expect("a number")
}

/// A column, and literals that it is compared with, of which the last is written in another form.
const LITERALS: &[(&str, &[&str])] = &[
    ("k", &["3", "7", "12", "0", "2147483648", "99999999999", "'5'"]),
    ("s", &["3", "7", "12", "0", "32768", "2147483648", "'5'"]),
    ("n", &["0", "1", "2", "3", "'1.250'", "'0.125'", "'1e0'"]),
    ("free", &["0", "1", "'0'", "'0.01'", "'0.020'", "'1e-2'"]),
    ("f", &["0", "1", "2", "'1.25'", "'NaN'", "'-0'", "'Infinity'"]),
    ("r", &["0", "1", "2", "3", "16777217", "'1.5'", "'NaN'"]),
    ("x", &["'x3'", "'x1'", "''", "'x1  '", "'it''s'", "'now'"]),
    ("v", &["'v3'", "'v1'", "''", "'v1  '", "'a long text of many letters'"]),
    ("c", &["'ab'", "'ab1'", "'ab  '", "''", "'ab1   '"]),
    ("d", &["'2024-02-29'", "'2024-03-05'", "'today'", "'infinity'", "'March 5, 2024'"]),
    ("at", &["'2024-03-01 12:00'", "'2024-02-28 12:00:00'", "'now'", "'2024-03-05'"]),
    ("moment", &["'2024-03-30 12:00+00'", "'2024-03-31 02:30'", "'2024-03-30 07:00-05'"]),
    ("b", &["'t'", "'false'", "'on'", "'0'"]),
    ("u", &["'00000000-0000-0000-0000-000000000003'", "'{00000000-0000-0000-0000-000000000007}'"]),
    ("span", &["'1 day'", "'24 hours'", "'1 month'", "'30 days'"]),
];

#[test]
fn literals_of_texts_are_compared_as_each_text_says() {
    let file = TestFile::new("literals");
    let mut session = file.database_of(SETUP).session();
    for (column, literals) in LITERALS {
        for _ in 0..3 {
            for literal in *literals {
                let text = |condition: String| {
                    format!(
                        "select t.id, {column} from t join seen on seen.id = t.id where {condition} and t.id > 2 order by 1 limit 40"
                    )
                };
                let found = run(&mut session, &text(format!("{column} = {literal}")));
                let expected = run(&mut session, &text(format!("{column} in ({literal})")));
                assert_eq!(found, expected, "{column} = {literal}");
            }
        }
    }
    let planned =
        plans(&mut session, "select t.id, x from t join seen on seen.id = t.id where x = ");
    assert!(planned <= 3, "{planned} plans of 18 executions");
}

/// Queries with a place for a number, and whether they are planned again and again.
const QUERIES: &[(&str, bool)] = &[
    ("select count(*), sum(amount) from orders where customer = % and amount > 100", false),
    (
        "select o.id, c.name from orders o join customer c on c.id = o.customer where c.region = % and o.id = 77",
        false,
    ),
    (
        "select customer = % as it, count(*) from orders where amount < 90 group by 1 order by 2",
        false,
    ),
    ("select id from orders where customer = % order by 1 desc limit 2", false),
    (
        "select count(*), sum(l.count) from orders o join line l on l.orders = o.id where o.customer = %",
        false,
    ),
    ("select name from customer where id in (select customer from orders where id = %)", false),
    ("select id, amount from priced where customer = % order by 1", false),
    // Two literals are two parameters, of which the library does not know that they are the same.
    ("select customer = %, count(*) from orders group by customer = %", true),
    ("select current_user, id from orders where customer = % and amount > 5", true),
    ("select id from orders where customer = % and at < timestamp 'tomorrow'", true),
];

#[test]
fn texts_that_differ_in_literals_are_planned_a_few_times_in_all() {
    let file = TestFile::new("texts");
    let database = file.database();
    let mut session = database.session();
    session
        .execute("create view priced as select id, customer, amount from orders where at < now()")
        .expect("a view");
    for (query, again) in QUERIES {
        let shape = query.split('%').next().expect("a beginning");
        let before = plans(&mut session, shape);
        for number in 1..=10 {
            let text = query.replace('%', &number.to_string());
            // In another place of the text the same literals stand for themselves.
            let alone = text.replace("= ", "= 0 + ");
            assert_eq!(run(&mut session, &text), run(&mut session, &alone), "{text}");
        }
        let planned = plans(&mut session, shape) - before;
        // Those that stand for themselves are planned each time: they are of another shape.
        match again {
            true => assert!(planned >= 20, "{planned} plans: {query}"),
            // A text is known from the third time on, its plan for all values from the fifth.
            false => assert!(planned <= 4 + 10, "{planned} plans: {query}"),
        }
    }
}

fn error(session: &mut Session, text: &str) -> SqlError {
    session.execute(text).err().unwrap_or_else(|| panic!("no error: {text}"))
}

#[test]
fn errors_of_texts_are_those_of_the_text_as_it_was_written() {
    let file = TestFile::new("text-errors");
    let database: Database = file.database();
    let (mut session, mut other) = (database.session(), database.session());
    let text = |literal: &str| {
        format!(
            "select o.id from orders o join customer c on c.id = o.customer where o.at = {literal} and c.region = 1"
        )
    };
    for day in 1..=5 {
        session.execute(&text(&format!("'2024-01-0{day}'"))).expect("rows");
    }
    for literal in ["'no time'", "5", "'2024-13-01'"] {
        let (known, new) = (error(&mut session, &text(literal)), error(&mut other, &text(literal)));
        assert_eq!((known.state, &known.message), (new.state, &new.message), "{literal}");
        assert_eq!(known.position, new.position, "{literal}");
    }
    session.execute("begin").expect("begun");
    error(&mut session, "select 1 / 0");
    assert_eq!(error(&mut session, &text("'2024-01-01'")).state.0, "25P02");
}

#[test]
fn a_text_is_planned_anew_when_what_its_plan_depends_on_has_changed() {
    let file = TestFile::new("texts-anew");
    let database = file.database();
    let (mut session, mut other) = (database.session(), database.session());
    other.execute("create table coded (id int primary key, code text, n int)").expect("a table");
    other
        .execute("insert into coded values (1, '07', 7), (2, '7', 7), (3, '2024-01-01', 8)")
        .expect("rows");
    let text = "select id from coded where code = '7' and n > 1 order by id";
    for _ in 0..4 {
        assert_eq!(run(&mut session, text), ["2"]);
    }
    let changes: &[(&str, &[&str])] = &[
        ("alter table coded alter column code type varchar(20)", &["2"]),
        (
            "delete from coded where id = 3; alter table coded alter column code type int using code::int",
            &["1", "2"],
        ),
        (
            "alter table coded rename to codes; create view coded as select id, code::text as code, n from codes",
            &["1", "2"],
        ),
        (
            "create or replace view coded as select id + 10 as id, code::text as code, n from codes",
            &["11", "12"],
        ),
        ("create role reader; grant select on customer to reader", &["11", "12"]),
    ];
    for (change, expected) in changes {
        other.execute(change).expect(change);
        for _ in 0..4 {
            assert_eq!(run(&mut session, text), *expected, "{change}");
        }
    }
    session.execute("set role reader").expect("a role");
    assert!(run(&mut session, text)[0].starts_with("42501"));
}
