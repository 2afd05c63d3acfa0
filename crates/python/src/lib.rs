//! Dovetail in Python: what the package `dovetail` needs in Rust. A connection is a session of the
//! engine, attended by a task of its own; rows come as Arrow batches, pulled as they are made.
//!
//! The package is the interface (`docs/python.md`); this module is its own business. Threads of Python
//! are ordinary threads to the engine, and the interpreter's lock is never held while one waits.

#![allow(clippy::disallowed_methods, reason = "threads of Python stand outside of the simulation")]

mod attend;
mod capsule;
mod cells;
mod connection;
mod error;
mod link;
mod narrow;
mod open;
mod parameters;
mod rows;

use pyo3::prelude::*;

/// The module `dovetail._native`.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::connection::Connection;
    #[pymodule_export]
    use crate::rows::Rows;
}
