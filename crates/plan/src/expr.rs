//! Expressions and aggregates, evaluated a vector at a time.
//!
//! Columns, constants and the state of usual aggregates are evaluated here; all else is handed in
//! by the front end ([`Evaluate`], [`AggregateFunction`]), so that nobody who runs a plan depends
//! on it.

mod accumulator;
mod aggregate;
mod average;
mod computed;
mod evaluate;
mod footprint;
mod function;
mod row;
mod scalar;
mod series;
mod sort_key;
mod window;
mod words;

pub use accumulator::{Accumulator, GroupRows, Total};
pub use aggregate::{AggregateExpr, AggregateKind};
pub use computed::{Computed, Foreign};
pub use evaluate::Evaluate;
pub use footprint::value_bytes;
pub use function::{AggregateFunction, Groups, Single};
pub use ir::{Comparison, Refused, Words};
pub use row::{Constant, DecimalResult, DecimalSide, Operation, Row, RowExpr, TextFunction, Whole};
pub use scalar::{Costs, Expr, Form};
pub use series::{Series, SeriesPart};
pub use sort_key::SortKey;
pub use window::{
    Begin, Evaluation, Frame, FrameBound, FrameUnits, Piece, Running, Sorted, WindowExpr,
    WindowFunction,
};
pub use words::{as_words, is_of, schema_of, widened, widened_columns};
