//! Transactions over the trees of `storage`: what a reader sees, what a writer has locked, and how
//! what it has changed is put back.
//!
//! Rows change in place. Undo records ([`undo`]) keep a change from those who do not see it, and
//! [`visible`] has a tree as a reader sees it. Locks ([`locks`], [`advisory`]) keep two
//! transactions from changing the same; [`noted`] is how one is undone. Which versions of
//! definitions there are, and when one becomes durable, is decided above.

pub mod advisory;
pub mod fault;
pub mod locks;
pub mod noted;
pub mod undo;
pub mod visible;
pub mod waiting;
