//! Small things that std lacks: no I/O, no globals.

mod bytes;
mod duration;
mod hash;
mod nearest;
mod padded;
mod prng;
mod processor;
mod slab;
mod stack;
pub mod sync;
#[cfg(test)]
mod tests;

pub use bytes::{ByteSizeError, format_bytes, parse_bytes};
pub use duration::format_duration;
pub use hash::{HashMap, HashSet, SeededState};
pub use nearest::nearest;
pub use padded::CachePadded;
pub use prng::Prng;
pub use processor::{Vectors, Width};
pub use slab::{Key, Slab};
pub use stack::{on_stack, stack_left};
