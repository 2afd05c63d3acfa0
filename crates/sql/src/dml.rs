//! Statements that change rows: the queries that find them, the values that they get.
//!
//! `UPDATE` and `DELETE` are planned as queries over the table that changes, so that they use every
//! access path and join that a query has; the engine applies what the query found. The table stands
//! in such a query under a name of its own, with the hidden row id as a column where it has one.

pub(crate) mod assign;
pub(crate) mod compiled;
pub(crate) mod conflict;
pub(crate) mod defaults;
pub(crate) mod expressions;
pub(crate) mod formula;
pub(crate) mod insert;
pub(crate) mod locked;
pub(crate) mod refer;
pub(crate) mod target;

pub use assign::{
    assign, equal, is_assignable, is_of_column, or_null, refuse_null_cells, refuse_nulls,
};
pub use compiled::{Compiled, Execution, RowRules};
pub use conflict::{Assignments, Conflict, ConflictAction};
pub use defaults::Defaults;
pub use expressions::{RowExprs, converted, returning};
pub use locked::{LockedQuery, LockedTable, ROWS_PER_WANTED};
pub use refer::{check_can_refer, is_coarser};
pub use target::{TargetCatalog, delete_query, rows_with_keys, update_query};
