//! Statements that change rows: the queries that find them, the values that they get.
//!
//! `UPDATE` and `DELETE` are planned as queries over the table that changes, so that they use every
//! access path and join that a query has; the engine applies what the query found. The table stands
//! in such a query under a name of its own, with the hidden row id as a column where it has one.

mod assign;
mod compiled;
mod conflict;
mod defaults;
mod expressions;
mod locked;
mod refer;
mod target;

pub use assign::{assign, equal, is_assignable, or_null, refuse_nulls};
pub use compiled::{Compiled, Execution, RowRules};
pub use conflict::{Conflict, ConflictAction};
pub use defaults::Defaults;
pub use expressions::{RowExprs, converted, returning};
pub use locked::{LockedQuery, LockedTable};
pub use refer::{check_can_refer, is_coarser};
pub use target::{TargetCatalog, delete_query, rows_with_keys, update_query};

pub(crate) use assign::literal_as;
pub(crate) use compiled::{is_same_table, speaks_of_now};
pub(crate) use expressions::checks;
pub(crate) use target::{is_default, parsed};
