//! Statements with parameters: `$1` stands for a value that comes later.
//!
//! Binding puts literals in the parameters' places and parses what results, so every kind of
//! statement takes parameters, and a value of unknown type is an unknown literal as in PostgreSQL.
//! A value is one token of the tokenizer's making: nothing in it can end the literal.

use std::sync::Arc;

use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use types::{LogicalType, SqlError, SqlResult, SqlState, oid};

use super::tokens::Tokens;
use crate::dml::compiled::speaks_of_now;
use crate::generic::Bound;
use crate::generic::admitted::is_admitted;
use crate::parse::statement::Statement;
use crate::parse::text::parse_one;

/// Most parameters of a statement: the protocol counts them with 16 bits.
const PARAMETER_COUNT_MAX: usize = 65_535;

/// A statement whose parameters have no values yet.
#[derive(Clone, Debug)]
pub struct Template {
    text: Arc<str>,
    tokens: Arc<Tokens>,
    parameter_count: usize,
}

/// The value of a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// Its text form; `None` is null.
    pub value: Option<String>,
    /// Its type; `None` is an unknown literal, which takes the type that its place asks for.
    pub ty: Option<LogicalType>,
    /// The number of its type where that is another to clients than here.
    pub told: Option<u32>,
}

impl Parameter {
    /// A value of the type of this number; 0 is an unknown literal. One of `char(n)` loses the blanks at
    /// its end, which do not count there, and which no column of that type holds.
    pub fn of_type(oid: u32, mut value: Option<String>) -> Parameter {
        if let Some(text) = value.as_mut().filter(|_| oid == oid::BPCHAR) {
            text.truncate(text.trim_end_matches(' ').len());
        }
        let told = matches!(oid, oid::VARCHAR | oid::BPCHAR | oid::NAME).then_some(oid);
        Parameter { ty: oid::parameter(oid, value.as_deref()), value, told }
    }
}

impl Template {
    /// The statements of `text`.
    ///
    /// # Errors
    /// 42601, 54000 and 54001 for text that has no tokens, is too long or too deep; 42P02 for a
    /// parameter that cannot be.
    pub fn all(text: &str) -> SqlResult<Vec<Template>> {
        let shared: Arc<str> = text.into();
        let statements = crate::parse::split::split(text)?.into_iter();
        statements.map(|tokens| Template::new(&shared, tokens)).collect()
    }

    pub(super) fn new(text: &Arc<str>, tokens: Tokens) -> SqlResult<Template> {
        let mut parameter_count = 0;
        let own = if crate::parse::tokens::keeps_parameters(&tokens) { &[][..] } else { &tokens };
        for token in own {
            if let Token::Placeholder(name) = &token.token {
                parameter_count = parameter_count.max(number(name)?);
            }
        }
        Ok(Template { text: text.clone(), tokens: Arc::new(tokens), parameter_count })
    }

    /// Whether it is an `INSERT`, an `UPDATE` or a `DELETE` without a `WITH`.
    pub fn changes_rows(&self) -> bool {
        let first = self.tokens.first().map(|token| &token.token);
        let changes = |k| matches!(k, Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE);
        matches!(first, Some(Token::Word(word)) if changes(word.keyword))
    }

    /// What it consists of.
    pub(super) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The text that it is part of.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Where it begins there: line and column.
    pub fn place(&self) -> (u64, u64) {
        let first = self.tokens.first().map(|token| token.span.start);
        first.map_or((0, 0), |start| (start.line, start.column))
    }

    /// How many parameters it has: the greatest number that occurs.
    pub fn parameter_count(&self) -> usize {
        self.parameter_count
    }

    /// Whether the parameter of this number occurs.
    pub(crate) fn has_parameter(&self, wanted: usize) -> bool {
        let is_it = |token: &TokenWithSpan| match &token.token {
            Token::Placeholder(name) => number(name).is_ok_and(|number| number == wanted),
            _ => false,
        };
        self.tokens.iter().any(is_it)
    }

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
        let (template, parameters) = (self.clone(), parameters.to_vec());
        statement.set_bound(Bound { template, parameters, generic: None });
        Ok(statement)
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
                    if typed.last().is_some_and(|t| is_counted(&t.token)) {
                        return Ok(None);
                    }
                    let tokens = of_type(given, token.token.clone())?;
                    typed.extend(
                        tokens.into_iter().map(|t| TokenWithSpan { token: t, ..token.clone() }),
                    );
                }
                Token::Word(_) | Token::Number(..) => typed.push(token.clone()),
                other if speaks_of_now(&other.to_string()) => return Ok(None),
                _ => typed.push(token.clone()),
            }
        }
        parse_one(&self.text, typed).map(Some)
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}"))
}

fn number(name: &str) -> SqlResult<usize> {
    let number = name.strip_prefix('$').and_then(|digits| digits.parse().ok());
    number.filter(|n| (1..=PARAMETER_COUNT_MAX).contains(n)).ok_or_else(|| unknown(name))
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
