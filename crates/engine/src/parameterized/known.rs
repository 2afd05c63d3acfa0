//! Statements that came as text, by that without its keys.

use std::collections::HashMap;
use std::sync::Arc;

use sql::Shape;

use crate::prepared::Prepared;

/// Statements by their text without keys.
#[derive(Default)]
pub(crate) struct ParameterizedTexts(pub(crate) HashMap<String, Option<Known>>);

/// A statement without its keys, and what it has in common with others.
pub(crate) type Known = (Arc<Prepared>, Arc<Shape>);
