//! Generic plans: statements that run again are planned once, their answers are those of statements with the
//! values in their text, and a plan is not used when what it depends on has changed.
#![allow(clippy::disallowed_methods)] // tests prepare files of their own

mod any_values;
mod inserts;
mod programs;
mod statements;
mod texts;
mod views;

use std::path::PathBuf;

use engine::{Database, Options, Session, StatementResult};
use types::text::format_value;

/// Executions of which at most the first two may be planned.
const EXECUTIONS: usize = 100;

const SETUP: &str = "
    create table customer (id int primary key, name text not null, credit numeric(10,2), region int);
    create table orders (id int primary key, customer int not null, at timestamp, amount numeric(10,2));
    create table line (orders int, number int, item text, count int, primary key (orders, number));
    create table copied (id int primary key, customer int default 7, amount numeric(10,2), note text,
        at timestamptz default now());
    create index orders_customer on orders (customer);
    create sequence numbers;
    insert into copied (id, customer, amount, note) select g, g, g, 'note' from generate_series(1, 9) g;
    insert into customer select g, 'name ' || g, g / 7.0, g % 5 from generate_series(1, 200) g;
    insert into orders select g, g % 200 + 1, timestamp '2024-01-01' + g * interval '1 hour', g * 1.25
        from generate_series(1, 1000) g;
    insert into line select g / 3, g % 3, 'item ' || g % 17, g % 11 from generate_series(1, 3000) g;
    analyze";

struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str) -> TestFile {
        let file = format!("dovetail-plans-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        TestFile(path)
    }

    fn database(&self) -> Database {
        self.database_of(SETUP)
    }

    fn database_of(&self, setup: &str) -> Database {
        let options = Options { memory_bytes: 32 << 20, workers: 1, ..pg::options() };
        let database = Database::create(&self.0, options).expect("a database");
        database.session().execute(setup).expect("the tables");
        database
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// The rows of a statement as text, or its error.
fn run(session: &mut Session, text: &str) -> Vec<String> {
    let result = match session.execute(text) {
        Ok(mut results) => results.pop().expect("a result"),
        Err(error) => return vec![format!("{} {}", error.state.0, error.message)],
    };
    let StatementResult::Rows(rows) = result else { return vec![format!("{result:?}")] };
    let mut lines = vec![];
    for batch in &rows.batches {
        for row in 0..batch.num_rows() {
            let value = |column: &arrow_array::ArrayRef| {
                format_value(column, row).unwrap_or_else(|| "null".to_owned())
            };
            lines.push(batch.columns().iter().map(value).collect::<Vec<_>>().join("|"));
        }
    }
    lines
}

/// How often `execute q` was planned.
fn plans(session: &mut Session) -> i64 {
    let text =
        "select coalesce(sum(plans), 0) from pg_stat_statements where query like 'execute q%'";
    run(session, text)[0].parse().expect("a number")
}

/// Plans that one more execution takes.
fn plans_of(session: &mut Session, execute: &str) -> i64 {
    let before = plans(session);
    run(session, execute);
    plans(session) - before
}

/// Statements that have a generic plan; `%1` and so on are their values.
const GENERIC: &[(&str, &str, &[&[&str]])] = &[
    (
        "select o.id, o.amount, c.name from orders o join customer c on c.id = o.customer
         where o.id >= %1 and o.id < %2 order by o.id",
        "int, int",
        &[&["1", "5"], &["900", "920"], &["17", "17"], &["990", "100000"], &["1", "3"]],
    ),
    (
        "select count(*), sum(amount), min(at) from orders where customer = %1 and amount > %2",
        "int, numeric",
        &[&["7", "10.00"], &["200", "0.01"], &["5", "1000.00"], &["77", "400.50"]],
    ),
    (
        "select id, amount * %2, case when amount > %1 then 'much' else 'little' end from orders
         where at between %3 and %4 order by amount desc, id limit 4",
        "numeric, numeric, timestamp, timestamp",
        &[
            &["5.0", "2.0", "'2024-01-02'", "'2024-01-03'"],
            &["50.0", "0.5", "'2024-01-20 10:00'", "'2024-02-01'"],
            &["500.0", "1.0", "'2024-03-01'", "'2023-01-01'"],
        ],
    ),
    (
        "select region, count(*) from customer where name like %1 group by region
         having count(*) > %2 order by region",
        "text, int",
        &[&["'name 1%'", "3"], &["'name 2%'", "1"], &["'%0'", "0"], &["'none'", "0"]],
    ),
    (
        "select count(distinct l.item) from line l join orders o on o.id = l.orders
         where o.customer = %1 and l.number < %2 and l.count + 1 >= %3",
        "int, int, int",
        &[&["3", "2", "1"], &["9", "1", "4"], &["120", "3", "2"]],
    ),
    (
        "select now() > at, id from orders where id = %1 and at < now()",
        "int",
        &[&["3"], &["4"], &["5"]],
    ),
    ("select %1 + 1, %2 || 'x'", "int, text", &[&["1", "'a'"], &["2", "'b'"], &["3", "''"]]),
    (
        "select id, name from customer where name ~ %1 and name !~* %2 order by id",
        "text, text",
        &[&["'1.$'", "'NAME 2'"], &["'^name 3'", "'7'"], &["'x'", "'y'"], &["'.'", "'[1-8]'"]],
    ),
    ("select id from orders order by id limit %1", "int", &[&["3"], &["2"], &["0"], &["4"]]),
    (
        "select amount, id from orders where customer < %3 order by amount desc, id limit %1 offset %2",
        "bigint, bigint, int",
        &[&["3", "0", "9"], &["2", "7", "50"], &["0", "1", "5"], &["100000", "2", "4"], &["1", "99999", "7"]],
    ),
    (
        "select count(*) from (select id from orders where customer = %2 limit %1 + 1) q",
        "int, int",
        &[&["3", "7"], &["1", "7"], &["0", "8"], &["1000", "9"]],
    ),
    (
        "with w as (select id, customer from orders where id < %1)
         select w.id, c.name from w join customer c on c.id = w.customer where c.region = %2 order by 1",
        "int, int",
        &[&["100", "1"], &["5", "2"], &["0", "3"], &["10000", "4"]],
    ),
    (
        "with w as materialized (select customer, sum(amount) as total from orders where id < %1 group by 1)
         select customer, total from w where total > %2 order by 1",
        "int, numeric",
        &[&["100", "50"], &["5", "0"], &["0", "3"], &["10000", "4000"]],
    ),
    (
        "with w as (select id, customer from orders where id < %1), v as (select * from w where id > %2)
         select a.id, b.id from v a join w b on a.customer = b.customer and a.id < b.id
         order by 1, 2 limit %3",
        "int, int, bigint",
        &[&["500", "3", "9"], &["20", "2", "5"], &["0", "3", "4"], &["1000", "0", "50"]],
    ),
    (
        "(select id from orders order by amount, id limit %1) union all
         (select id from customer order by id desc limit %2 offset %3)",
        "int, int, int",
        &[&["3", "2", "1"], &["2", "9", "4"], &["0", "5", "0"], &["1", "0", "1000"]],
    ),
    (
        "select name from customer c where exists (select 1 from orders o where o.customer = c.id
         and o.amount > %1) and c.id < %2 order by name",
        "numeric, int",
        &[&["1200", "50"], &["1", "4"], &["900", "20"]],
    ),
    ("select nextval('numbers') > 0, %1 + 1", "int", &[&["3"], &["2"], &["4"]]),
    ("select id, random() < %1 from orders where id < %1", "int", &[&["3"], &["2"], &["4"]]),
];

/// Statements whose plans depend on their values, or on what may not be kept; `%1` and so on are their
/// values.
const EACH_TIME: &[(&str, &str, &[&[&str]])] = &[
    ("select current_user, id from orders where id < %1", "int", &[&["3"], &["2"], &["4"], &["1"]]),
    ("select count(*) from pg_class where relname > %1", "text", &[&["'a'"], &["'o'"], &["'p'"]]),
    (
        "select id from orders where id < %1 and at < timestamp 'now'",
        "int",
        &[&["3"], &["2"], &["4"]],
    ),
    // What becomes of a subquery depends on its number of rows.
    (
        "select id from orders o where id < 9 and exists (select 1 from customer c where c.id = o.customer limit %1)",
        "int",
        &[&["2"], &["1"], &["0"], &["3"]],
    ),
    (
        "select id from orders o where id < 9
         and not exists (select 1 from customer c where c.id = o.customer fetch first (%1) rows only)",
        "int",
        &[&["2"], &["1"], &["0"], &["3"]],
    ),
    (
        "select o.id, q.number from orders o, lateral (select number from line l where l.orders = o.id
         order by number limit %1) q where o.id < 9",
        "int",
        &[&["2"], &["1"], &["0"], &["3"]],
    ),
    // A bound of one table is one of the other, too, where it is known.
    (
        "update line set count = count + 1 where orders between 3 and %1 and number < 2
         returning orders, number, case when count > %1 then 'more' end",
        "int",
        &[&["5"], &["4"], &["9"]],
    ),
    (
        "update line set count = count + %1 where number = 2 returning orders, now() > '2000-01-01'",
        "int",
        &[&["5"], &["4"], &["9"]],
    ),
    (
        "delete from line where count < %1 returning current_user, orders, number",
        "int",
        &[&["2"], &["1"]],
    ),
];

