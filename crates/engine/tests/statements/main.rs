//! Kinds of statements, and what they refuse.
#![allow(clippy::disallowed_methods)] // tests prepare and look at files of their own, and make threads

mod bad_input;
mod columns;
mod compiled;
mod covering;
mod gives_way;
mod hash_index;
mod machine_code;
mod refusals;
mod sequences;
mod statistics;
