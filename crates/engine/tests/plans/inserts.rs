//! Generic plans of `INSERT .. SELECT`: the query is planned once, and what becomes of its rows is what the table
//! says at the execution.

use engine::{Session, StatementResult, TransactionOptions};

use super::{TestFile, compare, outcome, plans, run};

/// Statements that are planned once; `%1` and so on are their values.
const ONCE: &[(&str, &str, &[&[&str]])] = &[
    (
        "insert into copied (id, amount, note) select id, amount * %1, %2 from orders
         where customer = %3 and id > 9",
        "numeric, text, int",
        &[&["2.00", "'twice'", "5"], &["0.50", "''", "100"], &["1.00", "'as it is'", "77"]],
    ),
    (
        "insert into copied (id, note) select id, name from customer where id between %1 and %2
         returning id, customer, note || '!'",
        "int, int",
        &[&["20", "25"], &["100", "101"], &["5", "4"], &["199", "500"]],
    ),
    (
        "insert into copied as c (id, amount) select id, amount from orders where id < %1 and amount > %2
         on conflict (id) do update set amount = c.amount + excluded.amount, note = 'met'
         where c.id <> 3 returning id, customer, amount, note",
        "int, numeric",
        &[&["5", "1.0"], &["12", "8.0"], &["20", "0.5"], &["3", "100.0"]],
    ),
    (
        "insert into copied (id, customer) select id, customer from orders where customer < %1
         on conflict do nothing",
        "int",
        &[&["5"], &["3"], &["9"], &["0"]],
    ),
    (
        "insert into line select id, %2, name, id
         from (select id, name from customer where region = %1) as few where id > %3
         on conflict (orders, number) do update set count = line.count + excluded.count",
        "int, int, int",
        &[&["1", "1", "150"], &["2", "7", "3"], &["0", "2", "190"], &["4", "0", "100"]],
    ),
    (
        "insert into copied (id, note, amount) select customer + 1000, 'sum', sum(amount) from orders
         where id > %1 group by customer having count(*) > %2",
        "int, int",
        &[&["700", "1"], &["1", "4"], &["990", "0"]],
    ),
    (
        "insert into copied (id) select id from orders where id > 9 order by id limit %1",
        "int",
        &[&["1"], &["3"], &["2"]],
    ),
    (
        "insert into copied (id, customer) with w as (select id, customer from orders where id between %1 and %2)
         select a.id, b.customer from w a join w b on a.id = b.id + 1",
        "int, int",
        &[&["20", "25"], &["100", "103"], &["5", "4"]],
    ),
];

/// Statements that are planned for their values, or about what no plan is kept for.
const EACH_TIME: &[(&str, &str, &[&[&str]])] = &[
    (
        "insert into copied (id) select id from orders where id < %1
         on conflict (id) do update set amount = %2",
        "int, numeric",
        &[&["5", "1"], &["12", "8"]],
    ),
    (
        "insert into copied (id) select id from orders where id between 10 and %1 returning id + %1",
        "int",
        &[&["15"], &["12"], &["17"]],
    ),
    (
        "insert into copied (id, note) select id, current_user from orders where id between 10 and %1",
        "int",
        &[&["15"], &["12"], &["17"]],
    ),
    (
        "insert into copied (id) select id from orders where id between 9 and %1
         on conflict (id) do update set note = 'met', at = now() returning id, at = now()",
        "int",
        &[&["12"], &["10"], &["11"]],
    ),
];

#[test]
fn inserts_of_queries_are_planned_once_and_answer_as_with_their_values() {
    let file = TestFile::new("inserts");
    let mut session = file.database().session();
    compare(&mut session, ONCE, 2);
    compare(&mut session, EACH_TIME, i64::MAX);
}

/// Plans of three executions, whose rows are taken back.
fn planned(session: &mut Session, execute: &str) -> i64 {
    let before = plans(session);
    for _ in 0..3 {
        outcome(session, execute, "select 1");
    }
    plans(session) - before
}

