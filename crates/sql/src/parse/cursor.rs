//! `DECLARE`, `FETCH`, `MOVE` and `CLOSE`, read from the tokens: the grammar of PostgreSQL 15.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::{SqlError, SqlResult, SqlState};

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::statement::Statement;
use crate::parse::statement::cursor::{CursorStatement, DeclareCursor, Fetch, Which};
use crate::parse::text::parse_one;

/// The statement, if it is one of these.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<Statement>> {
    let mut words = Words::new(text, tokens);
    let statement = match () {
        () if words.eat("declare") => declare(text, words).map(CursorStatement::Declare),
        () if words.eat("fetch") => fetch(words, false).map(CursorStatement::Fetch),
        () if words.eat("move") => fetch(words, true).map(CursorStatement::Fetch),
        () if words.eat("close") => close(words).map(CursorStatement::Close),
        () => return None,
    };
    Some(statement.map(Statement::Cursor))
}

fn declare(text: &str, mut words: Words<'_>) -> SqlResult<DeclareCursor> {
    let name = words.name()?;
    let (mut binary, mut scroll) = (false, false);
    loop {
        match () {
            () if words.eat("binary") => binary = true,
            () if words.eat("asensitive") || words.eat("insensitive") => {}
            () if words.eat("no") => words.expect("scroll")?,
            () if words.eat("scroll") => scroll = true,
            () => break,
        }
    }
    words.expect("cursor")?;
    let hold = words.eat("with");
    if hold || words.eat("without") {
        words.expect("hold")?;
    }
    words.expect("for")?;
    let begin = words.unexpected();
    let Statement::Query(query) = parse_one(text, words.rest().to_vec())? else {
        return Err(begin);
    };
    Ok(DeclareCursor { name, binary, hold, scroll, query, text: text.to_owned() })
}

fn fetch(mut words: Words<'_>, is_move: bool) -> SqlResult<Fetch> {
    let which = which(&mut words)?;
    if !words.eat("from") {
        words.eat("in");
    }
    let cursor = words.name()?;
    words.end()?;
    Ok(Fetch { cursor, which, is_move })
}

fn which(words: &mut Words<'_>) -> SqlResult<Which> {
    // A name may be one of these words, if nothing follows it.
    if words.rest().len() == 1 {
        return Ok(Which::Forward(1));
    }
    Ok(match () {
        () if words.eat("next") => Which::Forward(1),
        () if words.eat("prior") => Which::Forward(-1),
        () if words.eat("first") => Which::Absolute(1),
        () if words.eat("last") => Which::Absolute(-1),
        () if words.eat("absolute") => Which::Absolute(number(words)?),
        () if words.eat("relative") => Which::Relative(number(words)?),
        () if words.eat("all") => Which::All,
        () if words.eat("forward") => count(words, 1)?,
        () if words.eat("backward") => count(words, -1)?,
        () if is_number(words) => Which::Forward(number(words)?),
        () => Which::Forward(1),
    })
}

/// What stands behind `FORWARD` and `BACKWARD`.
fn count(words: &mut Words<'_>, sign: i64) -> SqlResult<Which> {
    if words.eat("all") {
        return Ok(if sign > 0 { Which::All } else { Which::BackwardAll });
    }
    Ok(Which::Forward(if is_number(words) { number(words)? * sign } else { sign }))
}

fn is_number(words: &Words<'_>) -> bool {
    let first = words.rest().first().map(|token| &token.token);
    matches!(first, Some(Token::Number(..) | Token::Minus | Token::Plus))
}

fn number(words: &mut Words<'_>) -> SqlResult<i64> {
    words.eat_token(&Token::Plus);
    words.number().map(i64::from)
}

fn close(mut words: Words<'_>) -> SqlResult<Option<String>> {
    let all = words.is("all");
    let name = words.name()?;
    words.end()?;
    Ok((!all).then_some(name))
}

/// 34000
pub fn no_cursor(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_PORTAL, format!("cursor \"{name}\" does not exist"))
}

/// 25P01
pub fn no_block(what: &str) -> SqlError {
    let message = format!("{what} can only be used in transaction blocks");
    SqlError::new(SqlState("25P01"), message)
}
