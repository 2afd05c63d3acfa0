//! Who may be inside together, and who alone.

mod turnstile;

pub(crate) use turnstile::{Pass, Turnstile};

#[cfg(test)]
mod tests;
