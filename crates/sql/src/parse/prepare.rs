//! `PREPARE`, `EXECUTE`, `DEALLOCATE` and `DISCARD`. Read from the tokens: what is prepared keeps its
//! parameters until it is executed.

use datafusion_sql::sqlparser::ast;
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{SqlError, SqlResult, oid};

use super::tokens;
use super::tokens::Tokens;
use super::words::Words;
use crate::parse::column_type;
use crate::parse::statement::Statement;
use crate::parse::statement::prepare::{Discard, Execute, Prepare};
use crate::parse::template::Template;
use crate::parse::tokens::{PREPARABLE, closing, first_is, syntax_error};

/// The statement, if it is one of these.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<Statement>> {
    let mut words = Words::new(text, tokens);
    if words.eat("prepare") {
        return Some(prepare(text, words).map(|prepare| Statement::Prepare(Box::new(prepare))));
    }
    if words.eat("execute") {
        return Some(execute(text, words).map(Statement::Execute));
    }
    if words.eat("deallocate") {
        return Some(deallocate(words));
    }
    words.eat("discard").then(|| discard(words))
}

fn prepare<'a>(text: &'a str, mut words: Words<'a>) -> SqlResult<Prepare> {
    if words.is("transaction") {
        return Err(SqlError::unsupported("PREPARE TRANSACTION"));
    }
    let name = words.name()?;
    let mut types = vec![];
    if words.is_parenthesis() {
        let rest = words.rest();
        let close = closing(rest).ok_or_else(|| words.unexpected())?;
        types = self::types(text, &rest[1..close])?;
        words = Words::new(text, &rest[close + 1..]);
    }
    words.expect("as")?;
    let rest = words.rest();
    let begins = rest.iter().position(|token| token.token != Token::LParen);
    let first = begins.map(|at| &rest[at..]).unwrap_or_default();
    if !PREPARABLE.iter().any(|word| first_is(first, word)) {
        return Err(words.unexpected());
    }
    let template = Template::new(&text.into(), rest.to_vec())?;
    Ok(Prepare { name, types, template, text: text.to_owned() })
}

fn types(text: &str, tokens: &[TokenWithSpan]) -> SqlResult<Vec<u32>> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens.to_vec());
    let list = parser.parse_comma_separated(Parser::parse_data_type);
    let list = list.map_err(|e| syntax_error(text, None, e))?;
    end(text, &parser)?;
    list.iter().map(type_number).collect()
}

fn type_number(ty: &ast::DataType) -> SqlResult<u32> {
    use ast::DataType as D;
    match ty {
        // The digits are those of the value.
        D::Numeric(_) | D::Decimal(_) | D::Dec(_) => Ok(oid::NUMERIC),
        D::Custom(name, _) if name.to_string().eq_ignore_ascii_case("unknown") => Ok(0),
        D::Custom(name, _) if name.to_string().eq_ignore_ascii_case("bpchar") => Ok(oid::BPCHAR),
        D::Array(ast::ArrayElemTypeDef::SquareBracket(element, _))
            if type_number(element)? == oid::BPCHAR =>
        {
            let array = oid::array_of(oid::BPCHAR);
            array.ok_or_else(|| SqlError::internal("there are arrays of char(n)"))
        }
        other => Ok(oid::of_logical(column_type(other)?).oid),
    }
}

fn end(text: &str, parser: &Parser<'_>) -> SqlResult<()> {
    let rest = parser.peek_token();
    match rest.token {
        Token::EOF => Ok(()),
        _ => Err(tokens::unexpected(text, &rest)),
    }
}

fn execute(text: &str, mut words: Words<'_>) -> SqlResult<Execute> {
    let name = words.name()?;
    let mut arguments = vec![];
    if words.is_parenthesis() {
        let dialect = super::dialect::Postgres::for_length(words.rest().len());
        let mut parser = Parser::new(&dialect)
            .with_recursion_limit(tokens::nesting_max())
            .with_tokens_with_locations(words.rest()[1..].to_vec());
        let list = parser.parse_comma_separated(Parser::parse_expr);
        arguments = list.map_err(|e| syntax_error(text, None, e))?;
        parser.expect_token(&Token::RParen).map_err(|e| syntax_error(text, None, e))?;
        end(text, &parser)?;
        for argument in &mut arguments {
            super::balance(argument)?;
        }
    } else {
        words.end()?;
    }
    Ok(Execute { name, arguments, explain: None })
}

fn deallocate(mut words: Words<'_>) -> SqlResult<Statement> {
    words.eat("prepare");
    let all = words.is("all");
    let name = words.name()?;
    words.end()?;
    Ok(Statement::Deallocate { name: (!all).then_some(name) })
}

fn discard(mut words: Words<'_>) -> SqlResult<Statement> {
    let what = match () {
        () if words.eat("all") => Discard::All,
        () if words.eat("plans") => Discard::Plans,
        () if words.eat("sequences") => Discard::Sequences,
        () if words.eat("temp") || words.eat("temporary") => Discard::Temporary,
        () => return Err(words.unexpected()),
    };
    words.end()?;
    Ok(Statement::Discard(what))
}
