//! Files of the server and objects of stores as relations: Parquet and CSV, by paths that may have wildcards, and
//! tables of Iceberg.
//!
//! A statement opens the files that its query names before the query is planned: their columns, and of
//! Parquet files what is said at their ends. Rows are read when the plan runs, a few at a time. What is in
//! a file is never trusted: neither a length nor a count that it claims.

pub(crate) mod columns;
pub(crate) mod convert;
pub(crate) mod csv;
pub(crate) mod damage;
pub(crate) mod file;
pub(crate) mod found;
pub(crate) mod given;
pub(crate) mod hive;
pub(crate) mod iceberg;
pub(crate) mod options;
pub(crate) mod parquet;
pub(crate) mod paths;
pub(crate) mod restrict;
pub(crate) mod source;
pub(crate) mod tables;
