//! `ALTER DATABASE ADD MEMBER` and `DROP MEMBER`, which the parser has no words for.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::{SqlError, SqlResult, SqlState};

use super::tokens::{Tokens, begins, unexpected};
use crate::parse::statement::Statement;

/// A file or device on which the database is to lie, or not any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatement {
    /// Its path on the server.
    pub path: String,
    /// True if it joins.
    pub joins: bool,
    /// True if the bytes of one that joins may be overwritten.
    pub format: bool,
}

/// The statement, if it begins so.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<Statement>> {
    let words = ["alter database add member", "alter database drop member"];
    words.iter().any(|words| begins(tokens, words)).then(|| member(text, tokens))
}

/// Reads the path, and `WITH FORMAT`.
fn member(text: &str, tokens: &Tokens) -> SqlResult<Statement> {
    let joins = begins(tokens, "alter database add");
    let (mut path, mut format) = (None, false);
    for (at, token) in tokens.iter().enumerate().skip(4) {
        match (at, &token.token) {
            (4, Token::SingleQuotedString(given)) => path = Some(given.clone()),
            (5, with) if joins && is(with, "with") && tokens.len() == 7 => {}
            (6, word) if is(word, "format") => format = true,
            _ => return Err(unexpected(text, token)),
        }
    }
    let Some(path) = path else {
        let error = SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at end of input");
        return Err(error.with_hint("ALTER DATABASE ADD MEMBER 'a file or device of the server'"));
    };
    Ok(Statement::Member(MemberStatement { path, joins, format }))
}

fn is(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(found) if found.value.eq_ignore_ascii_case(word))
}
