//! What threads share: the standard library's locks and atomics. Code that the model checker runs takes them
//! from here, where `model/` puts its own in their place.

pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::sync::{Mutex, MutexGuard};
