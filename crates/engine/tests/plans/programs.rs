//! Row programs: plans of few rows run by them and as pipelines, with the same rows.

use engine::{Database, Session};

use super::{TestFile, run};

/// Statements with the values of their executions, each of few rows.
const STATEMENTS: [(&str, &[&str]); 8] = [
    ("(int) as select * from orders where id = $1 and amount > 2", &["1", "7", "4000"]),
    ("(int) as select id, at from orders where id > $1 order by id limit 3", &["5", "999", "0"]),
    ("(int) as select id from orders where id < $1 order by id desc limit 3", &["5", "999", "0"]),
    (
        "(int) as select o.id, c.name from orders o join customer c on c.id = o.customer
        where o.id in ($1, $1 + 1, 5)",
        &["1", "999", "-9"],
    ),
    (
        "(int) as select c.id, l.item from customer c left join line l on l.orders = c.id
        and l.count > 4 where c.id = $1 order by l.number",
        &["2", "3", "777"],
    ),
    ("(int) as select count(*), sum(amount), max(at) from orders where customer = $1", &["3", "0"]),
    (
        "(int) as select 100 / (id - $1), upper(name) from customer
        where id between $1 and $1 + 3",
        &["0", "9"],
    ),
    (
        "(int) as update copied set note = note || $1 where id = $1 % 9 + 1
        returning id, note",
        &["1", "2"],
    ),
];

fn programs(database: &Database) -> (u64, u64) {
    let totals = &database.activities().totals.programs;
    (totals.done(), totals.given_up())
}

/// All executions, twice, so that each statement has a kept plan.
fn outcomes(session: &mut Session) -> Vec<Vec<String>> {
    let mut outcomes = vec![];
    for (number, (text, values)) in STATEMENTS.iter().enumerate() {
        run(session, &format!("prepare s{number} {text}"));
        for value in values.iter().cycle().take(3 * values.len()) {
            let mut rows = run(session, &format!("execute s{number}({value})"));
            if !text.contains("order by") {
                rows.sort();
            }
            outcomes.push(rows);
        }
    }
    outcomes
}

#[test]
fn programs_give_the_rows_of_pipelines() {
    let (one, other) = (TestFile::new("programs"), TestFile::new("pipelines"));
    let (by_programs, by_pipelines) = (one.database(), other.database());
    let expected = {
        let mut session = by_pipelines.session();
        session.execute("set enable_rowprogram = off").unwrap();
        outcomes(&mut session)
    };
    assert_eq!(programs(&by_pipelines), (0, 0));
    assert_eq!(outcomes(&mut by_programs.session()), expected);
    let (done, _) = programs(&by_programs);
    assert!(done > 0, "no program");
}

#[test]
fn a_program_with_too_many_rows_is_run_again_as_a_pipeline() {
    let file = TestFile::new("too-many");
    let database = file.database_of(
        "create table t (id int primary key, g int, body text);
         insert into t select g, case when g > 100 then 0 else g end, repeat('x', 100)
             from generate_series(1, 6000) g;
         create index t_g on t (g)",
    );
    let mut session = database.session();
    // Nobody has counted the values, so that each is taken for as frequent as the others.
    run(&mut session, "prepare s (int) as select id from t where g = $1");
    for _ in 0..5 {
        assert_eq!(run(&mut session, "execute s(7)"), ["7"]);
    }
    assert!(programs(&database).0 > 0, "no program");
    assert_eq!(run(&mut session, "execute s(0)").len(), 5900);
    assert_eq!(run(&mut session, "execute s(8)"), ["8"]);
    // Long rows are too many, too.
    run(
        &mut session,
        "prepare long (int) as select repeat(body, 100) from t where id between $1 and $1 + 40",
    );
    for _ in 0..5 {
        assert_eq!(run(&mut session, "execute long(7)").len(), 41);
    }
    assert!(programs(&database).1 > 0, "no program has given up");
}

/// Rows of others that are not seen take no places among the first ones.
#[test]
fn the_first_rows_are_the_first_that_are_seen() {
    let file = TestFile::new("first");
    let database = file.database_of(
        "create table t (id int primary key); insert into t select g from generate_series(1, 9) g",
    );
    let (mut session, mut other) = (database.session(), database.session());
    for text in [
        "set enable_seqscan = off",
        "prepare first (int) as select id from t order by id limit $1",
        "prepare last (int) as select id from t order by id desc limit $1",
    ] {
        session.execute(text).unwrap();
    }
    let mut both =
        || ["first", "last"].map(|name| run(&mut session, &format!("execute {name}(2)")));
    let expected = [["1", "2"], ["9", "8"]];
    (0..5).for_each(|_| assert_eq!(both(), expected));
    for change in [
        "insert into t values (0), (-1), (-2), (-3), (10), (11), (12), (13)",
        "delete from t where id in (1, 9)",
        "update t set id = id + 100",
    ] {
        other.execute("begin").unwrap();
        other.execute(change).unwrap();
        assert_eq!(both(), expected, "{change}");
        other.execute("rollback").unwrap();
        assert_eq!(both(), expected, "{change}");
    }
    let (done, _) = programs(&database);
    assert!(done > 0, "no program");
}
