//! Statements that have been parsed, by their text.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use engine::{
    Announced, Prepared, Session, Shape, SqlError, SqlResult, SqlState, Statement, Template,
};

/// Texts that are kept; one more, and all are forgotten. Programs that have as many different texts
/// write their values into them, and parsing costs them little beside planning.
const KNOWN_MAX: usize = 128;

/// Longest text that is kept, and longest that is parsed on the worker, in bytes: it takes some
/// milliseconds.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// The statements of a text.
pub(super) struct Known {
    pub text: Announced,
    pub statements: Vec<(Prepared, Arc<Shape>)>,
    /// Whether it begins with a statement about the transaction itself.
    pub transacts: bool,
}

#[derive(Default)]
pub(super) struct KnownStatements(HashMap<String, Rc<Known>>);

impl KnownStatements {
    /// The statements of a text.
    ///
    /// # Errors
    /// What parsing says; 42601 for parameters of several statements.
    pub async fn of(&mut self, text: &str, session: &Session) -> SqlResult<Rc<Known>> {
        if let Some(known) = self.0.get(text) {
            return Ok(known.clone());
        }
        let is_long = text.len() > TEXT_BYTES_MAX;
        let templates = match is_long {
            false => Template::all(text)?,
            true => {
                let text = text.to_owned();
                session.beside_workers(move || Template::all(&text)).await??
            }
        };
        let known = Rc::new(Known::new(text, templates)?);
        if !is_long {
            if self.0.len() >= KNOWN_MAX {
                self.0.clear();
            }
            self.0.insert(text.to_owned(), known.clone());
        }
        Ok(known)
    }
}

impl Known {
    fn new(text: &str, templates: Vec<Template>) -> SqlResult<Known> {
        if templates.len() > 1 && templates.iter().any(|one| one.parameter_count() > 0) {
            let message = "a text of several statements has no parameters";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let first = templates.first().filter(|first| first.parameter_count() == 0);
        let first = first.and_then(|first| first.bind(&[]).ok());
        let transacts = matches!(first, Some(Statement::Transaction(_)));
        let statements = templates.into_iter().map(|template| {
            let shape = Arc::new(template.shape());
            (Prepared::new(template), shape)
        });
        Ok(Known { text: text.into(), statements: statements.collect(), transacts })
    }
}
