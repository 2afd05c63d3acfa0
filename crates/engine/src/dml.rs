//! `INSERT`, `UPDATE`, `DELETE` and `TRUNCATE`: all rows of a statement or none.
//!
//! A statement first finds its rows by a query, then makes the new rows, then checks every
//! constraint against the state that it would leave, and only then touches a tree: what a statement
//! reads is the state before it, and an error leaves nothing to undo but I/O errors do.

pub(crate) mod change;
pub(crate) mod compiled;
mod conflict;
pub(crate) mod constraints;
pub(crate) mod deferred;
pub(crate) mod delete;
pub(crate) mod entries;
mod few;
pub(crate) mod foreign;
pub(crate) mod in_parts;
pub(crate) mod incoming;
pub(crate) mod insert;
pub(crate) mod outcome;
pub(crate) mod references;
pub(crate) mod rows;
pub(crate) mod streamed;
pub(crate) mod truncate;
pub(crate) mod update;
