//! Logical types, schemas, SQL errors, and the byte layout of keys and rows.
//!
//! Vectors are Arrow arrays: the memory layout of the library is ours, so that its kernels work on
//! our data and results leave without a copy. This crate does no I/O and has no `async fn`.

pub mod array;
pub mod binary;
pub mod blanks;
pub mod cells;
pub mod datetime;
mod datum;
pub mod described;
pub mod equality;
mod error;
pub mod key;
mod logical;
pub mod moment;
pub mod numeric;
pub mod oid;
pub mod outgoing;
pub mod parse;
pub mod reader;
pub mod row;
pub mod text;
pub mod writer;
pub mod zone;

pub use array::{parse_bytes, parse_uuid};
pub use datum::Datum;
pub use error::{SqlError, SqlResult, SqlState};
pub use logical::{ANY_LENGTH, Column, LogicalType, Schema, UTC};

#[cfg(test)]
mod tests;
