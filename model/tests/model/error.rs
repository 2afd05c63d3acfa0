//! An error of storage: which one is all the same here.

/// Why there are no more frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageError;

/// As in `storage`.
pub type Result<T> = std::result::Result<T, StorageError>;
