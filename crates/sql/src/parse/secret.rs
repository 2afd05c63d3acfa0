//! `CREATE SECRET` and `DROP SECRET`, read from the tokens: what is in the parentheses is never part of
//! a syntax tree, nor of an error.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::{SqlError, SqlResult, SqlState};

use super::role::Secret;
use super::tokens::Tokens;
use super::words::Words;
use crate::parse::statement::Statement;
use crate::parse::statement::secret::{CreateSecret, SecretStatement};

/// The statement, if its first words say so.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<Statement>> {
    begun(Words::new(text, tokens)).map(|statement| statement.map(Statement::Secret))
}

fn begun(mut words: Words<'_>) -> Option<SqlResult<SecretStatement>> {
    if words.eat("drop") {
        return words.eat("secret").then(|| drop(words));
    }
    if !words.eat("create") {
        return None;
    }
    let or_replace = words.eat("or");
    if or_replace && !words.eat("replace") {
        return None;
    }
    words.eat("secret").then(|| create(words, or_replace).map(SecretStatement::Create))
}

fn drop(mut words: Words<'_>) -> SqlResult<SecretStatement> {
    let if_exists = words.eat("if");
    if if_exists {
        words.expect("exists")?;
    }
    let names = words.names()?;
    words.end()?;
    Ok(SecretStatement::Drop { names, if_exists })
}

fn create(mut words: Words<'_>, or_replace: bool) -> SqlResult<CreateSecret> {
    let if_not_exists = words.eat("if");
    if if_not_exists {
        words.expect("not")?;
        words.expect("exists")?;
    }
    let name = words.name().map_err(|_| wrong("a name is expected behind SECRET"))?;
    if !words.eat_token(&Token::LParen) {
        return Err(wrong("options in parentheses are expected behind the name of a secret"));
    }
    let options = words.list(option)?;
    if !words.eat_token(&Token::RParen) {
        return Err(wrong("a comma or the end of the options of a secret is expected"));
    }
    if !words.is_end() {
        return Err(wrong("nothing is expected behind the options of a secret"));
    }
    if let Some(at) =
        (1..options.len()).find(|at| options[..*at].iter().any(|o| o.0 == options[*at].0))
    {
        return Err(wrong(format!("the option \"{}\" is given more than once", options[at].0)));
    }
    Ok(CreateSecret { name, or_replace, if_not_exists, options })
}

/// A name, and a text behind it; the type, the provider and switches may be words.
fn option(words: &mut Words<'_>) -> SqlResult<(String, Secret)> {
    let name = words.name().map_err(|_| wrong("the name of an option of a secret is expected"))?;
    words.eat_token(&Token::Eq);
    let value = match words.text() {
        Some(text) => text,
        None if ["type", "provider", "path_style"].contains(&name.as_str()) => words
            .name()
            .map_err(|_| wrong(format!("a value is expected behind the option \"{name}\"")))?,
        // What stands here may be part of a key that lacks its quotes.
        None => return Err(wrong(format!("a text is expected behind the option \"{name}\""))),
    };
    Ok((name, Secret::new(value)))
}

/// 42601 without a place in the text, which would be shown with it.
fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, message)
        .with_hint("CREATE SECRET name (type s3, key_id '..', secret '..', scope 's3://bucket')")
}