/// All that statements change.
const CONTENTS: &str =
    "select (select sum(count * 7 + length(item)) from line), (select sum(amount) from orders),
    (select count(*) from orders where at > '2025-01-01'), (select sum(credit) from customer),
    (select string_agg(concat(id, ' ', customer, ' ', amount, ' ', note), ',' order by id) from copied)";

/// Changes that are planned once: they are no look-ups by a key.
const CHANGES: &[(&str, &str, &[&[&str]])] = &[
    (
        "update line set count = count + %1, item = %4 where orders > %2 and orders < %3 and item like 'item 1%'
         returning *",
        "int, int, int, text",
        &[
            &["1", "3", "9", "'one'"],
            &["7", "900", "905", "''"],
            &["-1", "5", "5", "'x'"],
            &["2", "10", "12", "'many'"],
        ],
    ),
    (
        "update orders o set amount = amount * %1, at = now()::timestamp from customer c
         where c.id = o.customer and c.region = %2 and o.id < %3 returning o.id, o.amount",
        "numeric, int, int",
        &[&["2.0", "1", "50"], &["0.5", "3", "100"], &["1.0", "4", "20"], &["3.0", "0", "77"]],
    ),
    (
        "delete from line where count < %1 and orders >= %2 and orders < %3 returning orders, number",
        "int, int, int",
        &[&["3", "5", "9"], &["10", "20", "30"], &["0", "1", "5"], &["5", "100", "120"]],
    ),
    (
        "update customer set credit = credit - %1 where credit > %2",
        "numeric, numeric",
        &[&["1.00", "20"], &["0.25", "5"], &["2.00", "1000"], &["1.00", "25"]],
    ),
];

/// What a statement gives and leaves, which is taken back.
fn outcome(session: &mut Session, text: &str, contents: &str) -> (Vec<String>, Vec<String>) {
    run(session, "begin");
    let mut rows = run(session, text);
    rows.sort();
    let left = run(session, contents);
    run(session, "rollback");
    (rows, left)
}

fn compare(session: &mut Session, cases: &[(&str, &str, &[&[&str]])], planned_max: i64) {
    let mut odd = vec![];
    for (number, (text, types, executions)) in cases.iter().enumerate() {
        let with = |values: &dyn Fn(usize) -> String| {
            (1..=4).fold((*text).to_owned(), |text, n| text.replace(&format!("%{n}"), &values(n)))
        };
        let name = format!("q{planned_max}_{}_{number}", cases.len());
        let prepare = format!("prepare {name} ({types}) as {}", with(&|n| format!("${n}")));
        run(session, &prepare);
        let given = types.split(", ").collect::<Vec<_>>();
        let (before, mut count) = (plans(session), 0i64);
        for _ in 0..2 {
            for values in *executions {
                let typed = |n: usize| match (values.get(n - 1), given.get(n - 1)) {
                    (Some(value), Some(ty)) => format!("({value}::{ty})"),
                    _ => String::new(),
                };
                let expected = outcome(session, &with(&typed), CONTENTS);
                let execute = format!("execute {name}({})", values.join(", "));
                assert_eq!(outcome(session, &execute, CONTENTS), expected, "{execute}: {prepare}");
                count += 1;
            }
        }
        let planned = plans(session) - before;
        let is_odd = if planned_max <= 2 { planned > planned_max } else { planned != count };
        if is_odd {
            odd.push(format!("{planned} plans of {count} executions: {prepare}"));
        }
    }
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}

#[test]
fn statements_are_planned_once_and_answer_as_with_their_values() {
    let file = TestFile::new("answers");
    let database = file.database();
    let mut session = database.session();
    compare(&mut session, GENERIC, 2);
    compare(&mut session, CHANGES, 2);
    compare(&mut session, EACH_TIME, i64::MAX);
}

#[test]
fn a_hundred_executions_take_two_plans_in_all_sessions_together() {
    let file = TestFile::new("once");
    let database = file.database();
    let mut session = database.session();
    let prepare =
        "prepare q (int, int) as select sum(amount) from orders where id > $1 and id <= $2";
    for execution in 0..EXECUTIONS {
        if execution % 10 == 0 {
            session = database.session();
            session.execute(prepare).expect("prepared");
        }
        // The sum of a * 1.25 over five numbers.
        let (first, last) = (execution * 5, execution * 5 + 5);
        let sum: usize = (first + 1..=last).sum::<usize>() * 125;
        let shown = format!("{}.{:02}", sum / 100, sum % 100);
        assert_eq!(run(&mut session, &format!("execute q({first}, {last})")), [shown]);
    }
    assert_eq!(plans(&mut session), 2);
}

