//! x
pub type TreeId = u32;
