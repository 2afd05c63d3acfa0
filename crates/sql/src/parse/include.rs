//! `UNIQUE (columns) INCLUDE (columns)`: the library's parser knows `INCLUDE` of `CREATE INDEX` only.
//! Its tokens become a mark among the columns of the list.

use datafusion_sql::sqlparser::ast::{Expr, Ident, IndexColumn};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{SqlError, SqlResult, SqlState};

use super::marks;
use super::tokens::Tokens;

/// Writes `) INCLUDE (` of a table's constraints as an element of the list.
pub(super) fn mark(tokens: &mut Tokens) {
    let keyword = |token: Option<&TokenWithSpan>| match token.map(|t| &t.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let verb = matches!(keyword(tokens.first()), Keyword::CREATE | Keyword::ALTER);
    if !verb || keyword(tokens.get(1)) != Keyword::TABLE {
        return;
    }
    for at in 1..tokens.len().saturating_sub(1) {
        let around = (&tokens[at - 1].token, &tokens[at + 1].token);
        let between = around == (&Token::RParen, &Token::LParen);
        if between && keyword(tokens.get(at)) == Keyword::INCLUDE {
            tokens[at - 1].token = Token::Comma;
            tokens[at].token = marks::word("include");
            tokens[at + 1].token = Token::Comma;
        }
    }
}

/// The columns of the key, and those included.
pub(super) fn split(columns: &[IndexColumn]) -> (&[IndexColumn], &[IndexColumn]) {
    let is_mark = |column: &IndexColumn| match &column.column.expr {
        Expr::Identifier(ident) => marks::is_word(ident),
        _ => false,
    };
    match columns.iter().position(is_mark) {
        Some(at) => (&columns[..at], &columns[at + 1..]),
        None => (columns, &[]),
    }
}

/// Refuses `INCLUDE` behind columns that are no index's.
///
/// # Errors
/// 42601
pub(super) fn refuse(columns: &[Ident]) -> SqlResult<()> {
    match columns.iter().any(marks::is_word) {
        true => Err(SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"include\"")),
        false => Ok(()),
    }
}
