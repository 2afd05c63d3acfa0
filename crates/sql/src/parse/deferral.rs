//! When constraints are checked: what their definitions say, and `SET CONSTRAINTS`.

use datafusion_sql::sqlparser::ast::{ConstraintCharacteristics, DeferrableInitial};
use datafusion_sql::sqlparser::tokenizer::Token;
use types::{SqlError, SqlResult, SqlState};

use super::tokens::Tokens;
use super::words::Words;
use crate::constraints::Deferral;

/// `SET CONSTRAINTS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetConstraints {
    /// Names of constraints; none means all.
    pub names: Vec<String>,
    /// Whether they are checked when the transaction commits.
    pub deferred: bool,
}

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

/// The same of a key, which is checked at the end of each statement.
///
/// # Errors
/// Those of [`of`]; 0A000 for one that may be checked later.
pub(super) fn of_key(given: Option<&ConstraintCharacteristics>) -> SqlResult<()> {
    match of(given)? {
        Deferral::Never => Ok(()),
        _ => Err(SqlError::unsupported("a deferrable key").with_hint(
            "Keys are checked on the rows that a whole statement leaves. \
             Foreign keys may be DEFERRABLE.",
        )),
    }
}

/// `SET CONSTRAINTS { ALL | name, .. } { DEFERRED | IMMEDIATE }`, if that is what the statement is.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<SetConstraints>> {
    let mut words = Words::new(text, tokens);
    (words.eat("set") && words.eat("constraints")).then(|| set(words))
}

fn set(mut words: Words<'_>) -> SqlResult<SetConstraints> {
    let mut names = vec![];
    if !words.eat("all") {
        loop {
            let mut name = words.name()?;
            if words.eat_token(&Token::Period) {
                if name != "public" {
                    let message = format!("schema \"{name}\" does not exist");
                    return Err(SqlError::new(SqlState("3F000"), message));
                }
                name = words.name()?;
            }
            names.push(name);
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
