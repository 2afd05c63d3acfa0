//! The options of identity columns, `IDENTITY (START WITH 10 INCREMENT BY 5)`: the library's parser takes them
//! in one order only, so their tokens are put into it. It does not know `SEQUENCE NAME` there, which goes
//! beside the syntax tree.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use plan::constraints::ColumnDefault;
use types::SqlResult;

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::statement::Statement;
use crate::parse::statement::alter::Alteration;

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

/// Puts the options of identity columns into the parser's order. `SEQUENCE NAME`, which it does not know, goes
/// out of them: here are the names that the columns say, one column after the other.
///
/// Errors: those of a name behind `SEQUENCE NAME`.
pub(super) fn order_options(text: &str, tokens: &mut Tokens) -> SqlResult<Vec<Option<String>>> {
    let verb = tokens.first().map(keyword);
    let mut names = vec![];
    if !matches!(verb, Some(Keyword::CREATE | Keyword::ALTER)) {
        return Ok(names);
    }
    let mut at = 2;
    while at < tokens.len() {
        let words = [at - 2, at - 1].map(|at| keyword(&tokens[at]));
        if words == [Keyword::AS, Keyword::IDENTITY] {
            let mut name = None;
            let begins = tokens[at].token == Token::LParen;
            let end = tokens[at..].iter().position(|token| token.token == Token::RParen);
            if let Some(length) = end.filter(|_| begins) {
                let mut options = tokens[at + 1..at + length].to_vec();
                name = taken_name(text, &mut options)?;
                tokens.splice(at + 1..at + length, ordered(&options));
            }
            names.push(name);
        }
        at += 1;
    }
    Ok(names)
}

/// The statement with the names that its identity columns say for their sequences, in the order of the columns.
pub(super) fn named(mut statement: Statement, names: Vec<Option<String>>) -> Statement {
    let defaults: Vec<&mut ColumnDefault> = match &mut statement {
        Statement::CreateTable(create) => {
            create.columns.iter_mut().filter_map(|column| column.default.as_mut()).collect()
        }
        Statement::AlterTable(alter) => {
            alter.alterations.iter_mut().filter_map(default_of).collect()
        }
        _ => return statement,
    };
    let identities = defaults.into_iter().filter_map(|default| match default {
        ColumnDefault::Identity(identity) if identity.standard => Some(identity),
        _ => None,
    });
    identities.zip(names).for_each(|(identity, name)| identity.name = name);
    statement
}

fn default_of(alteration: &mut Alteration) -> Option<&mut ColumnDefault> {
    match alteration {
        Alteration::AddColumn { column, .. } => column.default.as_mut(),
        Alteration::Default { default, .. } => default.as_mut(),
        _ => None,
    }
}

/// Takes `SEQUENCE NAME name` out of the options.
fn taken_name(text: &str, options: &mut Vec<TokenWithSpan>) -> SqlResult<Option<String>> {
    let is = |at: usize, word: &str| Words::new(text, &options[at..]).is(word);
    let place = (1..options.len()).find(|&at| is(at - 1, "sequence") && is(at, "name"));
    let Some(place) = place else { return Ok(None) };
    let mut words = Words::new(text, &options[place + 1..]);
    let name = words.relation()?.name;
    let end = options.len() - words.rest().len();
    options.drain(place - 1..end);
    Ok(Some(name))
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
