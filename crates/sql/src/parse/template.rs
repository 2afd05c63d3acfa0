//! Statements with parameters: `$1` stands for a value that comes later. `bind` gives them their values.

use std::sync::{Arc, OnceLock};

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{SqlError, SqlResult, SqlState};

use super::tokens::Tokens;
use crate::parse::split;
use crate::parse::statement::kept::Kept;

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
    /// The statement with its parameters where they are, once somebody has asked for it; the whole
    /// one of a part.
    pub(super) statement: Arc<OnceLock<Kept>>,
    /// Which part of a `WITH` that changes rows it is; its body is the last one.
    pub(super) part: Option<usize>,
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
        let (text, tokens, statement) = (text.clone(), Arc::new(tokens), Arc::default());
        Ok(Template { text, tokens, parameter_count, statement, part: None })
    }

    /// A part of a `WITH` that changes rows as a statement.
    pub(crate) fn of_part(&self, part: usize) -> Template {
        Template { part: Some(part), ..self.clone() }
    }

    /// Whether it is an `INSERT`, an `UPDATE` or a `DELETE` without a `WITH`.
    pub fn changes_rows(&self) -> bool {
        let first = self.tokens.first().map(|token| &token.token);
        let changes = |k| matches!(k, Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE);
        matches!(first, Some(Token::Word(word)) if changes(word.keyword))
    }

    /// True if reading it again takes long.
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

    /// Where it begins there, line and column, and which part of the statement there it is, counted
    /// from one.
    pub fn place(&self) -> (u64, u64, usize) {
        let first = self.tokens.first().map(|token| token.span.start);
        let part = self.part.map_or(0, |part| part + 1);
        first.map_or((0, 0, part), |start| (start.line, start.column, part))
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
