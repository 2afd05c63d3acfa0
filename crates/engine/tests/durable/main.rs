//! Databases as files: made, opened, damaged, copied.
#![allow(clippy::disallowed_methods)] // tests prepare and look at files of their own, and make threads

mod backup;
mod check;
mod check_keys;
mod database;
mod rings;
