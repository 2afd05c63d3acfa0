//! Text to physical plan: parsing, binding, statistics, join order, access paths. `README.md` has the levels of
//! its modules, in which imports only go down.
//!
//! The logical library parses, binds, decorrelates and rewrites; estimates, join order, access paths and
//! physical plans are ours. Pure functions over the catalog: no I/O, no clock, no `async fn`.

pub mod catalog;
pub mod definition;
pub mod dml;
mod expr;
pub mod parse;
pub mod sequence;
pub mod statistics;

mod analyze;
mod arguments;
mod cast;
mod cost;
mod define;
mod error;
mod estimate;
mod explain;
mod functions;
mod generic;
mod interrupt;
mod logical;
mod optimize;
mod options;
mod parameters;
mod physical;
mod planner;
mod point;
mod quote;
mod render;
mod rewrite;
mod signatures;
mod size;
#[cfg(test)]
mod tests;
mod walk;

pub use crate::analyze::expression::{parse_aggregate, parse_expr};
pub use crate::analyze::system::{SystemFunction, SystemValue, system_column};
pub use crate::analyze::view::view_columns;
pub use crate::expr::typed::{CodeTotals, code_totals};
pub use crate::functions::library::{function_names, has_function};
pub use arguments::arguments;
pub use catalog::view::ViewDef;
pub use define::{Draft, UniqueDraft, names_column, renamed_in};
pub use dml::insert::{InsertRows, incoming_schema, insert_rows, query_of, rows_of_query};
pub use explain::{Actual, explain_json, explain_masked, explain_text};
pub use generic::depends::{Depends, Recorder};
pub use generic::{Generic, RowChange};
pub use options::{DeviceProfile, InFlight, PlannerOptions};
pub use parameters::{check, parameter_types};
pub use parse::file_call::{FILES_SCHEMA, FileCall, FileFormat};
pub use parse::statement::Statement;
pub use parse::statement::bound::Bound;
pub use parse::statement::query::Query;
pub use parse::text::parse;
pub use parse::{NamedRelation, Parameter, RowLockMode, RowLocks, Shape, Template};
pub use planner::plan_query;
pub use point::{PointQuery, plan_point};
pub use quote::{parse_name, quote_ident, quote_idents};
pub use size::is_large_view;
