//! Expressions and aggregates, evaluated a vector at a time.
//!
//! The library's physical expressions stay behind these types, so that nothing else in the
//! workspace depends on it.

pub(crate) mod accumulator;
pub(crate) mod aggregate;
pub(crate) mod average;
pub(crate) mod compared;
pub(crate) mod concatenated;
pub(crate) mod elements;
pub(crate) mod exact;
pub(crate) mod footprint;
pub(crate) mod measured;
pub(crate) mod ordered;
pub(crate) mod scalar;
pub(crate) mod series;
pub(crate) mod slow;
pub(crate) mod sort_key;
#[cfg(test)]
mod tests;
pub(crate) mod typed;
pub(crate) mod window;
pub(crate) mod words;

pub use accumulator::{Accumulator, GroupRows};
pub use aggregate::AggregateExpr;
pub use ir::Words;
pub use scalar::Expr;
pub use series::{Series, SeriesPart};
pub use sort_key::SortKey;
pub use window::{Begin, Evaluation, Piece, Running, Sorted, WindowExpr};
pub use words::{as_words, schema_of, widened};
