//! Words that stand before the names of tables, or behind their queries: `TABLE name ..` is
//! `SELECT * FROM name ..`, `ONLY` changes nothing where no table inherits from another, and
//! `CREATE TABLE .. AS .. WITH NO DATA` is that of a query without rows.

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

fn is_word(token: &TokenWithSpan, word: &str) -> bool {
    let Token::Word(w) = &token.token else { return false };
    w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word)
}

/// Leaves out `ONLY` before the names of tables.
pub(super) fn forget_only(tokens: &mut Tokens) {
    const BEFORE: [&str; 4] = ["from", "join", "update", "truncate"];
    let is_only = |three: &[TokenWithSpan]| {
        is_word(&three[1], "only")
            && BEFORE.iter().any(|word| is_word(&three[0], word))
            && matches!(three[2].token, Token::Word(_))
    };
    while let Some(at) = tokens.windows(3).position(is_only) {
        tokens.remove(at + 1);
    }
}

/// Writes `WITH DATA` and `WITH NO DATA` at the end of `CREATE TABLE .. AS` as part of the query.
pub(super) fn with_data(tokens: &mut Tokens) {
    let ends = |words: &[&str]| {
        let last = tokens.len().checked_sub(words.len()).map(|at| &tokens[at..]);
        last.is_some_and(|last| last.iter().zip(words).all(|(token, word)| is_word(token, word)))
    };
    if ends(&["without", "oids"]) && is_word(&tokens[0], "create") {
        // No table has them.
        tokens.truncate(tokens.len() - 2);
        return;
    }
    let (none, all) = (ends(&["with", "no", "data"]), ends(&["with", "data"]));
    let first = tokens.iter().position(|token| is_word(token, "as"));
    let (Some(first), true) = (first.filter(|_| is_word(&tokens[0], "create")), none || all) else {
        return;
    };
    tokens.truncate(tokens.len() - if none { 3 } else { 2 });
    if !none {
        return;
    }
    let span = tokens[first].span;
    let put = |token: Token| TokenWithSpan::new(token, span);
    let word = |text: &str| Token::make_word(text, None);
    let behind = [Token::RParen, word("__rows"), Token::make_keyword("LIMIT"), number_zero()];
    tokens.extend(behind.map(put));
    let before =
        [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM"), Token::LParen];
    tokens.splice(first + 1..first + 1, before.map(put));
}

fn number_zero() -> Token {
    Token::Number("0".into(), false)
}
