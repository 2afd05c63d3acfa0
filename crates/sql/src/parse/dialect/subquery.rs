//! Queries in parentheses as expressions that do not begin with `SELECT` or `WITH`: set operations of
//! queries in parentheses, and `VALUES`; and those that are the first of several values.

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

/// `[NOT] IN` with values of which the first begins with a query; the library takes that for all of them. `None`
/// where it reads what stands next: no query, or nothing else.
pub(super) fn read_list(parser: &mut Parser<'_>, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = ahead(parser).next().and_then(keyword) == Some(Keyword::NOT);
    let mut behind = ahead(parser).skip(usize::from(negated));
    let is_in = behind.next().and_then(keyword) == Some(Keyword::IN)
        && behind.next() == Some(&Token::LParen);
    let next = is_in.then(|| behind_query(behind)).flatten()?;
    if *next == Token::RParen || goes_on(next) {
        return None;
    }
    Some(in_list(parser, expr.clone(), negated))
}

fn in_list(parser: &mut Parser<'_>, expr: Expr, negated: bool) -> Result<Expr, ParserError> {
    if negated {
        parser.expect_keyword(Keyword::NOT)?;
    }
    parser.expect_keyword(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList { expr: Box::new(expr), list, negated })
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
    behind_query(tokens).is_some_and(goes_on)
}

/// Whether a query in parentheses is longer than these if this stands behind them.
fn goes_on(behind: &Token) -> bool {
    use Keyword::{EXCEPT, FETCH, INTERSECT, LIMIT, OFFSET, ORDER, UNION};
    let words = [UNION, INTERSECT, EXCEPT, ORDER, LIMIT, OFFSET, FETCH];
    keyword(behind).is_some_and(|word| words.contains(&word))
}

/// What stands behind a query in parentheses that tokens begin with.
fn behind_query<'a>(mut tokens: impl Iterator<Item = &'a Token>) -> Option<&'a Token> {
    let begins = [Keyword::SELECT, Keyword::VALUES, Keyword::WITH, Keyword::TABLE];
    let (mut depth, mut is_query) = (0usize, false);
    loop {
        match tokens.next()? {
            Token::LParen => depth += 1,
            _ if depth == 0 => return None,
            Token::RParen if depth == 1 => return tokens.next(),
            Token::RParen => depth -= 1,
            // The first word.
            token if !is_query && !keyword(token).is_some_and(|word| begins.contains(&word)) => {
                return None;
            }
            _ => is_query = true,
        }
    }
}

/// What the parser has not read.
pub(super) fn ahead<'a>(parser: &'a Parser<'_>) -> impl Iterator<Item = &'a Token> {
    let tokens = (parser.index()..).map(|i| &parser.token_at(i).token);
    let tokens = tokens.take_while(|token| **token != Token::EOF);
    tokens.filter(|token| !matches!(token, Token::Whitespace(_)))
}

pub(super) fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}
