//! Statements that came as text, by that without its keys.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use sql::Shape;

use crate::prepared::Prepared;

/// Statements by their text without keys.
#[derive(Default)]
pub(crate) struct ParameterizedTexts(pub(crate) HashMap<String, Option<Known>>);

/// A statement without its keys.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) prepared: Arc<Prepared>,
    /// What it has in common with others.
    pub(crate) shape: Arc<Shape>,
    /// The types of its keys where it is no look-up; `None` where nothing tells them.
    pub(crate) types: Arc<OnceLock<Option<Vec<u32>>>>,
}
