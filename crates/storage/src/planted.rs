//! Faults on purpose, which the simulations have to find: what they do not find there, they would not find in
//! the program either.
//!
//! Where correct code stands, `planted::is("name")` asks whether it is to do what a mistake would do. Without
//! the feature `planted` the answer is a constant, and nothing of a fault is in the program. With it one
//! fault is chosen for the whole process when it runs, so one build serves all. The names, and what finds
//! them: `crates/engine/tests/planted/`.

#[cfg(feature = "planted")]
mod chosen;

#[cfg(feature = "planted")]
pub use chosen::{is, plant, reached};

/// Whether the fault with this name is planted: it never is.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn is(_name: &str) -> bool {
    false
}
