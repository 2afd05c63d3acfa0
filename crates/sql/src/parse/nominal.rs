//! Statements about kinds of objects that there are none of: types, functions, schemas, triggers,
//! extensions and others. Statements that do nothing in PostgreSQL where there is nothing (`DROP
//! TYPE IF EXISTS`, `CREATE SCHEMA IF NOT EXISTS public`) does nothing here, and says so.

use types::{SqlError, SqlResult, SqlState};

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::object_name::RelationName;
use crate::parse::routine_name::routine;
use crate::parse::statement::Statement;

/// A statement that changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nominal {
    /// The tag of the answer.
    pub tag: String,
    /// Notices for the client.
    pub notices: Vec<SqlError>,
    /// The relation of which it says that something belongs to it.
    pub of: Option<Belonging>,
}

/// A trigger, a rule or a policy of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belonging {
    /// The relation.
    pub relation: RelationName,
    /// Why it is not there where the relation is.
    pub missing: SqlError,
    /// That is no error.
    pub if_exists: bool,
}

/// Kinds that are dropped by name, as the statement and as messages call them.
const NAMED: [(&str, &str); 16] = [
    ("type", "type"),
    ("domain", "type"),
    ("schema", "schema"),
    ("extension", "extension"),
    ("materialized view", "materialized view"),
    ("foreign table", "foreign table"),
    ("foreign data wrapper", "foreign-data wrapper"),
    ("collation", "collation"),
    ("conversion", "conversion"),
    ("server", "server"),
    ("publication", "publication"),
    ("event trigger", "event trigger"),
    ("statistics", "statistics object"),
    ("language", "language"),
    ("access method", "access method"),
    ("text search configuration", "text search configuration"),
];

/// Kinds that have arguments.
const CALLED: [&str; 4] = ["function", "procedure", "aggregate", "routine"];

/// Kinds that belong to relations.
const BELONGING: [&str; 3] = ["trigger", "rule", "policy"];

/// Schemas that are there.
const SCHEMAS: [&str; 3] = ["public", "pg_catalog", "information_schema"];

/// Extensions whose functions are built in.
const BUILT_IN: [&str; 3] = ["plpgsql", "uuid-ossp", "pgcrypto"];

/// The statement, if it is one of these.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<Statement>> {
    let mut words = Words::new(text, tokens);
    let read = match () {
        () if words.eat("drop") => dropped(&mut words),
        () if words.eat("create") => created(&mut words),
        () => Ok(None),
    };
    read.transpose().map(|read| read.map(Statement::Nominal))
}

fn dropped(words: &mut Words<'_>) -> SqlResult<Option<Nominal>> {
    if let Some(kind) = BELONGING.into_iter().find(|kind| words.eat(kind)) {
        return belonging(kind, words).map(Some);
    }
    if let Some(kind) = CALLED.into_iter().find(|kind| words.eat(kind)) {
        return called(kind, words).map(Some);
    }
    let kind = NAMED.into_iter().find(|(kind, _)| words.eat_all(kind));
    let Some((kind, noun)) = kind else { return Ok(None) };
    let if_exists = if_exists(words)?;
    let mut notices = vec![];
    for name in words.list(Words::relation)? {
        let own = match kind {
            "schema" => SCHEMAS.contains(&name.as_str()),
            _ => name.schema.is_none() && crate::parse::type_names::is_known(&name),
        };
        if own && matches!(kind, "schema" | "type") {
            // It is there.
            return Ok(None);
        }
        let error = missing(kind, noun, &name);
        match if_exists {
            true => notices.push(skipped(error)),
            false => return Err(error),
        }
    }
    ended(words)?;
    Ok(Some(Nominal { tag: format!("DROP {}", kind.to_uppercase()), notices, of: None }))
}

fn missing(kind: &str, noun: &str, name: &RelationName) -> SqlError {
    if let Some(schema) = name.schema.as_deref().filter(|schema| !SCHEMAS.contains(schema)) {
        return SqlError::new(SqlState("3F000"), format!("schema \"{schema}\" does not exist"));
    }
    let state = match kind {
        "schema" => SqlState("3F000"),
        "materialized view" | "foreign table" => SqlState::UNDEFINED_TABLE,
        _ => SqlState::UNDEFINED_OBJECT,
    };
    SqlError::new(state, format!("{noun} \"{}\" does not exist", name.whole()))
}

