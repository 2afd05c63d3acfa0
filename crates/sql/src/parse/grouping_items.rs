//! `ROLLUP ((a)::text)`: the library takes a parenthesis that begins an element for one around all
//! of it.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::tokens::Tokens;

/// Puts parentheses around elements of `ROLLUP`, `CUBE` and `GROUPING SETS` that begin with some
/// and go on behind them.
pub(super) fn in_parentheses(tokens: &mut Tokens) {
    let mut at = 0;
    while at + 1 < tokens.len() {
        if is_list(tokens, at) {
            let mut first = at + 2;
            while let Some(end) = element_end(tokens, first) {
                let behind = parenthesis_end(tokens, first);
                let added = match behind.is_some_and(|behind| behind < end) {
                    true => {
                        tokens.insert(end, TokenWithSpan::wrap(Token::RParen));
                        tokens.insert(first, TokenWithSpan::wrap(Token::LParen));
                        2
                    }
                    false => 0,
                };
                if tokens[end + added].token == Token::RParen {
                    break;
                }
                first = end + added + 1;
            }
        }
        at += 1;
    }
}

fn is_list(tokens: &Tokens, at: usize) -> bool {
    let keyword = match &tokens[at].token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    matches!(keyword, Keyword::ROLLUP | Keyword::CUBE | Keyword::SETS)
        && tokens[at + 1].token == Token::LParen
}

/// Behind the parenthesis that ends what one at a place begins.
fn parenthesis_end(tokens: &Tokens, at: usize) -> Option<usize> {
    let first = tokens.get(at)?;
    let rest = (first.token == Token::LParen).then_some(&tokens[at..])?;
    super::tokens::closing(rest).map(|end| at + end + 1)
}

/// The comma or the parenthesis behind an element.
fn element_end(tokens: &Tokens, first: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(first) {
        match token.token {
            Token::LParen => depth += 1,
            Token::Comma | Token::RParen if depth == 0 => return Some(at),
            Token::RParen => depth -= 1,
            _ => {}
        }
    }
    None
}
