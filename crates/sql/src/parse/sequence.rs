//! `CREATE SEQUENCE` and `ALTER SEQUENCE`, read from the tokens: the grammar of PostgreSQL 15.

use datafusion_sql::sqlparser::tokenizer::Token;
use plan::sequence::SequenceOptions;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::statement::Statement;
use crate::parse::statement::sequence::{AlterSequence, CreateSequence, SequenceChange};

/// The statement, if it is one of these.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<Statement>> {
    let mut words = Words::new(text, tokens);
    if words.eat("create") {
        if words.eat("temporary") || words.eat("temp") {
            let refused = || Err(SqlError::unsupported("temporary sequences"));
            return words.is("sequence").then(refused);
        }
        words.eat("unlogged");
        let create = |words| create(words).map(Statement::CreateSequence);
        return words.eat("sequence").then(|| create(words));
    }
    if !words.eat("alter") || !words.eat("sequence") {
        return None;
    }
    Some(alter(words).map(Statement::AlterSequence))
}

fn create(mut words: Words<'_>) -> SqlResult<CreateSequence> {
    let if_not_exists = words.is("if");
    if if_not_exists {
        ["if", "not", "exists"].iter().try_for_each(|word| words.expect(word))?;
    }
    let name = words.relation()?;
    let options = options(&mut words)?;
    if options.restart.is_some() {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, "RESTART is for ALTER SEQUENCE"));
    }
    Ok(CreateSequence { name, if_not_exists, options })
}

fn alter(mut words: Words<'_>) -> SqlResult<AlterSequence> {
    let if_exists = words.is("if");
    if if_exists {
        ["if", "exists"].iter().try_for_each(|word| words.expect(word))?;
    }
    let name = words.relation()?;
    let change = match words.eat("rename") {
        true => {
            words.expect("to")?;
            let new = words.name()?;
            words.end()?;
            SequenceChange::Rename(new)
        }
        false if words.is_end() => return Err(words.unexpected()),
        false => SequenceChange::Options(options(&mut words)?),
    };
    Ok(AlterSequence { name, if_exists, change })
}

/// All options, in any order, to the end of the statement.
fn options(words: &mut Words<'_>) -> SqlResult<SequenceOptions> {
    let mut options = SequenceOptions::default();
    while !words.is_end() {
        let at = words.unexpected();
        let is_new = match () {
            () if words.eat("as") => options.ty.replace(integer_type(words)?).is_none(),
            () if words.eat("start") => {
                words.eat("with");
                options.start.replace(whole(words)?).is_none()
            }
            () if words.eat("increment") => {
                words.eat("by");
                options.increment.replace(whole(words)?).is_none()
            }
            () if words.eat("minvalue") => options.least.replace(Some(whole(words)?)).is_none(),
            () if words.eat("maxvalue") => options.most.replace(Some(whole(words)?)).is_none(),
            () if words.eat("cache") => options.cache.replace(whole(words)?).is_none(),
            () if words.eat("cycle") => options.cycles.replace(true).is_none(),
            () if words.eat("restart") => {
                let value = (words.eat("with") || is_number(words)).then(|| whole(words));
                options.restart.replace(value.transpose()?).is_none()
            }
            () if words.eat("owned") => {
                words.expect("by")?;
                options.owner.replace(owner(words)?).is_none()
            }
            () if words.eat("no") => match () {
                () if words.eat("minvalue") => options.least.replace(None).is_none(),
                () if words.eat("maxvalue") => options.most.replace(None).is_none(),
                () if words.eat("cycle") => options.cycles.replace(false).is_none(),
                () => return Err(words.unexpected()),
            },
            () => return Err(at),
        };
        if !is_new {
            let message = "conflicting or redundant options";
            return Err(SqlError { message: message.into(), ..at });
        }
    }
    Ok(options)
}

fn integer_type(words: &mut Words<'_>) -> SqlResult<LogicalType> {
    match words.name()?.as_str() {
        "smallint" | "int2" => Ok(LogicalType::Int16),
        "integer" | "int" | "int4" => Ok(LogicalType::Int32),
        "bigint" | "int8" => Ok(LogicalType::Int64),
        _ => {
            let message = "sequence type must be smallint, integer, or bigint";
            Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

fn is_number(words: &Words<'_>) -> bool {
    let first = words.rest().first().map(|token| &token.token);
    matches!(first, Some(Token::Number(..) | Token::Minus | Token::Plus))
}

fn whole(words: &mut Words<'_>) -> SqlResult<i64> {
    let sign = if words.eat_token(&Token::Minus) { "-" } else { "" };
    words.eat_token(&Token::Plus);
    let at = words.unexpected();
    let digits = words.digits().ok_or_else(|| words.unexpected())?;
    let number = format!("{sign}{digits}");
    let message = || format!("value \"{number}\" is out of range for type bigint");
    number.parse().map_err(|_| match digits.bytes().all(|digit| digit.is_ascii_digit()) {
        true => SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message()),
        false => at,
    })
}

/// `table.column`, perhaps with a schema, or `NONE`.
fn owner(words: &mut Words<'_>) -> SqlResult<Option<(String, String)>> {
    if words.eat("none") {
        return Ok(None);
    }
    let mut parts = vec![words.name()?];
    while words.eat_token(&Token::Period) {
        parts.push(words.name()?);
    }
    match parts.as_slice() {
        [table, column] => Ok(Some((table.clone(), column.clone()))),
        [schema, table, column] if schema == "public" => Ok(Some((table.clone(), column.clone()))),
        _ => {
            let message = "invalid OWNED BY option";
            Err(SqlError::new(SqlState::SYNTAX_ERROR, message)
                .with_hint("Specify OWNED BY table.column or OWNED BY NONE."))
        }
    }
}