/// The error as a notice.
fn skipped(error: SqlError) -> SqlError {
    SqlError::new(SqlState("00000"), format!("{}, skipping", error.message))
}

fn belonging(kind: &str, words: &mut Words<'_>) -> SqlResult<Nominal> {
    let if_exists = if_exists(words)?;
    let name = words.name()?;
    words.expect("on")?;
    let relation = words.relation()?;
    ended(words)?;
    let noun = if kind == "trigger" && !if_exists { "table" } else { "relation" };
    let message = format!("{kind} \"{name}\" for {noun} \"{}\" does not exist", relation.name);
    let missing = SqlError::new(SqlState::UNDEFINED_OBJECT, message);
    let of = Some(Belonging { relation, missing, if_exists });
    Ok(Nominal { tag: format!("DROP {}", kind.to_uppercase()), notices: vec![], of })
}

fn called(kind: &str, words: &mut Words<'_>) -> SqlResult<Nominal> {
    let if_exists = if_exists(words)?;
    let mut notices = vec![];
    for error in words.list(|words| routine(kind, words, if_exists))? {
        match if_exists {
            true => notices.push(skipped(error)),
            false => return Err(error),
        }
    }
    ended(words)?;
    Ok(Nominal { tag: format!("DROP {}", kind.to_uppercase()), notices, of: None })
}

fn created(words: &mut Words<'_>) -> SqlResult<Option<Nominal>> {
    match () {
        () if words.eat("schema") => schema(words),
        () if words.eat("extension") => extension(words).map(Some),
        () => Ok(None),
    }
}

/// Errors: 42P06 for a schema that is there.
fn schema(words: &mut Words<'_>) -> SqlResult<Option<Nominal>> {
    let if_not_exists = if_not_exists(words)?;
    if words.is("authorization") {
        return Ok(None);
    }
    let name = words.name()?;
    if !SCHEMAS.contains(&name.as_str()) {
        return Ok(None);
    }
    if words.eat("authorization") {
        words.name()?;
    }
    words.end()?;
    let error = SqlError::new(SqlState("42P06"), format!("schema \"{name}\" already exists"));
    already("CREATE SCHEMA", error, if_not_exists).map(Some)
}

/// Errors: 42710 for one that is there, 0A000 for one that cannot be.
fn extension(words: &mut Words<'_>) -> SqlResult<Nominal> {
    let if_not_exists = if_not_exists(words)?;
    let name = words.name()?;
    words.eat("with");
    while !words.is_end() {
        if !words.eat("cascade") {
            if !words.eat("schema") {
                words.expect("version")?;
            }
            if words.text().is_none() {
                words.name()?;
            }
        }
    }
    if !BUILT_IN.contains(&name.as_str()) {
        let message = format!("extension \"{name}\" is not available");
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(
            "There are the functions of uuid-ossp and pgcrypto that docs/limits.md names.",
        ));
    }
    let message = format!("extension \"{name}\" already exists");
    let error = SqlError::new(SqlState("42710"), message);
    // The functions of the others are there before and after.
    already("CREATE EXTENSION", error, if_not_exists || name != "plpgsql")
}

fn already(tag: &str, error: SqlError, is_skipped: bool) -> SqlResult<Nominal> {
    if !is_skipped {
        return Err(error);
    }
    let notice = SqlError::new(error.state, format!("{}, skipping", error.message));
    Ok(Nominal { tag: tag.to_owned(), notices: vec![notice], of: None })
}

fn if_exists(words: &mut Words<'_>) -> SqlResult<bool> {
    let is_said = words.eat("if");
    if is_said {
        words.expect("exists")?;
    }
    Ok(is_said)
}

fn if_not_exists(words: &mut Words<'_>) -> SqlResult<bool> {
    let is_said = words.eat("if");
    if is_said {
        ["not", "exists"].into_iter().try_for_each(|word| words.expect(word))?;
    }
    Ok(is_said)
}

fn ended(words: &mut Words<'_>) -> SqlResult<()> {
    if !words.eat("cascade") {
        words.eat("restrict");
    }
    words.end()
}
