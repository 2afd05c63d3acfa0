//! The queries of views as they are kept: text that the library writes of a syntax tree, which has no words for
//! `FOR NO KEY UPDATE` and `FOR KEY SHARE`.

use datafusion_sql::sqlparser::ast::Query;
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use super::dialect::Postgres;
use super::tokens::{Tokens, position};
use super::{clauses, no_columns, normalise, tokens};

/// The query of a view, from its text.
///
/// # Errors
/// That the text is no query.
pub(crate) fn read(text: &str) -> Result<Query, ParserError> {
    let mut words = tokens_of(text)?;
    clauses::apply(&mut words);
    let dialect = Postgres::for_length(text.len());
    Ok(*Parser::new(&dialect)
        .with_recursion_limit(2 * tokens::nesting_max())
        .with_tokens_with_locations(words)
        .parse_query()?)
}

/// The text that a query is kept as.
pub(crate) fn printed(query: &Query) -> String {
    let mut query = query.clone();
    no_columns::empty(&mut query);
    let text = normalise::printed(&query);
    let Ok(tokens) = tokens_of(&text) else { return text };
    let letters: Vec<char> = text.chars().collect();
    let (mut printed, mut until) = (String::new(), 0);
    for clause in (0..tokens.len()).filter_map(|at| key_lock(&tokens[at..])) {
        let [from, to] = [clause.from, clause.to].map(|at| position(&text, at.line, at.column) - 1);
        printed.extend(&letters[until..from]);
        printed.push_str(clause.words);
        until = to;
    }
    printed.extend(&letters[until..]);
    printed
}

/// The words of a lock of keys, and which they replace.
struct KeyLock {
    from: Location,
    to: Location,
    words: &'static str,
}

/// The clause that tokens begin with, `FOR UPDATE OF [mark]` and `FOR SHARE OF [mark].name`.
fn key_lock(tokens: &[TokenWithSpan]) -> Option<KeyLock> {
    let keyword = |at: usize| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let is = |at: usize, token: &Token| tokens.get(at).is_some_and(|found| found.token == *token);
    let is_marked = [keyword(0), keyword(2)] == [Keyword::FOR, Keyword::OF]
        && is(3, &Token::LBracket)
        && is(5, &Token::RBracket);
    let has_name = is(6, &Token::Period);
    let words = match (keyword(1), has_name) {
        _ if !is_marked => return None,
        (Keyword::UPDATE, false) => "NO KEY UPDATE",
        (Keyword::UPDATE, true) => "NO KEY UPDATE OF ",
        (Keyword::SHARE, false) => "KEY SHARE",
        (Keyword::SHARE, true) => "KEY SHARE OF ",
        _ => return None,
    };
    let last = if has_name { 6 } else { 5 };
    Some(KeyLock { from: tokens[1].span.start, to: tokens[last].span.end, words })
}

fn tokens_of(text: &str) -> Result<Tokens, ParserError> {
    let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location()?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    Ok(tokens)
}

#[cfg(test)]
mod tests;
