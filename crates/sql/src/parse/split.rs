//! A text as the tokens of its statements.

use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::tokenizer::{Token, Tokenizer};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::adjacent;
use crate::parse::tokens::{
    TEXT_BYTES_MAX, TOKENS_MAX, Tokens, cast_intervals, check_depth, cut_name, plain_modes,
    plain_trims, position,
};

/// Splits text into the tokens of its statements; empty statements vanish.
pub(crate) fn split(text: &str) -> SqlResult<Vec<Tokens>> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "the statement is too long")
            .with_hint("load large amounts of data with COPY"));
    }
    let tokens =
        Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().map_err(|e| {
            SqlError::new(SqlState::SYNTAX_ERROR, e.message.to_lowercase()).at(position(
                text,
                e.location.line,
                e.location.column,
            ))
        })?;
    let count = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).count();
    if count > TOKENS_MAX {
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "the statement is too long")
            .with_detail(format!("It has {count} words and signs, {TOKENS_MAX} are taken."))
            .with_hint("load large amounts of data with COPY"));
    }
    let mut statements = vec![Tokens::new()];
    for token in adjacent::joined(text, tokens)? {
        match token.token {
            Token::SemiColon => statements.push(Tokens::new()),
            Token::EOF => {}
            _ => {
                if let Some(statement) = statements.last_mut() {
                    statement.push(token);
                }
            }
        }
    }
    statements.iter_mut().flatten().for_each(cut_name);
    statements.iter_mut().for_each(plain_trims);
    statements.iter_mut().for_each(plain_modes);
    statements.iter_mut().for_each(cast_intervals);
    statements.iter_mut().for_each(super::synonyms::apply);
    statements.iter_mut().for_each(super::clauses::apply);
    statements.retain(|s| !s.is_empty());
    statements.iter().try_for_each(|s| {
        check_depth(text, s)?;
        super::reread::check(text, s)
    })?;
    Ok(statements)
}
