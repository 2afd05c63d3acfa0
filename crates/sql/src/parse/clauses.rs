//! Clauses behind a query whose forms the parser does not all know, put as forms that it does, token by
//! token: `FETCH FIRST .. ROWS ONLY` is `LIMIT ..`, and rows are locked in two ways.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::marks;
use super::tokens::Tokens;
use crate::parse::tokens::closing;

/// Rewrites the tokens of a statement in place.
pub(super) fn apply(tokens: &mut Tokens) {
    let mut at = 1;
    while at < tokens.len() {
        match keyword(tokens, at) {
            Keyword::FETCH => limit(tokens, at),
            Keyword::FOR => {
                one_relation_each(tokens, at);
                lock(tokens, at);
            }
            _ => {}
        }
        at += 1;
    }
}

fn keyword(tokens: &[TokenWithSpan], at: usize) -> Keyword {
    match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// `FETCH { FIRST | NEXT } [count] { ROW | ROWS } ONLY`: without a count it is one row.
fn limit(tokens: &mut Tokens, at: usize) {
    let count_at = at + 2;
    if !matches!(keyword(tokens, at + 1), Keyword::FIRST | Keyword::NEXT) {
        return;
    }
    let Some(count_len) = count_len(&tokens[count_at.min(tokens.len())..]) else { return };
    let behind = count_at + count_len;
    let is_plain = matches!(keyword(tokens, behind), Keyword::ROW | Keyword::ROWS)
        && keyword(tokens, behind + 1) == Keyword::ONLY;
    if !is_plain {
        return;
    }
    let span = tokens[at].span;
    let mut count = tokens[count_at..behind].to_vec();
    match count.as_slice() {
        [] => count.push(TokenWithSpan::new(Token::Number("1".into(), false), span)),
        [_, only, _] => count = vec![only.clone()],
        _ => {}
    }
    count.insert(0, TokenWithSpan::new(Token::make_keyword("LIMIT"), span));
    tokens.splice(at..behind + 2, count);
}

/// How many tokens a count has that these begin with: a number, a parameter, an expression in
/// parentheses, or nothing.
fn count_len(tokens: &[TokenWithSpan]) -> Option<usize> {
    match tokens.first().map(|token| &token.token)? {
        Token::Number(..) | Token::Placeholder(_) | Token::SingleQuotedString(_) => Some(1),
        Token::LParen => closing(tokens).map(|last| last + 1),
        Token::Word(_) => Some(0),
        _ => None,
    }
}

/// `FOR UPDATE OF a, b NOWAIT` is `FOR UPDATE OF a NOWAIT FOR UPDATE OF b NOWAIT`.
fn one_relation_each(tokens: &mut Tokens, at: usize) {
    let strength = 1 + match [1, 2, 3].map(|distance| keyword(tokens, at + distance)) {
        [Keyword::UPDATE | Keyword::SHARE, ..] => 1,
        [Keyword::KEY, Keyword::SHARE, _] => 2,
        [Keyword::NO, Keyword::KEY, Keyword::UPDATE] => 3,
        _ => return,
    };
    let names_at = at + strength + 1;
    if keyword(tokens, at + strength) != Keyword::OF {
        return;
    }
    let of_names = |token: &&TokenWithSpan| {
        let is_name = matches!(&token.token, Token::Word(word)
            if word.quote_style.is_some() || !ENDS_NAMES.contains(&word.keyword));
        is_name || matches!(token.token, Token::Comma | Token::Period)
    };
    let behind = names_at + tokens[names_at..].iter().take_while(of_names).count();
    let blocked = match [0, 1].map(|distance| keyword(tokens, behind + distance)) {
        [Keyword::NOWAIT, _] => behind..behind + 1,
        [Keyword::SKIP, Keyword::LOCKED] => behind..behind + 2,
        _ => behind..behind,
    };
    let names = tokens[names_at..behind].split(|token| token.token == Token::Comma);
    let clause =
        |name: &[TokenWithSpan]| [&tokens[at..names_at], name, &tokens[blocked.clone()]].concat();
    let clauses: Vec<TokenWithSpan> = names.flat_map(clause).collect();
    tokens.splice(at..blocked.end, clauses);
}

/// Words that may stand behind the names of relations whose rows are locked.
const ENDS_NAMES: [Keyword; 6] =
    [Keyword::NOWAIT, Keyword::SKIP, Keyword::FOR, Keyword::LIMIT, Keyword::OFFSET, Keyword::FETCH];

/// `FOR NO KEY UPDATE` and `FOR KEY SHARE` are `FOR UPDATE` and `FOR SHARE` of a name that begins with a mark.
fn lock(tokens: &mut Tokens, at: usize) {
    let next = [1, 2, 3].map(|distance| keyword(tokens, at + distance));
    let extra = match next {
        [Keyword::NO, Keyword::KEY, Keyword::UPDATE] => 2,
        [Keyword::KEY, Keyword::SHARE, _] => 1,
        _ => return,
    };
    tokens.drain(at + 1..=at + extra);
    let span = tokens[at].span;
    let mark = marks::word("key");
    let (place, marked) = match keyword(tokens, at + 2) {
        Keyword::OF => (at + 3, [mark, Token::Period]),
        _ => (at + 2, [Token::make_keyword("OF"), mark]),
    };
    tokens.splice(place..place, marked.map(|token| TokenWithSpan::new(token, span)));
}
