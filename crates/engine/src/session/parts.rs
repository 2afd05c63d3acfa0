//! Texts of several statements, each of which is known by its own text.

use sql::Template;
use types::{SqlError, SqlResult};

use super::recalled::{AT_ONCE_BYTES_MAX, only};
use super::state::Session;
use crate::settings::PlanCache;
use crate::texts::lexed::{Lexed, several};

/// One statement of a text that has several.
pub struct Part<'a> {
    /// Its text.
    pub text: &'a str,
    /// Bytes before it in the text of all.
    pub start: usize,
    /// `None` where it need not be read.
    pub template: Option<Template>,
}

impl Part<'_> {
    /// Its template, which is read now unless it was before.
    ///
    /// # Errors
    /// Those of parsing.
    pub fn template(self) -> SqlResult<Template> {
        let (text, template) = (self.text, self.template);
        let read = || only(Template::all(text)?).ok_or_else(|| SqlError::internal("no statement"));
        template.map_or_else(read, Ok)
    }
}

impl Session {
    /// The statements of a text that has several, if all of them can be read, and each changes or
    /// asks for rows or begins or ends a transaction. Their meaning is found when each has its
    /// turn.
    pub fn parts<'a>(&self, text: &'a str) -> Option<Vec<Part<'a>>> {
        if text.len() > AT_ONCE_BYTES_MAX || self.settings.plan_cache == PlanCache::ForceCustom {
            return None;
        }
        let read = |(start, text): (usize, &'a str)| {
            let template = match self.has_form(text) {
                true => None,
                false => Some(only(Template::all(text).ok()?)?),
            };
            Some(Part { text, start, template })
        };
        several(text)?.into_iter().map(read).collect()
    }

    /// True if texts that differ from this one in literals alone have been read.
    fn has_form(&self, text: &str) -> bool {
        let texts = self.database().texts();
        Lexed::of(text).is_some_and(|lexed| texts.has_form(&lexed.skeleton()))
    }
}
