//! Tables, files and databases in object stores.
#![allow(clippy::disallowed_methods)] // tests prepare and look at files of their own, and make threads

mod catalogs;
mod crash;
mod faults;
mod files;
#[path = "../files_support/mod.rs"]
mod files_support;
mod sealed;
mod support;
mod tables;
