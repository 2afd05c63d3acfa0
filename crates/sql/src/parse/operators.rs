//! `x OPERATOR(pg_catalog.=) ANY (array)`: the library's parser knows the operator by its full name, but not
//! in front of `ANY` and `ALL`. There it becomes the sign, which is looked up in `pg_catalog` anyway.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Writes the sign for the full name in front of `ANY`, `SOME` and `ALL`.
pub(super) fn before_any(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while let Some(window) = tokens.get(at..at + 7) {
        if is_named(window) {
            tokens.drain(at + 5..at + 6);
            tokens.drain(at..at + 4);
        }
        at += 1;
    }
}

/// Whether these are `OPERATOR ( pg_catalog . sign ) ANY`.
fn is_named(tokens: &[TokenWithSpan]) -> bool {
    let word = |at: usize| match &tokens[at].token {
        Token::Word(word) => Some(word),
        _ => None,
    };
    let is = |at: usize, token: Token| tokens[at].token == token;
    word(0).is_some_and(|w| w.keyword == Keyword::OPERATOR)
        && is(1, Token::LParen)
        && word(2).is_some_and(|w| w.value.eq_ignore_ascii_case("pg_catalog"))
        && is(3, Token::Period)
        && word(4).is_none()
        && is(5, Token::RParen)
        && word(6).is_some_and(|w| [Keyword::ANY, Keyword::SOME, Keyword::ALL].contains(&w.keyword))
}
