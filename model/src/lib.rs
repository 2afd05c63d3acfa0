//! A model checker over the concurrency made by hand.
//!
//! The tests of this crate compile files of `storage`, `runtime` and `engine` as they are, with the model
//! checker's locks and atomics in the place of the standard library's (`stdx::sync` is the seam), and run
//! them through all orders in which threads can take turns, and all values that the memory model lets a load
//! find. What each test covers, and which mistakes it finds, is in this crate's `README.md`.
