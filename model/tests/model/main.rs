//! Sources of `storage`, `runtime` and `engine` under `loom`. They find here what they take from other crates.

// The names by which the sources know their own and each other's crates.
extern crate self as runtime;
extern crate self as stdx;
extern crate self as storage;

mod account;
mod check;
pub mod error;
pub mod inbox;
mod latches;
#[path = "../../../crates/runtime/src/lock.rs"]
mod lock;
mod page;
pub mod planted;
mod pool;
mod publications;
pub mod sync;
mod fair_lock;
mod undo;
mod waiting;

pub use page::TreeId;
