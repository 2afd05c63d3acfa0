//! What the server says of statements before they run: the types of their parameters and columns, by
//! the side of what PostgreSQL says (`tests/signatures/record.py`).

use postgres::Client;

use crate::served::{Served, options};

const RECORDED: &str = include_str!("../signatures/recorded.tsv");
const SETUP: &str = include_str!("../signatures/setup.sql");

/// A statement, and what PostgreSQL says of it.
struct Case<'a> {
    text: &'a str,
    /// The types of its parameters, or `!` and an SQLSTATE.
    parameters: &'a str,
    columns: &'a str,
    /// The statement without parameters, which tells whether the engine has the function; empty where
    /// that is no question.
    control: &'a str,
    /// Why something else is said here; empty where it is not.
    reason: &'a str,
}

fn cases() -> impl Iterator<Item = Case<'static>> {
    RECORDED.lines().map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [text, parameters, columns, control, reason] = fields[..] else {
            panic!("not five fields: {line}")
        };
        Case { text, parameters, columns, control, reason }
    })
}

/// What is said of a statement, in the form of the file.
fn described(client: &mut Client, text: &str) -> (String, String) {
    let oids = |types: Vec<u32>| types.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    match client.prepare(text) {
        Ok(statement) => (
            oids(statement.params().iter().map(postgres::types::Type::oid).collect()),
            oids(statement.columns().iter().map(|column| column.type_().oid()).collect()),
        ),
        Err(error) => match error.code() {
            Some(state) => (format!("!{}", state.code()), String::new()),
            None => panic!("{text}: {error}"),
        },
    }
}

#[test]
fn parameters_and_columns_have_the_types_that_postgresql_gives_them() {
    let served = Served::start("signatures", options());
    let mut client = served.connect("user=u dbname=d").expect("a connection");
    client.batch_execute(SETUP).expect("the tables");
    let (mut same, mut meant, mut absent, mut wrong) = (0, 0, 0, vec![]);
    for case in cases() {
        let said = described(&mut client, case.text);
        let is_same = (said.0.as_str(), said.1.as_str()) == (case.parameters, case.columns);
        match (is_same, case.reason.is_empty()) {
            (true, true) => same += 1,
            (false, false) => meant += 1,
            (true, false) => wrong.push(format!("{}\n  is said as PostgreSQL says it", case.text)),
            // What the engine lacks altogether is no matter of parameters.
            (false, true)
                if !case.control.is_empty()
                    && described(&mut client, case.control).0.starts_with('!') =>
            {
                absent += 1;
            }
            (false, true) => wrong.push(format!(
                "{}\n  expected {} -> {}\n  said     {} -> {}",
                case.text, case.parameters, case.columns, said.0, said.1
            )),
        }
    }
    println!(
        "{same} same, {meant} meant to differ, {absent} of functions not here, {} differ",
        wrong.len()
    );
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
