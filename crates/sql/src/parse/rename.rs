//! `ALTER TABLE | VIEW | INDEX .. RENAME TO`, read from the tokens.

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::statement::Statement;
use crate::parse::statement::alter::{RenameRelation, Renamed};
use types::SqlResult;

/// The statement, if it is one of these.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<Statement>> {
    let mut words = Words::new(text, tokens);
    if !words.eat("alter") {
        return None;
    }
    let kind = match () {
        () if words.eat("table") => Renamed::Table,
        () if words.eat("view") => Renamed::View,
        () if words.eat("index") => Renamed::Index,
        () => return None,
    };
    let if_exists = words.eat_all("if exists");
    words.eat("only");
    let relation = words.relation().ok()?;
    if !words.eat_all("rename to") {
        return None;
    }
    let read = |words: &mut Words<'_>| {
        let new = words.name()?;
        words.end()?;
        Ok(Statement::Rename(RenameRelation { kind, relation, if_exists, new }))
    };
    Some(read(&mut words))
}
