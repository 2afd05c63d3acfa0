//! `UNIQUE (columns) INCLUDE (columns)`: the library's parser knows `INCLUDE` of `CREATE INDEX` only.
//! Its tokens become a column of the list whose name no column can have.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::tokens::Tokens;

/// Stands between the columns of the key and those included.
const MARK: &str = "\u{1}include";

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
            let quote_style = Some('"');
            let word = Word { value: MARK.into(), quote_style, keyword: Keyword::NoKeyword };
            tokens[at - 1].token = Token::Comma;
            tokens[at].token = Token::Word(word);
            tokens[at + 1].token = Token::Comma;
        }
    }
}

/// The columns of the key, and those included.
pub(super) fn split(mut columns: Vec<String>) -> (Vec<String>, Vec<String>) {
    let included = match columns.iter().position(|c| c == MARK) {
        Some(at) => columns.split_off(at).into_iter().skip(1).collect(),
        None => vec![],
    };
    (columns, included)
}
