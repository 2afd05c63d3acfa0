//! `VACUUM`, which the parser has no words for.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::SqlResult;

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::object_name::RelationName;

/// `VACUUM`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vacuum {
    /// Statistics are made too.
    pub analyze: bool,
    /// The tables; none means all.
    pub tables: Vec<RelationName>,
}

/// Whether the statement begins with the word.
pub(super) fn is_vacuum(tokens: &Tokens) -> bool {
    let first = tokens.first().map(|t| &t.token);
    matches!(first, Some(Token::Word(w)) if w.value.eq_ignore_ascii_case("vacuum"))
}

/// Options that change nothing here.
const OPTIONS: [&str; 3] = ["full", "freeze", "verbose"];

/// Reads the options, in parentheses or not, and the names.
pub(super) fn vacuum(text: &str, tokens: &Tokens) -> SqlResult<Vacuum> {
    let mut words = Words::new(text, &tokens[1..]);
    let mut vacuum = Vacuum { analyze: false, tables: vec![] };
    match words.eat_token(&Token::LParen) {
        true => in_parentheses(&mut words, &mut vacuum)?,
        false => while option(&mut words, &mut vacuum) {},
    }
    while !words.is_end() {
        if !vacuum.tables.is_empty() && !words.eat_token(&Token::Comma) {
            return Err(words.unexpected());
        }
        vacuum.tables.push(words.relation()?);
        // Statistics are made of all columns.
        if words.eat_token(&Token::LParen) {
            words.names()?;
            if !words.eat_token(&Token::RParen) {
                return Err(words.unexpected());
            }
        }
    }
    Ok(vacuum)
}

fn option(words: &mut Words<'_>, vacuum: &mut Vacuum) -> bool {
    if words.eat("analyze") || words.eat("analyse") {
        vacuum.analyze = true;
        return true;
    }
    OPTIONS.iter().any(|option| words.eat(option))
}

fn in_parentheses(words: &mut Words<'_>, vacuum: &mut Vacuum) -> SqlResult<()> {
    loop {
        if !option(words, vacuum) {
            return Err(words.unexpected());
        }
        words.eat("true");
        words.eat("on");
        if words.eat_token(&Token::RParen) {
            return Ok(());
        }
        if !words.eat_token(&Token::Comma) {
            return Err(words.unexpected());
        }
    }
}
