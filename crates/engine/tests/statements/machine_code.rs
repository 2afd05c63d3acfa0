//! Statements whose expressions are machine code: the rows and errors of those that are
//! interpreted, and the section of `EXPLAIN ANALYZE`.

use std::path::PathBuf;

use engine::{Database, ExecutionMode, Options, Session, StatementResult};
use types::text::format_value;

const SETUP: &str = "
    create table item (id int primary key, small smallint, big bigint, price numeric(15,2), rate double precision,
        day date, at timestamp, flag bool, label text);
    insert into item select g, g % 100 - 50, g * 1000000007::bigint, g * 1.25, g / 8.0, date '2024-01-01' + g,
        timestamp '2024-01-01' + g * interval '1 hour', g % 3 = 0, 'label ' || g % 7
        from generate_series(1, 5000) g;
    insert into item (id, small) values (5001, null), (5002, 7);
    create table part (n int primary key, item int, weight numeric(10,3));
    insert into part select g, g % 5000 + 1, g / 1000.0 from generate_series(1, 6000) g;
    analyze";

/// Queries whose expressions are programs, in part or as a whole.
const QUERIES: &[&str] = &[
    "select id from item where small * 2 + 1 > 90 order by id",
    "select id, big + small, big - id, small * id from item order by id",
    "select sum(price * (1 - 0.05)), sum(price * (1 - 0.05) * (1 + 0.08)) from item",
    "select flag, count(*), sum(big), avg(price) from item where day between '2024-03-01' and '2024-09-01' \
     group by flag order by flag",
    "select id from item where flag and not (small > 10 or small is null) and price < 100 order by id",
    "select id, case when small > 0 then price when flag then -price end from item order by id",
    "select sum(case when label = 'label 3' then price else 0 end) from item",
    "select id from item where label in ('label 1', 'label 5') and small in (1, 2, 3, 40) order by id",
    "select count(*) from item where label like 'label%' and label not like 'labels%'",
    "select i.id, p.n from item i join part p on i.id = p.item and i.small + 1 < p.n where p.weight > 2 \
     order by 1, 2",
    "select i.id from item i left join part p on p.item = i.id + 1 where p.n is null order by 1",
    "select id from item where at > timestamp '2024-02-01' and day <> date '2024-02-03' order by id limit 20",
    "select small + 1, count(*) from item group by small + 1 having count(*) * 2 > 60 order by 1",
    "select id, sum(small * 2) over (order by id) from item order by small + id, id",
    // Refused by programs, for the sum of 64 bits or a vector of theirs is too small.
    "select big * big from item where id = 4000",
    "select id, big * 9000000 from item order by id",
    "select small * small * small from item where small < -40 order by id",
    "select sum(big * 1000.5) from item",
    // Not of programs at all.
    "select sum(rate * 2), max(upper(label)) from item",
    "select 10 / small from item",
];

/// Statements that change rows, each rolled back.
const CHANGES: &[&str] = &[
    "update item set small = small + 1, price = price * 2 - 1 where big + id > 100 and flag returning id, small, price",
    "update item set small = small * 1000 where id > 30",
    "delete from item where small * small > 100 or flag is null returning id",
    "insert into part select n + 10000, item + 1, weight * 2 from part where n % 2 = 0 and item * 2 > 7 returning *",
];

struct TestFile(PathBuf);

