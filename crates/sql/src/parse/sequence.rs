//! `IDENTITY (START WITH 10 INCREMENT BY 5)`: the library's parser takes the options of a sequence in
//! one order only. Their tokens are put into it.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::tokens::Tokens;

/// The keywords that options begin with, in the parser's order.
const ORDER: [Keyword; 6] = [
    Keyword::INCREMENT,
    Keyword::MINVALUE,
    Keyword::MAXVALUE,
    Keyword::START,
    Keyword::CACHE,
    Keyword::CYCLE,
];

fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Puts the options of identity columns into the parser's order.
pub(super) fn order_options(tokens: &mut Tokens) {
    let verb = tokens.first().map(keyword);
    if !matches!(verb, Some(Keyword::CREATE | Keyword::ALTER)) {
        return;
    }
    for at in 1..tokens.len() {
        if keyword(&tokens[at - 1]) != Keyword::IDENTITY || tokens[at].token != Token::LParen {
            continue;
        }
        let end = tokens[at..].iter().position(|token| token.token == Token::RParen);
        let Some(end) = end.map(|length| at + length) else { return };
        let ordered = ordered(&tokens[at + 1..end]);
        tokens.splice(at + 1..end, ordered);
    }
}

/// The options, each from the keyword that it begins with on.
fn ordered(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut options: Vec<(usize, Vec<TokenWithSpan>)> = vec![];
    let mut negated = false;
    for token in tokens {
        let rank = ORDER.iter().position(|word| *word == keyword(token));
        let no = keyword(token) == Keyword::NO;
        match (options.last_mut(), rank) {
            // `NO` belongs to the word behind it.
            (Some(last), Some(rank)) if negated => {
                last.0 = rank;
                last.1.push(token.clone());
            }
            (Some(last), None) if !no => last.1.push(token.clone()),
            (_, rank) => options.push((rank.unwrap_or(0), vec![token.clone()])),
        }
        negated = no;
    }
    options.sort_by_key(|(rank, _)| *rank);
    options.into_iter().flat_map(|(_, tokens)| tokens).collect()
}
