//! Functions as `DROP FUNCTION` and its like name them, with the types of their arguments.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::{SqlError, SqlResult, SqlState};

use super::words::Words;
use crate::parse::object_name::RelationName;
use crate::parse::type_names;

/// Types that the grammar has words for: the words, and the catalog's name.
const IN_GRAMMAR: [(&str, &str); 15] = [
    ("int", "int4"),
    ("integer", "int4"),
    ("smallint", "int2"),
    ("bigint", "int8"),
    ("boolean", "bool"),
    ("real", "float4"),
    ("double precision", "float8"),
    ("float", "float8"),
    ("decimal", "numeric"),
    ("dec", "numeric"),
    ("numeric", "numeric"),
    ("varchar", "varchar"),
    ("character varying", "varchar"),
    ("timestamp with time zone", "timestamptz"),
    ("timestamp without time zone", "timestamp"),
];

/// Names of the catalog, as messages write them.
const WRITTEN: [(&str, &str); 9] = [
    ("int4", "integer"),
    ("int2", "smallint"),
    ("int8", "bigint"),
    ("bool", "boolean"),
    ("float4", "real"),
    ("float8", "double precision"),
    ("varchar", "character varying"),
    ("timestamptz", "timestamp with time zone"),
    ("timestamp", "timestamp without time zone"),
];

/// Words before an argument that say what it is for.
const MODES: [&str; 4] = ["in", "inout", "variadic", "out"];

/// Why a routine is not there. Errors: 42601.
pub(super) fn routine(kind: &str, words: &mut Words<'_>, skipped: bool) -> SqlResult<SqlError> {
    let name = words.relation()?;
    if let Some(error) = no_schema(&name) {
        return Ok(error);
    }
    let has_arguments = words.eat_token(&Token::LParen);
    let arguments = if has_arguments { arguments(words)? } else { vec![] };
    if !has_arguments && !skipped {
        let message = format!("could not find a {kind} named \"{}\"", name.whole());
        return Ok(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
    }
    if let Some(unknown) = arguments.iter().find(|ty| !is_known(ty)) {
        let message = format!("type \"{unknown}\" does not exist");
        return Ok(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
    }
    let types: Vec<String> = arguments.iter().map(|ty| written(ty, skipped)).collect();
    let separator = if skipped { "," } else { ", " };
    let message = format!("{kind} {}({}) does not exist", name.whole(), types.join(separator));
    Ok(SqlError::new(SqlState::UNDEFINED_FUNCTION, message))
}

fn no_schema(name: &RelationName) -> Option<SqlError> {
    let schema = name.schema.as_deref()?;
    let is_there = matches!(schema, "public" | "pg_catalog" | "information_schema");
    let message = || format!("schema \"{schema}\" does not exist");
    (!is_there).then(|| SqlError::new(SqlState("3F000"), message()))
}

/// The types up to the closing parenthesis.
fn arguments(words: &mut Words<'_>) -> SqlResult<Vec<String>> {
    let mut types = vec![];
    words.eat_token(&Token::Mul);
    while !words.eat_token(&Token::RParen) {
        let is_out = words.is("out");
        MODES.iter().any(|mode| words.eat(mode));
        let ty = argument(words)?;
        if !is_out {
            types.push(ty);
        }
        if !words.comma() && !words.is_closing() {
            return Err(words.unexpected());
        }
    }
    Ok(types)
}

/// A type, behind its argument's name or not, without its modifiers.
fn argument(words: &mut Words<'_>) -> SqlResult<String> {
    let mut parts = vec![words.name()?];
    let (mut is_array, mut depth) = (false, 0);
    loop {
        if depth == 0 && (words.is_comma() || words.is_closing()) {
            break;
        }
        match () {
            () if words.eat_token(&Token::LParen) => depth += 1,
            () if words.eat_token(&Token::RParen) => depth -= 1,
            () if words.eat_token(&Token::LBracket) => is_array = true,
            () if words.eat_token(&Token::RBracket) || words.digits().is_some() => {}
            () if depth > 0 && words.comma() => {}
            () => parts.push(words.name()?),
        }
    }
    let whole = parts.join(" ");
    let ty = match is_known(&whole) || parts.len() == 1 {
        true => whole,
        false => parts[1..].join(" "),
    };
    Ok(if is_array { format!("{ty}[]") } else { ty })
}

fn element(ty: &str) -> &str {
    ty.strip_suffix("[]").unwrap_or(ty)
}

fn of_grammar(ty: &str) -> Option<&'static str> {
    let found = IN_GRAMMAR.iter().find(|(words, _)| *words == element(ty));
    found.map(|(_, catalog)| *catalog)
}

fn is_known(ty: &str) -> bool {
    of_grammar(ty).is_some() || type_names::is_known(element(ty))
}

/// A type as messages have it: of what is skipped with the schema of those of the grammar.
fn written(ty: &str, skipped: bool) -> String {
    let brackets = if ty.ends_with("[]") { "[]" } else { "" };
    match of_grammar(ty) {
        Some(catalog) if skipped => format!("pg_catalog.{catalog}{brackets}"),
        catalog => {
            let catalog = catalog.unwrap_or(element(ty));
            let found = WRITTEN.iter().find(|(name, _)| *name == catalog);
            format!("{}{brackets}", found.map_or(catalog, |(_, written)| *written))
        }
    }
}
