//! The queries that common clients send about the catalog run: all of `tests/sql/clients`.

use std::path::Path;

use engine::{Database, Session, StatementResult};

const TABLES: &str = "
    create table customers (id int primary key, name text not null, email varchar(80),
        balance numeric(12,2), joined date, unique (email));
    create table orders (id bigint primary key, customer_id int not null, placed timestamp,
        note char(10), total double precision, flag boolean, small smallint, r real);
    create index orders_customer on orders (customer_id, placed);
    create table nokey (a int, b text);";

/// What a statement marked `-- not yet: reason` may fail with: not supported, no such function.
const REFUSED: [&str; 2] = ["0A000", "42883"];

/// Runs every statement of a file; all must run, but for those that say that they do not yet.
fn check(file: &str) {
    let folder = tempfile(file);
    let db = Database::create(&folder.join("shop.dovetail"), pg::options()).expect("created");
    let mut session = db.session();
    session.execute(TABLES).expect("the tables are made");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql/clients").join(file);
    let text = std::fs::read_to_string(path).expect("the file is there");
    let mut failed = vec![];
    let mut count = 0;
    for statement in text.split(";\n") {
        let excused = statement.lines().any(|line| line.starts_with("-- not yet:"));
        let lines = statement.lines().filter(|line| !line.starts_with("--"));
        let statement = lines.collect::<Vec<_>>().join("\n");
        if statement.trim().is_empty() {
            continue;
        }
        count += 1;
        let result = session.execute(&with_oids(&statement, &mut db.session()));
        if let Err(error) = result
            && !(excused && REFUSED.contains(&error.state.0))
        {
            failed.push(format!("{}\n{statement}\n  => {error:?}", failed.len() + 1));
        }
    }
    db.close().expect("closed");
    let _ = std::fs::remove_dir_all(folder);
    let (all, list) = (failed.len(), failed.join("\n\n"));
    assert!(failed.is_empty(), "{all} of {count} statements of {file} failed:\n{list}");
}

fn tempfile(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("clients-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Puts the oids of relations in place of their names in braces.
fn with_oids(statement: &str, session: &mut Session) -> String {
    let mut text = String::new();
    let mut rest = statement;
    while let Some((before, after)) = rest.split_once("'{") {
        let Some((name, behind)) = after.split_once("}'") else { break };
        text.push_str(before);
        let named = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains(',');
        match named.then(|| oid(name, session)).flatten() {
            Some(oid) => text.push_str(&format!("'{oid}'")),
            None => text.push_str(&format!("'{{{name}}}'")),
        }
        rest = behind;
    }
    text + rest
}

fn oid(name: &str, session: &mut Session) -> Option<String> {
    let results = session.execute(&format!("select to_regclass('{name}')::oid")).ok()?;
    let Some(StatementResult::Rows(rows)) = results.into_iter().next() else { return None };
    let batch = rows.batches.first()?;
    types::text::format_value(batch.column(0), 0)
}

#[test]
fn psql_describes() {
    check("psql.sql");
}

#[test]
fn pgjdbc_reads_metadata() {
    check("pgjdbc.sql");
}

#[test]
fn sqlalchemy_reflects() {
    check("sqlalchemy.sql");
}

#[test]
fn django_inspects() {
    check("django.sql");
}

#[test]
fn asyncpg_learns_types() {
    check("asyncpg.sql");
}
