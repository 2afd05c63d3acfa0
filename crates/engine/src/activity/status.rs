//! Where a session stands.

/// Where a session stands between its statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No block is open.
    #[default]
    Idle,
    /// A block is open.
    Open,
    /// A block is open in which something failed: nothing runs until it ends.
    Failed,
}