impl TestFile {
    fn new(name: &str) -> TestFile {
        let file = format!("dovetail-code-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        TestFile(path)
    }

    fn database(&self, setup: &str) -> Database {
        let options = Options { memory_bytes: 64 << 20, workers: 2, ..pg::options() };
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

/// The rows of the last statement, or its error.
fn outcome(session: &mut Session, text: &str) -> Vec<String> {
    let last = match session.execute(text) {
        Ok(mut results) => results.pop(),
        Err(error) => return vec![format!("{} {}", error.state.0, error.message)],
    };
    let Some(StatementResult::Rows(rows)) = last else { return vec![] };
    let mut lines = vec![];
    for batch in &rows.batches {
        let cell = |column: &_, row| format_value(column, row).unwrap_or("null".into());
        let line = |row| batch.columns().iter().map(|c| cell(c, row)).collect::<Vec<_>>().join("|");
        lines.extend((0..batch.num_rows()).map(line));
    }
    lines
}

fn set(session: &mut Session, jit: &str) {
    session.execute(&format!("set jit = {jit}")).expect("a setting");
}

/// The rows of a statement that changes nothing for long.
fn changed(session: &mut Session, text: &str) -> Vec<String> {
    session.execute("begin").expect("a block");
    let mut lines = outcome(session, text);
    lines.sort();
    session.execute("rollback").expect("its end");
    lines
}

#[test]
fn code_gives_what_the_interpreter_gives() {
    let file = TestFile::new("equal");
    let database = file.database(SETUP);
    for mode in ExecutionMode::ALL {
        let mut session = database.session();
        session.settings().execution_mode = mode;
        for (texts, run) in [(QUERIES, outcome as fn(&mut _, &_) -> _), (CHANGES, changed)] {
            for text in texts {
                set(&mut session, "off");
                let interpreted = run(&mut session, text);
                set(&mut session, "force");
                assert_eq!(run(&mut session, text), interpreted, "{mode:?}: {text}");
                assert!(!interpreted.is_empty(), "{text}");
            }
        }
    }
}

/// The number behind a word in the report of a statement; none where the report has no such line.
fn told(report: &[String], word: &str) -> Option<u64> {
    let line = report.iter().find_map(|line| line.trim().strip_prefix(word))?;
    line.trim().split(' ').next()?.parse().ok()
}

#[test]
fn explain_tells_of_code_where_there_may_be_some() {
    let file = TestFile::new("explained");
    let database = file.database(SETUP);
    let mut session = database.session();
    let query = "explain analyze select sum(big + small) from item where small * 2 + 1 > 20";
    let plain = outcome(&mut session, query);
    assert!(!plain.iter().any(|line| line.contains("JIT")), "{plain:#?}");

    set(&mut session, "force");
    let report = outcome(&mut session, query);
    assert!(told(&report, "Functions:").is_some_and(|functions| functions >= 2), "{report:#?}");
    // The filter has all rows, the sum those that pass it: 2 of 5.
    assert_eq!(told(&report, "Rows:"), Some(5002 + 2000), "{report:#?}");
    assert!(report.iter().any(|line| line.contains(" compiled, 0 interpreted, ")), "{report:#?}");
    assert_eq!(report.len(), plain.len() + 5, "{report:#?}");

    let json = outcome(&mut session, &query.replace("analyze", "(analyze, format json)"));
    assert!(json[0].contains("\"JIT\": {") && json[0].contains("\"Functions\": "), "{json:#?}");

    let write = "explain analyze update item set small = small + 1 where small * 2 > 9000";
    let report = outcome(&mut session, write);
    assert!(told(&report, "Functions:").is_some_and(|functions| functions >= 1), "{report:#?}");

    let without = outcome(&mut session, "explain analyze select count(*) from item");
    assert!(!without.iter().any(|line| line.contains("JIT")), "{without:#?}");
    set(&mut session, "on");
    let few = outcome(&mut session, query);
    assert_eq!(told(&few, "Functions:"), Some(0), "{few:#?}");
    assert!(few.iter().any(|line| line.contains("Rows: 0 compiled")), "{few:#?}");
}

#[test]
fn many_rows_are_compiled_beside() {
    let file = TestFile::new("many");
    let database = file.database(
        "create table many (a int, b bigint);
         insert into many select g, g * 3 from generate_series(1, 600000) g",
    );
    for mode in ExecutionMode::ALL {
        let mut session = database.session();
        session.settings().execution_mode = mode;
        let query =
            format!("select count(*), sum(a + b) from many where a * 2 + b > {}", mode as u8);
        let interpreted = outcome(&mut session, &query);
        set(&mut session, "on");
        assert_eq!(outcome(&mut session, &query), interpreted);
        let report = outcome(&mut session, &format!("explain analyze {query}"));
        assert!(told(&report, "Functions:") > Some(0), "{mode:?}: {report:#?}");
        assert!(told(&report, "Rows:") > Some(0), "{mode:?}: {report:#?}");
    }
}
