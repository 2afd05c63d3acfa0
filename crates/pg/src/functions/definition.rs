//! How a function is told of.

use sql::SystemValue;
use types::{LogicalType, SqlResult};

use crate::view::View;

pub(super) type Body = fn(&View, &[SystemValue]) -> SqlResult<SystemValue>;

/// A function: its name, the type of its result, the least and most arguments, whether a null
/// argument makes it null, and what it does.
pub(super) struct Definition(
    pub(super) &'static str,
    pub(super) LogicalType,
    pub(super) usize,
    pub(super) usize,
    pub(super) bool,
    pub(super) Body,
);
