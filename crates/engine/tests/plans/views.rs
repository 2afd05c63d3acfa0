//! Generic plans of statements about views: they are those of the views and of the rights of the execution.

use std::collections::BTreeSet;

use engine::{Database, Datum, Session, StatementResult, TransactionOptions};

use super::{TestFile, compare, plans, plans_of, run};

const VIEWS: &str = "
    create view big as select id, customer, amount from orders where amount > 100;
    create view big_of as select b.id, b.amount, c.name from big b join customer c on c.id = b.customer;
    create view recent (number, moment) as select id, at from orders where at < now();
    create view sums as select customer, sum(amount) as total, count(*) as many from orders
        group by customer";

/// Statements about them; `%1` and so on are their values. Each runs ten times.
const STATEMENTS: &[(&str, &str, &[&[&str]])] = &[
    (
        "select * from big where id < %1 and amount < %2 order by id",
        "int, numeric",
        &[&["90", "110.0"], &["1000", "130.5"], &["5", "1.0"], &["100", "1000.0"], &["85", "105.0"]],
    ),
    (
        "select name, amount from big_of where id = %1",
        "int",
        &[&["100"], &["101"], &["7"], &["1000"], &["555"]],
    ),
    (
        "select o.id, b.name from orders o join big_of b on b.id = o.id where o.customer = %1
         order by o.id",
        "int",
        &[&["3"], &["100"], &["77"], &["200"], &["1"]],
    ),
    (
        "select number, moment < now() from recent where number < %1 and moment > now() - %2
         order by number",
        "int, interval",
        &[
            &["5", "'100 years'"],
            &["9", "'99 years'"],
            &["20", "'1 second'"],
            &["2", "'98 years'"],
            &["7", "'90 years'"],
        ],
    ),
    (
        "select total, many from sums where customer = %1 and total > %2",
        "int, numeric",
        &[&["3", "5"], &["4", "100000"], &["7", "0"], &["200", "1"], &["55", "2"]],
    ),
    (
        "update line set count = count + %1 where orders in (select id from big where customer = %2)
         returning orders, number, count",
        "int, int",
        &[&["1", "100"], &["2", "120"], &["3", "80"], &["4", "7"], &["5", "199"]],
    ),
    (
        "delete from line using big_of b where b.id = line.orders and b.name = %1
         returning orders, number",
        "text",
        &[&["'name 100'"], &["'name 7'"], &["'none'"], &["'name 199'"], &["'name 82'"]],
    ),
];

fn database(file: &TestFile) -> Database {
    let database = file.database();
    database.session().execute(VIEWS).expect("the views");
    database
}

/// Plans of four executions.
fn planned(session: &mut Session, execute: &str) -> i64 {
    (0..4).map(|_| plans_of(session, execute)).sum()
}

#[test]
fn statements_about_views_are_planned_once_and_answer_as_with_their_values() {
    let file = TestFile::new("views");
    let database = database(&file);
    compare(&mut database.session(), STATEMENTS, 2);
}

#[test]
fn a_view_that_has_changed_is_planned_for_anew() {
    let file = TestFile::new("replaced");
    let database = database(&file);
    let (mut session, mut other) = (database.session(), database.session());
    let texts = [
        ("direct", "select id, amount from big where customer = 100 order by id"),
        ("nested", "select id, amount, name from big_of where name like 'name 10%' order by id"),
    ];
    session
        .execute(
            "prepare q_direct (int) as select id, amount from big where customer = $1 order by id;
             prepare q_nested (text) as select id, amount, name from big_of where name like $1 order by id",
        )
        .expect("prepared");
    let executes = ["execute q_direct(100)", "execute q_nested('name 10%')"];
    for execute in executes {
        assert_eq!(planned(&mut session, execute), 2, "{execute}");
    }
    let changes = [
        "create or replace view big as select id, customer, amount from orders where amount > 900",
        "create or replace view big as select id + 1 as id, customer, amount from orders where id < 500",
        "drop view big_of; drop view big;
         create view big as select id, id % 150 as customer, amount from orders;
         create view big_of as select b.id, b.amount, c.name from big b join customer c on c.id = b.customer",
        "drop view big_of; drop view big; create table big (id int primary key, customer int, amount numeric(10,2));
         insert into big values (1, 100, 5), (2, 101, 6), (3, 5, 7);
         create view big_of as select b.id, b.amount, c.name from big b join customer c on c.id = b.customer",
        "drop view big_of; drop table big;
         create view big as select id, customer, amount from orders where amount < 200;
         create view big_of as select b.id, b.amount, c.name from big b join customer c on c.id = b.customer",
        "create index orders_amount on orders (amount)",
        "alter table orders add column note text default 'none'",
        "analyze orders",
    ];
    let mut seen = BTreeSet::new();
    for change in changes {
        other.execute(change).expect(change);
        for (execute, (_, text)) in executes.iter().zip(texts) {
            let expected = run(&mut other, text);
            assert_eq!(run(&mut session, execute), expected, "{execute}: {change}");
            assert_eq!(planned(&mut session, execute), 0, "{execute}: {change}");
            seen.insert(expected);
        }
    }
    // Five views, each by its name and within another one.
    assert!(seen.len() == 10 && seen.iter().all(|rows| !rows.is_empty()), "{seen:?}");
    // A view that is gone is missing, whatever plan there was.
    other.execute("drop view big_of; drop view big").expect("dropped");
    for execute in executes {
        assert!(run(&mut session, execute)[0].starts_with("42P01"), "{execute}");
    }
}

