//! Queries in parentheses as expressions that do not begin with `SELECT` or `WITH`: set operations of
//! queries in parentheses, and `VALUES`.

use datafusion_sql::sqlparser::ast::{Expr, Query};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

/// The query that stands next, with its parentheses; `None` where the library reads what does.
pub(super) fn read(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_values = || ahead(parser).next().and_then(keyword) == Some(Keyword::VALUES);
    if is_compared_with(parser) && (is_values() || is_longer_query(ahead(parser))) {
        return Some(parser.parse_query().map(Expr::Subquery));
    }
    begins_query(parser).then(|| in_parentheses(parser).map(Expr::Subquery))
}

/// Whether such a query stands next, within parentheses.
fn begins_query(parser: &Parser<'_>) -> bool {
    let mut first = ahead(parser);
    if first.next() != Some(&Token::LParen) {
        return false;
    }
    let is_values = first.next().and_then(keyword) == Some(Keyword::VALUES)
        && first.next() == Some(&Token::LParen);
    is_values || is_longer_query(ahead(parser).skip(1))
}

fn in_parentheses(parser: &mut Parser<'_>) -> Result<Box<Query>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(query)
}

/// Whether the parser stands behind `ANY (`, `SOME (` or `ALL (`, whose parentheses are read already.
fn is_compared_with(parser: &Parser<'_>) -> bool {
    let mut behind = (0..parser.index()).rev().map(|i| &parser.token_at(i).token);
    let mut words = behind.by_ref().filter(|token| !matches!(token, Token::Whitespace(_)));
    let any = [Keyword::ANY, Keyword::SOME, Keyword::ALL];
    words.next() == Some(&Token::LParen)
        && words.next().and_then(keyword).is_some_and(|word| any.contains(&word))
}

/// Whether tokens begin with a query in parentheses that goes on behind them.
fn is_longer_query<'a>(tokens: impl Iterator<Item = &'a Token>) -> bool {
    use Keyword::{EXCEPT, FETCH, INTERSECT, LIMIT, OFFSET, ORDER, UNION};
    let begins = [Keyword::SELECT, Keyword::VALUES, Keyword::WITH, Keyword::TABLE];
    let goes_on = [UNION, INTERSECT, EXCEPT, ORDER, LIMIT, OFFSET, FETCH];
    let (mut depth, mut is_query, mut is_closed) = (0usize, false, false);
    for token in tokens {
        if is_closed {
            return keyword(token).is_some_and(|word| goes_on.contains(&word));
        }
        match token {
            Token::LParen => depth += 1,
            _ if depth == 0 => return false,
            Token::RParen => depth -= 1,
            // The first word.
            _ if !is_query && !keyword(token).is_some_and(|word| begins.contains(&word)) => {
                return false;
            }
            _ => is_query = true,
        }
        is_closed = depth == 0;
    }
    false
}

/// What the parser has not read.
fn ahead<'a>(parser: &'a Parser<'_>) -> impl Iterator<Item = &'a Token> {
    let tokens = (parser.index()..).map(|i| &parser.token_at(i).token);
    let tokens = tokens.take_while(|token| **token != Token::EOF);
    tokens.filter(|token| !matches!(token, Token::Whitespace(_)))
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}
