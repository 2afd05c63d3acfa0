//! Statements with parameters: `$1` stands for a value that comes later. `bind` gives them their values.

use std::sync::Arc;

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{LogicalType, SqlError, SqlResult, SqlState, oid};

use super::tokens::Tokens;
use crate::parse::split;

/// Most parameters of a statement: the protocol counts them with 16 bits.
const PARAMETER_COUNT_MAX: usize = 65_535;

/// Tokens that are read and bound in some milliseconds.
const TOKENS_FEW: usize = 1_000;

/// A statement whose parameters have no values yet.
#[derive(Clone, Debug)]
pub struct Template {
    pub(super) text: Arc<str>,
    pub(super) tokens: Arc<Tokens>,
    pub(super) parameter_count: usize,
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
        let statements = split::split(text)?.into_iter();
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

    /// Whether reading it again takes long.
    pub fn is_long(&self) -> bool {
        self.tokens.len() > TOKENS_FEW
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

    /// How many words and signs it has.
    pub fn token_count(&self) -> usize {
        self.tokens.len()
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
}

pub(super) fn unknown(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}"))
}

pub(super) fn number(name: &str) -> SqlResult<usize> {
    let number = name.strip_prefix('$').and_then(|digits| digits.parse().ok());
    number.filter(|n| (1..=PARAMETER_COUNT_MAX).contains(n)).ok_or_else(|| unknown(name))
}
