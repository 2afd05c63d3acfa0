//! `COPY`, read from the tokens: the grammar of PostgreSQL 15, old and new options.

pub(crate) mod options;
pub(crate) mod parquet;

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use types::{SqlError, SqlResult};

use super::tokens::Tokens;
use super::words::Words;
use crate::parse::dml::Insert;
use crate::parse::object_name::RelationName;
use crate::parse::statement::Statement;
use crate::parse::statement::copy::{Copied, Copy, CopySource, CopyTarget, CopyTo};
use crate::parse::statement::query::Query;
use crate::parse::text::parse_one;
use crate::quote::quote_ident;

pub use options::{CopyFormat, CopyOptions, ForcedColumns, Header, Ignored};
pub use parquet::{Compression, ParquetOptions};

/// The statement, if it is one of these.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<Statement>> {
    let mut words = Words::new(text, tokens);
    words.eat("copy").then(|| copy(text, words))
}

fn copy<'a>(text: &'a str, mut words: Words<'a>) -> SqlResult<Statement> {
    if words.is_parenthesis() {
        return copy_query(text, words);
    }
    let binary = words.is("binary") && words.rest().get(1).is_some_and(is_identifier);
    if binary {
        words.skip();
    }
    let table = words.relation()?;
    let columns = columns(&mut words)?;
    if words.eat("from") {
        let source = source(&mut words)?;
        let options = options::read(&mut words, binary, true)?;
        return Ok(Statement::Copy(Copy { table, columns, source, options }));
    }
    words.expect("to")?;
    let target = target(&mut words)?;
    let options = options::read(&mut words, binary, false)?;
    let copied = Copied::Table { table, columns };
    Ok(Statement::CopyTo(CopyTo { copied, target, options }))
}

fn is_identifier(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::Word(w) if w.quote_style.is_some() => true,
        Token::Word(w) => !["from", "to"].iter().any(|word| w.value.eq_ignore_ascii_case(word)),
        _ => false,
    }
}

fn columns(words: &mut Words<'_>) -> SqlResult<Vec<String>> {
    if !words.eat_token(&Token::LParen) {
        return Ok(vec![]);
    }
    let names = words.names()?;
    match words.eat_token(&Token::RParen) {
        true => Ok(names),
        false => Err(words.unexpected()),
    }
}

fn source(words: &mut Words<'_>) -> SqlResult<CopySource> {
    if words.eat("stdin") || words.eat("stdout") {
        return Ok(CopySource::Stdin);
    }
    refuse_program(words)?;
    words.text().map(CopySource::File).ok_or_else(|| words.unexpected())
}

fn target(words: &mut Words<'_>) -> SqlResult<CopyTarget> {
    if words.eat("stdout") || words.eat("stdin") {
        return Ok(CopyTarget::Stdout);
    }
    refuse_program(words)?;
    words.text().map(CopyTarget::File).ok_or_else(|| words.unexpected())
}

fn refuse_program(words: &Words<'_>) -> SqlResult<()> {
    match words.is("program") {
        true => Err(SqlError::unsupported("COPY with a program")),
        false => Ok(()),
    }
}

/// `COPY (statement) TO`.
fn copy_query<'a>(text: &'a str, words: Words<'a>) -> SqlResult<Statement> {
    let rest = words.rest();
    let close = crate::parse::tokens::closing(rest).ok_or_else(|| words.unexpected())?;
    let inner = rest[1..close].to_vec();
    let mut words = Words::new(text, &rest[close + 1..]);
    words.expect("to")?;
    let target = target(&mut words)?;
    let options = options::read(&mut words, false, false)?;
    let first = Words::new(text, &rest[1..]);
    let copied = match parse_one(text, inner)? {
        Statement::Query(query) => Copied::Query(query),
        other @ (Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)) => {
            Copied::Returning(Box::new(other))
        }
        _ => return Err(first.unexpected()),
    };
    Ok(Statement::CopyTo(CopyTo { copied, target, options }))
}

/// The query that reads these columns of a table; none means all.
///
/// # Errors
/// None that names could cause: they are quoted.
pub fn table_query(table: &RelationName, columns: &[String]) -> SqlResult<Query> {
    let quoted = |name: &str| {
        let (value, quote_style) = (name.to_owned(), Some('"'));
        Token::Word(Word { value, quote_style, keyword: Keyword::NoKeyword })
    };
    let mut tokens = vec![Token::make_keyword("SELECT")];
    for (index, column) in columns.iter().enumerate() {
        if index > 0 {
            tokens.push(Token::Comma);
        }
        tokens.push(quoted(column));
    }
    if columns.is_empty() {
        tokens.push(Token::Mul);
    }
    tokens.push(Token::make_keyword("FROM"));
    for before in [&table.database, &table.schema].into_iter().flatten() {
        tokens.extend([quoted(before), Token::Period]);
    }
    tokens.push(quoted(&table.name));
    let tokens = tokens.into_iter().map(TokenWithSpan::wrap).collect();
    match parse_one("", tokens)? {
        Statement::Query(query) => Ok(query),
        _ => Err(SqlError::internal("the columns of a table are no query")),
    }
}

/// The `INSERT` that puts the rows of a Parquet file into these columns of a table, and its query.
///
/// # Errors
/// None that names could cause: they are quoted.
pub fn file_insert(table: &str, columns: &[&str], path: &str) -> SqlResult<(Insert, Query)> {
    let names: Vec<String> = columns.iter().map(|name| quote_ident(name)).collect();
    let path = path.replace('\'', "''");
    let query = format!("select * from read_parquet('{path}', hive_partitioning => false)");
    // Numbers of rows are values like others here.
    let insert = format!(
        "insert into {} ({}) overriding system value {query}",
        quote_ident(table),
        names.join(", ")
    );
    match (crate::parse::text::parse(&insert)?.pop(), crate::parse::text::parse(&query)?.pop()) {
        (Some(Statement::Insert(insert)), Some(Statement::Query(query))) => Ok((insert, query)),
        _ => Err(SqlError::internal("the rows of a file are inserted by no INSERT")),
    }
}
