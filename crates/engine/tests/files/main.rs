//! Files as tables, and rows from and to files.
#![allow(clippy::disallowed_methods)] // tests prepare and look at files of their own, and make threads

mod copy;
mod damaged;
#[path = "../files_support/mod.rs"]
mod files_support;
mod iceberg;
mod portions;
mod reading;