#[test]
fn an_insert_does_what_the_table_says_when_it_runs() {
    let file = TestFile::new("inserts-anew");
    let database = file.database();
    let (mut session, mut other) = (database.session(), database.session());
    session
        .execute(
            "create view cheap as select id, amount from orders where amount < 50;
             prepare q (int) as insert into copied (id, amount) select id, amount from cheap where id = $1
             on conflict (id) do update set amount = copied.amount * 100 returning id, customer, amount",
        )
        .expect("prepared");
    assert_eq!(planned(&mut session, "execute q(11)"), 2);
    // The change, the plans that three executions take then, one more of them and what it says.
    let changes = [
        ("select 1", 0, "execute q(12)", "12|7|15.00"),
        ("select 1", 0, "execute q(2)", "2|2|200.00"),
        (
            "alter table copied alter column customer set default 8",
            1,
            "execute q(13)",
            "13|8|16.25",
        ),
        (
            "alter table copied add constraint small check (amount < 20)",
            1,
            "execute q(14)",
            "14|8|17.50",
        ),
        ("select 1", 0, "execute q(30)", "23514"),
        ("alter table copied drop constraint small", 1, "execute q(30)", "30|8|37.50"),
        (
            "alter table copied alter column customer set default 80",
            1,
            "execute q(15)",
            "15|80|18.75",
        ),
        ("create unique index unlike on copied (customer)", 1, "execute q(15)", "15|80|18.75"),
        (
            "create or replace view cheap as select id + 1 as id, amount from orders where amount < 9",
            1,
            "execute q(1)",
            "",
        ),
        ("create index cheaper on orders (amount)", 1, "execute q(2)", "2|2|200.00"),
    ];
    for (change, plan_count, execute, expected) in changes {
        other.execute(change).expect(change);
        assert_eq!(planned(&mut session, "execute q(12)"), plan_count, "{change}");
        let found = outcome(&mut session, execute, "select 1").0.pop().unwrap_or_default();
        let is_as_expected = match expected {
            "" => found.is_empty(),
            _ => found.starts_with(expected),
        };
        assert!(is_as_expected, "{change}: {found}");
    }
    other.execute("alter table copied rename column customer to buyer").expect("renamed");
    assert!(run(&mut session, "execute q(2)")[0].starts_with("42703"));
}

#[test]
fn who_may_insert_and_read_is_asked_at_each_execution() {
    let file = TestFile::new("inserts-rights");
    let database = file.database();
    let (mut session, mut other) = (database.session(), database.session());
    let prepare = "prepare q (int) as insert into copied (id) select id from orders where id = $1 returning id";
    for session in [&mut session, &mut other] {
        session.execute(prepare).expect("prepared");
    }
    for id in 100..104 {
        assert_eq!(run(&mut session, &format!("execute q({id})")), [id.to_string()]);
    }
    session
        .execute("create role writer; grant select, insert on copied to writer; grant select on orders to writer")
        .expect("a role");
    other.execute("set role writer").expect("a role");
    let changes = [
        ("select 1", "200"),
        ("revoke select on orders from writer", "42501"),
        ("grant select on orders to writer; revoke insert on copied from writer", "42501"),
        ("grant insert on copied to writer", "201"),
    ];
    for (change, expected) in changes {
        session.execute(change).expect(change);
        let id = if expected == "42501" { "300" } else { expected };
        let found = run(&mut other, &format!("execute q({id})"));
        assert!(found[0].starts_with(expected), "{change}: {found:?}");
    }
}

#[test]
fn inserts_of_programs_are_planned_once_and_number_their_rows() {
    let file = TestFile::new("inserts-library");
    let database = file.database();
    let mut session = database.session();
    session
        .execute("create table numbered (number int generated by default as identity, id int)")
        .expect("a table");
    let text = "insert into numbered (id) select id from orders where customer = $1 and id < 400";
    let inserted = database.transaction(&TransactionOptions::default(), async |tx| {
        let prepared = tx.prepared_text(text).await?;
        for customer in 11..=20i64 {
            match tx.run_prepared(&prepared, &[customer.into()]).await? {
                StatementResult::Command { tag } => assert_eq!(tag, "INSERT 0 2"),
                other => panic!("{other:?}"),
            }
        }
        Ok(())
    });
    inserted.expect("inserted");
    let found =
        run(&mut session, "select count(*), min(number), max(number), sum(id) from numbered");
    // The numbers from 10 to 19, and the same with 200 more.
    assert_eq!(found, ["20|1|20|2290"]);
    let shape = text.replace("400", "$2");
    let known = format!("select sum(plans) from pg_stat_statements where query = '{shape}'");
    assert_eq!(run(&mut session, &known), ["2"]);
    assert_eq!(plans(&mut session), 0);
}
