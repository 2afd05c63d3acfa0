//! The `dovetail` binary.
fn main() {}
