//! Physical plans: the contract between those who make them and `exec`, which runs them.
//!
//! A plan is a tree of [`Node`]s. It says *what* each operator does and over which access path; how
//! its work is decomposed into tasks is the business of `exec`. The same plan runs in all execution
//! modes. Beside plans stand the expressions that they hold ([`expr`]), what they say of a
//! database's objects ([`catalog`], [`constraints`], [`sequence`]), the limits that planning and
//! expressions keep to ([`limits`]), and what becomes of expressions as machine code ([`codegen`]).
//! Plain functions: no I/O, no clock, no `async fn`.

pub mod catalog;
pub mod codegen;
pub mod constraints;
pub mod expr;
pub mod generated;
pub mod limits;
pub mod sequence;

mod bindings;
mod error;
mod join;
mod listed;
mod node;
mod parameters;
mod program;
mod programmed;
mod rows;
mod scan;

pub use bindings::Bindings;
pub use datafusion_common::ScalarValue;
pub use join::{HashJoin, HashJoinKind, LookupJoin, LookupKind, NestedLoopJoin};
pub use listed::{Listed, Place};
pub use node::{Node, Operator, Plan};
pub use parameters::{Parameters, constant, of_constant, row_of};
pub use program::{Code, Program, ROWS_MAX};
pub use programmed::program;
pub use rows::{CteScan, Recursion, UnnestColumn, Unnested};
pub use scan::{Access, First, IndexRef, KeyRange, Restriction, RestrictionTest, Scan};
