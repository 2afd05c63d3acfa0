//! Values in the places of parameters.
//!
//! Binding puts literals in the parameters' places and parses what results, so every kind of
//! statement takes parameters, and a value of unknown type is an unknown literal as in PostgreSQL.
//! A value is one token of the tokenizer's making: nothing in it can end the literal.

use std::sync::Arc;

use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use types::{LogicalType, SqlError, SqlResult, oid};

use crate::parse::split::split;
use crate::parse::statement::Statement;
use crate::parse::statement::bound::Bound;
use crate::parse::template::{Parameter, Template, number, unknown};
use crate::parse::text::parse_one;
use crate::parse::tokens::Tokens;

impl Template {
    /// The statement with its parameters left as they are.
    pub(crate) fn unbound(&self) -> SqlResult<Statement> {
        parse_one(&self.text, Tokens::clone(&self.tokens))
    }

    /// The statement with values for its parameters.
    ///
    /// # Errors
    /// 42P02 when one has no value, and what parsing says.
    pub fn bind(&self, parameters: &[Parameter]) -> SqlResult<Statement> {
        if self.parameter_count == 0 {
            return self.unbound();
        }
        let mut bound = Tokens::with_capacity(self.tokens.len());
        for token in self.tokens.iter() {
            let Token::Placeholder(name) = &token.token else {
                bound.push(token.clone());
                continue;
            };
            let parameter = parameters.get(number(name)? - 1).ok_or_else(|| unknown(name))?;
            let counted = bound.last().is_some_and(|t| is_counted(&t.token));
            let literal = literal(parameter, counted)?;
            bound.extend(literal.into_iter().map(|t| TokenWithSpan { token: t, ..token.clone() }));
        }
        parse_one(&self.text, bound)
    }

    /// The same as a statement that may run again with other values.
    ///
    /// # Errors
    /// As [`Template::bind`].
    pub fn bind_again(&self, parameters: &[Parameter]) -> SqlResult<Statement> {
        let mut statement = self.bind(parameters)?;
        self.note(&mut statement, parameters, None);
        Ok(statement)
    }

    /// The statement that a text is, of which this one has parameters in the places of literals: these are the
    /// values there.
    ///
    /// # Errors
    /// What reading the text says.
    pub fn bind_from(&self, parameters: &[Parameter], text: &Arc<str>) -> SqlResult<Statement> {
        let mut statements = crate::parse::text::parse(text)?;
        let (Some(mut statement), true) = (statements.pop(), statements.is_empty()) else {
            return Err(SqlError::internal("a text is several statements now"));
        };
        self.note(&mut statement, parameters, Some(text.clone()));
        Ok(statement)
    }

    fn note(&self, statement: &mut Statement, parameters: &[Parameter], text: Option<Arc<str>>) {
        let (template, parameters) = (self.clone(), parameters.to_vec());
        statement.set_bound(Bound { template, parameters, text, generic: None });
    }

    /// The statement with its parameters where they are, of the types that these have; `None` where one is not
    /// admitted or must be known to plan, or where a text speaks of the moment.
    pub(crate) fn generic(&self, parameters: &[Parameter]) -> SqlResult<Option<Statement>> {
        let mut typed = Tokens::with_capacity(self.tokens.len());
        for token in self.tokens.iter() {
            match &token.token {
                Token::Placeholder(name) => {
                    let parameter = parameters.get(number(name)? - 1);
                    let given = parameter.filter(|parameter| is_admitted(parameter));
                    let Some(given) = given else { return Ok(None) };
                    let tokens = of_type(given, token.token.clone())?;
                    typed.extend(
                        tokens.into_iter().map(|t| TokenWithSpan { token: t, ..token.clone() }),
                    );
                }
                other if is_of_the_moment(other) => return Ok(None),
                _ => typed.push(token.clone()),
            }
        }
        parse_one(&self.text, typed).map(Some)
    }
}

impl Bound {
    /// The statement with these values in its syntax tree, to be planned anew.
    ///
    /// # Errors
    /// As [`Template::bind`].
    pub fn again(&self) -> SqlResult<Statement> {
        match &self.text {
            Some(text) => self.template.bind_from(&self.parameters, text),
            None => self.template.bind_again(&self.parameters),
        }
    }
}

/// Whether what follows is a number of rows, which the planner wants as a plain number.
fn is_counted(token: &Token) -> bool {
    matches!(token, Token::Word(w) if matches!(w.keyword, Keyword::LIMIT | Keyword::OFFSET))
}

fn literal(parameter: &Parameter, counted: bool) -> SqlResult<Vec<Token>> {
    let value = match &parameter.value {
        None => Token::make_keyword("NULL"),
        Some(text) if counted && text.parse::<u64>().is_ok() => {
            return Ok(vec![Token::Number(text.clone(), false)]);
        }
        Some(text) => Token::SingleQuotedString(text.clone()),
    };
    of_type(parameter, value)
}

/// A value as one of the parameter's type, if it has one.
fn of_type(parameter: &Parameter, value: Token) -> SqlResult<Vec<Token>> {
    let Some(ty) = parameter.ty else { return Ok(vec![value]) };
    let mut tokens = vec![Token::LParen, value, Token::DoubleColon];
    let name = match parameter.told {
        Some(oid::VARCHAR) => "varchar".to_owned(),
        Some(oid::BPCHAR) => "bpchar".to_owned(),
        Some(oid::NAME) => "name".to_owned(),
        _ => ty.to_string(),
    };
    let name = Tokenizer::new(&PostgreSqlDialect {}, &name)
        .tokenize()
        .map_err(|_| SqlError::internal(format!("the type {ty} has no name")))?;
    tokens.extend(name);
    tokens.push(Token::RParen);
    Ok(tokens)
}

/// Whether a literal in a statement's text may be read as a time that depends on the moment; also of a text that
/// is no statement.
pub(crate) fn has_moments(text: &str) -> bool {
    let is_free = |all: Vec<Tokens>| !all.iter().flatten().any(|t| is_of_the_moment(&t.token));
    !split(text).is_ok_and(is_free)
}

fn is_of_the_moment(token: &Token) -> bool {
    !matches!(token, Token::Word(_) | Token::Number(..)) && speaks_of_now(&token.to_string())
}

/// Whether a text may be read as a time that depends on the moment.
pub(crate) fn speaks_of_now(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["now", "today", "tomorrow", "yesterday"].iter().any(|word| text.contains(word))
}

/// Whether a parameter is one that a generic plan may have: not null, and of a type whose literals are typed
/// without a look at their text. Those of `char(n)` lose their blanks, and arrays become lists.
fn is_admitted(parameter: &Parameter) -> bool {
    let is_known = parameter.ty.is_some_and(|ty| {
        !matches!(ty, LogicalType::Array(_) | LogicalType::Char(_) | LogicalType::Oid)
    });
    is_known && parameter.value.is_some() && parameter.told.is_none_or(|told| told == oid::VARCHAR)
}
