//! Column tables: rows in chunks of columns (`crates/columnar`), read column by column.
//!
//! A column table is a table without primary key, so each of its rows has a hidden row id. Its rows
//! lie in three places, each a tree of the store, so that snapshots, transaction blocks, checkpoints
//! and space are those of all trees (`docs/format/columns.md`):
//!
//! - *Parts*, each a tree of chunks that one load wrote. A part is never changed. Its rows have
//!   consecutive row ids, so that a row is found by its id.
//! - The *delta*: the clustered tree that every table has. Rows that come a few at a time are there.
//! - The *deleted* rows of parts: their row ids, without values.
//!
//! A version of the catalog names the parts of its tables, and its read view says what it sees of the
//! delta and of the deleted rows; so a query sees its snapshot.

pub(crate) mod bucket;
pub(crate) mod check;
pub(crate) mod chunk;
pub(crate) mod deleted;
pub(crate) mod fetch;
pub(crate) mod few;
pub(crate) mod joined;
pub(crate) mod morsel;
pub(crate) mod part;
pub(crate) mod refused;
pub(crate) mod remote;
pub(crate) mod restricted;
pub(crate) mod rows;
pub(crate) mod stored;
pub(crate) mod table;
