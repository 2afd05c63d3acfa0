//! What happens to the transaction block.

/// What happens to the transaction block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// One begins.
    Begin(Modes),
    /// It ends, its work kept.
    Commit,
    /// It ends, its work undone.
    Rollback,
    /// `SAVEPOINT`.
    Savepoint(String),
    /// `RELEASE SAVEPOINT`.
    Release(String),
    /// `ROLLBACK TO SAVEPOINT`.
    RollbackTo(String),
}

/// How a transaction block is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Whether it only reads; `None` is the session's.
    pub read_only: Option<bool>,
    /// The isolation that is asked for, as a setting has it; `None` is the session's.
    pub isolation: Option<String>,
    /// The statement is `START TRANSACTION`.
    pub is_start: bool,
}