#[test]
fn a_view_that_is_not_committed_is_planned_for_in_its_session_only() {
    let file = TestFile::new("own-view");
    let database = database(&file);
    let (mut session, mut other) = (database.session(), database.session());
    let before = ["100"];
    for session in [&mut session, &mut other] {
        session
            .execute("prepare q (int) as select min(id) from big where id >= $1")
            .expect("prepared");
        for _ in 0..3 {
            assert_eq!(run(session, "execute q(100)"), before);
        }
    }
    session
        .execute("begin; create or replace view big as select id, customer, amount from orders where id > 600")
        .expect("replaced");
    for _ in 0..3 {
        assert_eq!(run(&mut session, "execute q(100)"), ["601"]);
    }
    session.execute("rollback").expect("taken back");
    for session in [&mut session, &mut other] {
        assert_eq!(run(session, "execute q(100)"), before);
    }
}

#[test]
fn who_may_read_a_view_is_asked_at_each_execution() {
    let file = TestFile::new("rights");
    let database = database(&file);
    let (mut session, mut other) = (database.session(), database.session());
    session
        .execute(
            "create role keeper; create role reader; grant create on schema public to keeper;
             grant select on orders to keeper; set role keeper;
             create view kept as select id, amount from orders; grant select on kept to reader;
             reset role",
        )
        .expect("roles");
    let prepare = "prepare q (int) as select count(*) from kept where id <= $1";
    session.execute(prepare).expect("prepared");
    other.execute(prepare).expect("prepared");
    other.execute("set role reader").expect("a role");
    let mut check = |change: &str, expected: &str| {
        session.execute(change).expect(change);
        for _ in 0..3 {
            let found = run(&mut other, "execute q(7)");
            assert!(found[0].starts_with(expected), "{change}: {found:?}");
            assert_eq!(run(&mut session, "execute q(7)").len(), 1);
        }
    };
    check("select 1", "7");
    check("revoke select on kept from reader", "42501");
    check("grant select on kept to reader", "7");
    // The view reads as its owner.
    check("revoke select on orders from keeper", "42501");
    check("grant select on orders to reader", "42501");
    check("grant select on orders to keeper", "7");
}

#[test]
fn statements_of_programs_about_views_are_planned_once_too() {
    let file = TestFile::new("library");
    let database = database(&file);
    let mut session = database.session();
    let text = "select count(*) from big where customer = $1";
    let counts = |database: &Database| {
        let counts = database.transaction(&TransactionOptions::default(), async |tx| {
            let prepared = tx.prepared_text(text).await?;
            let mut counts = vec![];
            for customer in 1..=10i64 {
                let result = tx.run_prepared(&prepared, &[(customer * 20).into()]).await?;
                let StatementResult::Rows(rows) = result else { panic!("no rows") };
                counts.extend(rows.rows()?.into_iter().flatten());
            }
            Ok(counts)
        });
        counts.expect("counts")
    };
    let known =
        format!("select coalesce(sum(plans), 0) from pg_stat_statements where query = '{text}'");
    let taken = |session: &mut Session| run(session, &known)[0].parse::<i64>().expect("a number");
    assert_eq!(plans(&mut session), 0);
    // A customer has five orders, of which the first two have ids that are too small.
    let mut expected = vec![Datum::Int(5); 10];
    expected[..4].fill(Datum::Int(4));
    assert_eq!(counts(&database), expected);
    assert_eq!(taken(&mut session), 2);
    session
        .execute(
            "create or replace view big as select id, customer, amount from orders where id > 800",
        )
        .expect("replaced");
    assert_eq!(counts(&database), vec![Datum::Int(1); 10]);
    assert_eq!(taken(&mut session), 3);
}
