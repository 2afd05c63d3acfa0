//! The answer of a program that does not fit a vector.

/// The vector needs the slower way: a value that has no 64 bits, or an operation that would fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;
