//! When constraints are checked: what their definitions say, `ALTER CONSTRAINT` and `SET CONSTRAINTS`.

use datafusion_sql::sqlparser::ast::{ConstraintCharacteristics, DeferrableInitial};
use datafusion_sql::sqlparser::tokenizer::Token;
use plan::constraints::Deferral;
use types::{SqlError, SqlResult, SqlState};

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::statement::alter::{AlterTable, Alteration};
use crate::parse::statement::constraint::SetConstraints;

/// When a constraint is checked that says this of it.
///
/// # Errors
/// 42601 for what contradicts itself, 0A000 for `NOT ENFORCED`.
pub(super) fn of(given: Option<&ConstraintCharacteristics>) -> SqlResult<Deferral> {
    let Some(given) = given else { return Ok(Deferral::Never) };
    if given.enforced == Some(false) {
        return Err(SqlError::unsupported("a constraint that is NOT ENFORCED"));
    }
    match (given.deferrable, given.initially) {
        (Some(false), Some(DeferrableInitial::Deferred)) => {
            let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
        }
        (_, Some(DeferrableInitial::Deferred)) => Ok(Deferral::Initial),
        (Some(true), _) => Ok(Deferral::Possible),
        _ => Ok(Deferral::Never),
    }
}

/// `SET CONSTRAINTS { ALL | name, .. } { DEFERRED | IMMEDIATE }`, if that is what the statement is.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<SetConstraints>> {
    let mut words = Words::new(text, tokens);
    (words.eat("set") && words.eat("constraints")).then(|| set(words))
}

/// `ALTER TABLE table ALTER CONSTRAINT name ..`, which the library's parser does not know, if that is what the
/// statement is.
pub(super) fn alteration(text: &str, tokens: &Tokens) -> Option<SqlResult<AlterTable>> {
    let mut words = Words::new(text, tokens);
    if !(words.eat("alter") && words.eat("table")) {
        return None;
    }
    let if_exists = words.eat("if");
    if if_exists && !words.eat("exists") {
        return None;
    }
    words.eat("only");
    let table = words.relation();
    words.eat_token(&Token::Mul);
    let is_it = words.eat("alter") && words.eat("constraint");
    is_it.then(|| {
        let (table, name) = (table?, words.name()?);
        let alterations = vec![Alteration::Deferral { name, deferral: said(words)? }];
        Ok(AlterTable { table, if_exists, alterations })
    })
}

/// What is said of a constraint at the end of a statement.
fn said(mut words: Words<'_>) -> SqlResult<Deferral> {
    let mut given = ConstraintCharacteristics::default();
    while !words.is_end() {
        if words.eat("initially") {
            given.initially = match words.eat("deferred") {
                true => Some(DeferrableInitial::Deferred),
                false => {
                    words.expect("immediate")?;
                    Some(DeferrableInitial::Immediate)
                }
            };
            continue;
        }
        let is_deferrable = !words.eat("not");
        words.expect("deferrable")?;
        given.deferrable = Some(is_deferrable);
    }
    of(Some(&given))
}

/// A name of the schema `public`.
fn qualified(words: &mut Words<'_>) -> SqlResult<String> {
    let name = words.name()?;
    if !words.eat_token(&Token::Period) {
        return Ok(name);
    }
    if name != "public" {
        let message = format!("schema \"{name}\" does not exist");
        return Err(SqlError::new(SqlState("3F000"), message));
    }
    words.name()
}

fn set(mut words: Words<'_>) -> SqlResult<SetConstraints> {
    let mut names = vec![];
    if !words.eat("all") {
        loop {
            names.push(qualified(&mut words)?);
            if !words.eat_token(&Token::Comma) {
                break;
            }
        }
    }
    let deferred = words.eat("deferred");
    if !deferred {
        words.expect("immediate")?;
    }
    words.end()?;
    Ok(SetConstraints { names, deferred })
}
