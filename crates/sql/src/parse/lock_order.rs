//! `FOR UPDATE .. LIMIT 1`: PostgreSQL takes the clauses in either order, the library's parser only
//! `LIMIT` first.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::Token;

use super::tokens::Tokens;

/// Puts locking clauses behind `LIMIT`, `OFFSET` and `FETCH` of their query.
pub(super) fn behind_limit(tokens: &mut Tokens) {
    let mut at = 0;
    while at < tokens.len() {
        let end = clauses_end(tokens, at);
        if end > at && is_limit(keyword(tokens, end)) {
            let query_end = query_end(tokens, end);
            tokens[at..query_end].rotate_left(end - at);
            at = query_end;
        } else {
            at = end.max(at + 1);
        }
    }
}

fn keyword(tokens: &Tokens, at: usize) -> Keyword {
    match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

fn is_limit(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::LIMIT | Keyword::OFFSET | Keyword::FETCH)
}

/// Where the locking clauses end that begin at a place; the place itself if none do.
fn clauses_end(tokens: &Tokens, mut at: usize) -> usize {
    while keyword(tokens, at) == Keyword::FOR {
        let Some(mut end) = strength_end(tokens, at + 1) else { break };
        if keyword(tokens, end) == Keyword::OF {
            end += 1;
            while matches!(
                tokens.get(end).map(|token| &token.token),
                Some(Token::Word(_) | Token::Comma | Token::Period)
            ) && !ends_names(keyword(tokens, end))
            {
                end += 1;
            }
        }
        match (keyword(tokens, end), keyword(tokens, end + 1)) {
            (Keyword::NOWAIT, _) => end += 1,
            (Keyword::SKIP, Keyword::LOCKED) => end += 2,
            _ => {}
        }
        at = end;
    }
    at
}

fn ends_names(keyword: Keyword) -> bool {
    is_limit(keyword) || matches!(keyword, Keyword::NOWAIT | Keyword::SKIP | Keyword::FOR)
}

/// Behind `UPDATE`, `SHARE`, `NO KEY UPDATE`, `KEY SHARE`.
fn strength_end(tokens: &Tokens, at: usize) -> Option<usize> {
    let words = [at, at + 1, at + 2].map(|at| keyword(tokens, at));
    match words {
        [Keyword::UPDATE | Keyword::SHARE, ..] => Some(at + 1),
        [Keyword::KEY, Keyword::SHARE, _] => Some(at + 2),
        [Keyword::NO, Keyword::KEY, Keyword::UPDATE] => Some(at + 3),
        _ => None,
    }
}

/// The parenthesis that ends a query, or the end.
fn query_end(tokens: &Tokens, from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return at,
            Token::RParen => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}
