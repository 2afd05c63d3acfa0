//! `BACKUP DATABASE TO`, which the parser has no words for.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::{SqlError, SqlResult, SqlState};

use super::tokens::{Tokens, begins, unexpected};
use crate::parse::statement::Statement;

/// Whether the statement begins so.
pub(super) fn is_backup(tokens: &Tokens) -> bool {
    begins(tokens, "backup database")
}

/// Reads the path.
pub(super) fn backup(text: &str, tokens: &Tokens) -> SqlResult<Statement> {
    let to = |token: &Token| matches!(token, Token::Word(w) if w.value.eq_ignore_ascii_case("to"));
    for (at, token) in tokens.iter().enumerate().skip(2) {
        match (at, &token.token) {
            (2, word) if to(word) => {}
            (3, Token::SingleQuotedString(path)) if tokens.len() == 4 => {
                return Ok(Statement::Backup { path: path.clone() });
            }
            (3, Token::SingleQuotedString(_)) => {}
            _ => return Err(unexpected(text, token)),
        }
    }
    let error = SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at end of input");
    Err(error.with_hint("BACKUP DATABASE TO 'a file of the server that does not exist yet'"))
}
