//! Locks that tasks wait for.

mod fair_lock;

pub(crate) use fair_lock::{FairGuard, FairLock};

#[cfg(test)]
mod tests;
