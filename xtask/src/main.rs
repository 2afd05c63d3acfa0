//! The one gate and the chores.
fn main() {}
