//! Bound expressions and aggregates, compiled for a plan.
//!
//! The library's physical expressions stay behind [`plan::expr::Evaluate`], so that nothing else in
//! the workspace depends on it.

pub(crate) mod aggregate;
pub(crate) mod any_of;
pub(crate) mod compared;
pub(crate) mod concatenated;
pub(crate) mod elements;
pub(crate) mod exact;
pub(crate) mod frame;
pub(crate) mod library;
pub(crate) mod liked;
pub(crate) mod listed;
pub(crate) mod measured;
pub(crate) mod ordered;
pub(crate) mod over_row;
pub(crate) mod runtime_parameter;
pub(crate) mod scalar;
pub(crate) mod series;
pub(crate) mod slow;
#[cfg(test)]
mod tests;
pub(crate) mod typed;
pub(crate) mod window;
