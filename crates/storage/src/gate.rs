//! Locks that tasks wait for.

pub(crate) mod fair_lock;

#[cfg(test)]
mod tests;
