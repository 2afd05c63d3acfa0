//! `INSERT .. OVERRIDING SYSTEM VALUE`, which the library's parser does not know: its words are taken out.

use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{SqlError, SqlResult, SqlState};

use super::tokens::Tokens;
use crate::parse::statement::Statement;
use crate::parse::statement::overriding::Overriding;

/// Takes the clause out of an `INSERT`.
pub(super) fn taken(tokens: &mut Tokens) -> Overriding {
    let is = |token: &TokenWithSpan, word: &str| match &token.token {
        Token::Word(w) => w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word),
        _ => false,
    };
    if !tokens.first().is_some_and(|first| is(first, "insert") || is(first, "with")) {
        return Overriding::Nothing;
    }
    let clause = tokens.windows(3).position(|three| {
        let kind = is(&three[1], "system") || is(&three[1], "user");
        kind && is(&three[0], "overriding") && is(&three[2], "value")
    });
    let Some(at) = clause else { return Overriding::Nothing };
    let user = is(&tokens[at + 1], "user");
    tokens.drain(at..at + 3);
    if user { Overriding::User } else { Overriding::System }
}

/// The statement with what was taken out of it.
pub(super) fn with(statement: Statement, overriding: Overriding) -> SqlResult<Statement> {
    match (statement, overriding) {
        (statement, Overriding::Nothing) => Ok(statement),
        (Statement::Insert(mut insert), overriding) => {
            insert.overriding = overriding;
            Ok(Statement::Insert(insert))
        }
        _ => {
            let message = "syntax error at or near \"overriding\"";
            Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
        }
    }
}
