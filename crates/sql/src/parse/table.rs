//! `TABLE name ..` is `SELECT * FROM name ..`.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::SqlResult;

use super::tokens::{Tokens, unexpected};

/// Puts the longer form in the place of the shorter one.
///
/// # Errors
/// 42601 when no name follows.
pub(super) fn expand(text: &str, tokens: &mut Tokens) -> SqlResult<()> {
    let is_table = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.keyword == Keyword::TABLE,
        _ => false,
    };
    if !tokens.first().is_some_and(is_table) {
        return Ok(());
    }
    match tokens.get(1) {
        Some(TokenWithSpan { token: Token::Word(_), .. }) => {}
        Some(other) => return Err(unexpected(text, other)),
        None => return Ok(()),
    }
    let span = tokens[0].span;
    let longer = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
    tokens.splice(0..1, longer.map(|token| TokenWithSpan::new(token, span)));
    Ok(())
}
