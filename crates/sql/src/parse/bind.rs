//! Values in the places of parameters.
//!
//! A statement is read once, with its parameters in its syntax tree. Binding puts literals of the
//! parameters' types into the places of these in a copy of the tree, so nothing in a value can end
//! a literal, and a value of unknown type is an unknown literal as in PostgreSQL.

use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{DataType, Expr, Value, ValueWithSpan};
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::datetime::speaks_of_now;
use types::{LogicalType, SqlError, SqlResult, oid};

use crate::parse::balance::DEPTH_MAX;
use crate::parse::column_type::syntax;
use crate::parse::expressions::cast_as;
use crate::parse::parameter::Parameter;
use crate::parse::places::{self, Places};
use crate::parse::split::split;
use crate::parse::statement::Statement;
use crate::parse::statement::bound::Bound;
use crate::parse::statement::kept::Kept;
use crate::parse::template::{Template, number, unknown};
use crate::parse::text::parse_one;
use crate::parse::tokens::{Tokens, position_of};
use crate::parse::type_names;

impl Template {
    /// Reads the statement, to be bound again and again.
    ///
    /// # Errors
    /// The result of parsing, and 42P02 for parameters of a statement that takes none.
    pub fn read(&self) -> SqlResult<()> {
        match self.known() {
            Some(_) => Ok(()),
            None => self.unbound().map(drop),
        }
    }

    /// True if it is a `WITH` that changes rows: each of its parts has a plan.
    pub fn has_parts(&self) -> bool {
        self.part.is_none() && matches!(self.known(), Some(Statement::WithWrites(_)))
    }

    /// The statement with its parameters left as they are.
    pub(crate) fn unbound(&self) -> SqlResult<Statement> {
        if let Some(known) = self.known() {
            return self.own_of(known);
        }
        let mut statement = parse_one(&self.text, Tokens::clone(&self.tokens))?;
        let seen = places::check(&mut statement, &self.text)?;
        if self.parameter_count > 0 && !seen.takes_parameters {
            return Err(self.none());
        }
        if seen.takes_parameters && seen.depth <= DEPTH_MAX {
            self.statement.get_or_init(|| Kept::new(Arc::new(statement.clone())));
        }
        self.own_of(&statement)
    }

    /// Of a whole statement what this one is.
    fn own_of(&self, whole: &Statement) -> SqlResult<Statement> {
        match (self.part, whole) {
            (None, whole) => Ok(whole.clone()),
            (Some(part), Statement::WithWrites(with)) => {
                let own = with.parts.get(part).unwrap_or(&with.body);
                Ok(own.clone())
            }
            (Some(_), _) => Err(SqlError::internal("a statement has no parts any more")),
        }
    }

    /// The statement, if it was read. One that is so deep that not every thread has the stack for
    /// it is read each time, by whoever has, and refused to others.
    fn known(&self) -> Option<&Statement> {
        self.statement.get()?.get()
    }

    /// The statement with values for its parameters.
    ///
    /// # Errors
    /// 42P02 when one has no value, and what parsing says.
    pub fn bind(&self, parameters: &[Parameter]) -> SqlResult<Statement> {
        if self.parameter_count == 0 {
            return match self.known() {
                Some(known) => self.own_of(known),
                None => self.own_of(&parse_one(&self.text, Tokens::clone(&self.tokens))?),
            };
        }
        let mut statement = self.unbound()?;
        let value = |number: usize| {
            parameters.get(number).ok_or_else(|| unknown(&format!("${}", number + 1)))
        };
        let literal = |number: usize, place: ValueWithSpan, is_counted: bool| {
            value(number).map(|parameter| literal(parameter, place, is_counted))
        };
        Places::new(&literal).fill(&mut statement)?;
        Ok(statement)
    }

    /// The same as a statement that may run again with other values.
    ///
    /// # Errors
    /// As [`Template::bind`].
    pub fn bind_noted(&self, parameters: &[Parameter]) -> SqlResult<Statement> {
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
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            return Err(SqlError::internal("a text is several statements now"));
        };
        let mut statement = self.own_of(&statement)?;
        self.note(&mut statement, parameters, Some(text.clone()));
        Ok(statement)
    }

    fn note(&self, statement: &mut Statement, parameters: &[Parameter], text: Option<Arc<str>>) {
        let (template, parameters) = (self.clone(), parameters.to_vec());
        statement.set_bound(Bound { template, parameters, text, generic: None });
    }

    /// The statement with its parameters where they are, of the types that these have, and with
    /// nulls for those that are null; `None` where one is not admitted or must be known to plan, or
    /// where a text speaks of the moment.
    pub(crate) fn generic(&self, parameters: &[Parameter]) -> SqlResult<Option<Statement>> {
        for token in self.tokens.iter() {
            let is_free = match &token.token {
                Token::Placeholder(name) => {
                    parameters.get(number(name)? - 1).is_some_and(is_admitted)
                }
                other => !is_of_the_moment(other),
            };
            if !is_free {
                return Ok(None);
            }
        }
        let mut statement = self.unbound()?;
        let kept = |number: usize, place: ValueWithSpan, is_counted: bool| {
            Ok(match parameters.get(number) {
                Some(null) if null.is_null() => literal(null, place, is_counted),
                Some(parameter) => of_type(parameter, place),
                None => Expr::Value(place),
            })
        };
        Places::new(&kept).fill(&mut statement)?;
        Ok(Some(statement))
    }

    /// 42P02 at the first parameter of a statement that takes none.
    fn none(&self) -> SqlError {
        let is_parameter = |token: &&TokenWithSpan| matches!(token.token, Token::Placeholder(_));
        let first = self.tokens.iter().find(is_parameter);
        match first.map(|token| (token, &token.token)) {
            Some((token, Token::Placeholder(name))) => {
                unknown(name).at(position_of(&self.text, token))
            }
            _ => unknown("$1"),
        }
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
            None => self.template.bind_noted(&self.parameters),
        }
    }
}

/// A literal in the place of a parameter. What begins a number of rows is a plain number, which is
/// what the planner wants there.
fn literal(parameter: &Parameter, place: ValueWithSpan, is_counted: bool) -> Expr {
    let value = match parameter.text() {
        None => Value::Null,
        Some(text) if is_counted && text.parse::<u64>().is_ok() => {
            return Expr::Value(Value::Number(text.into_owned(), false).with_span(place.span));
        }
        Some(text) => Value::SingleQuotedString(text.into_owned()),
    };
    of_type(parameter, value.with_span(place.span))
}

/// A value as one of the parameter's type, if it has one.
fn of_type(parameter: &Parameter, value: ValueWithSpan) -> Expr {
    let value = Expr::Value(value);
    let Some(ty) = parameter.ty else { return value };
    let ty = match parameter.told {
        Some(oid::VARCHAR) => DataType::Varchar(None),
        Some(oid::NAME) => type_names::of_catalog_name("name"),
        _ => syntax(ty),
    };
    Expr::Nested(Box::new(cast_as(value, ty)))
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

/// True of a parameter that a generic plan may have: null, or of a type whose literals are
/// typed without a look at their text. Those of `char(n)` lose their blanks.
fn is_admitted(parameter: &Parameter) -> bool {
    let is_known =
        parameter.ty.is_some_and(|ty| !matches!(ty, LogicalType::Char(_) | LogicalType::Oid));
    let is_told = matches!(parameter.told, None | Some(oid::VARCHAR | oid::BPCHAR));
    parameter.is_null() || is_known && is_told
}