#[test]
fn plans_are_made_anew_when_what_they_depend_on_has_changed() {
    let file = TestFile::new("anew");
    let database = file.database();
    let (mut session, mut other) = (database.session(), database.session());
    session
        .execute("prepare q (numeric) as select id from orders where amount = $1 order by id")
        .expect("prepared");
    let execute = "execute q(12.5)";
    let planned = |session: &mut Session| (0..4).map(|_| plans_of(session, execute)).sum::<i64>();
    assert_eq!(planned(&mut session), 2);
    assert_eq!(planned(&mut session), 0);
    let changes = [
        "create index orders_amount on orders (amount)",
        "drop index orders_amount",
        "alter table orders add column note text default 'none'",
        "alter table orders drop column note",
        "analyze orders",
        "alter table orders rename to other; create table orders (id int primary key, amount numeric(10,2));
         insert into orders values (5, 12.5)",
    ];
    for change in changes {
        other.execute(change).expect(change);
        assert_eq!(planned(&mut session), 1, "{change}");
        let expected = if change.contains("rename") { "5" } else { "10" };
        assert_eq!(run(&mut session, execute), [expected], "{change}");
    }
    // A setting of the planner has plans of its own.
    session.execute("set enable_seqscan = off").expect("set");
    assert_eq!(planned(&mut session), 2);
    session.execute("reset enable_seqscan; set timezone = 'Asia/Tokyo'").expect("set");
    assert_eq!(planned(&mut session), 2);
    session.execute("reset timezone").expect("reset");
    assert_eq!(planned(&mut session), 0);
    // Very many more rows are another table to the planner.
    other
        .execute("insert into orders select g, g from generate_series(10, 1000) g")
        .expect("inserted");
    assert_eq!(planned(&mut session), 1);
}

#[test]
fn moments_privileges_and_temporary_tables_are_those_of_the_execution() {
    let file = TestFile::new("own");
    let database = file.database();
    let (mut session, mut other) = (database.session(), database.session());
    let prepare = "prepare q (int) as select count(*), now() from customer where id < $1";
    session.execute(prepare).expect("prepared");
    other.execute("create role reader login; set role reader").expect("a role");
    let mut moments: Vec<String> =
        (0..6).map(|_| run(&mut session, "execute q(10)")[0].clone()).collect();
    assert!(moments.is_sorted() && moments.iter().all(|moment| moment.starts_with("9|")));
    moments.dedup();
    assert_eq!(moments.len(), 6, "each has a moment of its own: {moments:?}");
    // In a transaction it is that of the transaction or of the statement, as without a plan.
    other.execute(prepare).expect("prepared");
    let refused = run(&mut other, "execute q(10)");
    assert!(refused[0].starts_with("42501"), "{refused:?}");
    other.execute("reset role").expect("reset");
    assert!(run(&mut other, "execute q(10)")[0].starts_with("9|"));
    other
        .execute("create temporary table customer2 (id int primary key); insert into customer2 values (1)")
        .expect("a temporary table");
    session.execute("create table customer2 (id int primary key)").expect("a table");
    let prepare = "prepare t (int) as select count(*) from customer2 where id < $1";
    for session in [&mut session, &mut other] {
        session.execute(prepare).expect("prepared");
    }
    for _ in 0..4 {
        assert_eq!(run(&mut session, "execute t(10)"), ["0"]);
        assert_eq!(run(&mut other, "execute t(10)"), ["1"]);
    }
}

#[test]
fn a_definition_that_is_not_committed_is_planned_for_in_its_session_only() {
    let file = TestFile::new("block");
    let database = file.database();
    let (mut session, mut other) = (database.session(), database.session());
    let prepare = "prepare q (int) as select * from customer where region < $1 order by id limit 1";
    for session in [&mut session, &mut other] {
        session.execute(prepare).expect("prepared");
        for _ in 0..3 {
            assert_eq!(run(session, "execute q(1)"), ["5|name 5|0.71|0"]);
        }
    }
    session.execute("begin; alter table customer drop column credit").expect("changed");
    for _ in 0..3 {
        assert_eq!(run(&mut session, "execute q(1)"), ["5|name 5|0"]);
    }
    session.execute("rollback").expect("taken back");
    for session in [&mut session, &mut other] {
        assert_eq!(run(session, "execute q(1)"), ["5|name 5|0.71|0"]);
    }
}
