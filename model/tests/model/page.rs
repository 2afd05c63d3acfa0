//! The numbers of pages and trees.

/// As in `storage`.
pub type PageId = u32;

/// As in `storage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);
