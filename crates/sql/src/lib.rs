//! Text to physical plan: parsing, binding, statistics, join order, access paths.
//!
//! The logical library parses, binds, decorrelates and rewrites; estimates, join order, access paths and
//! physical plans are ours. Pure functions over the catalog: no I/O, no clock, no `async fn`.

pub mod catalog;
pub mod expr;
pub mod parse;
pub mod plan;

mod bind;
mod cost;
mod error;
mod estimate;
mod explain;
mod library;
mod logical;
mod options;
mod physical;
mod planner;
mod render;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tpch;

pub use explain::{Actual, explain_text, explain_with};
pub use options::{DeviceProfile, PlannerOptions};
pub use parse::{Query, Statement, parse};
pub use planner::plan_query;
