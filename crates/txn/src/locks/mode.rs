//! What is locked, and how.

use storage::TreeId;

/// An entry of a tree, or the entries with a unique prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockKey {
    /// The tree.
    pub tree: TreeId,
    /// The key, or the prefix; empty for the whole table.
    pub key: Vec<u8>,
}

impl LockKey {
    /// The whole table with this tree: who changes or locks rows of it shares it (`KeyShare`), and
    /// `LOCK TABLE` has it for itself. No row has so short a key.
    pub fn of_table(tree: TreeId) -> LockKey {
        LockKey { tree, key: vec![] }
    }

    /// True if it is a whole table.
    pub fn is_table(&self) -> bool {
        self.key.is_empty()
    }
}

/// How a key is locked, from the weakest to the strongest mode: each keeps out what those that are weaker
/// keep out, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// `FOR KEY SHARE`: others refer to the key.
    KeyShare,
    /// `FOR SHARE`: the row stays as it is.
    Share,
    /// `FOR NO KEY UPDATE`: the row changes and keeps its key.
    NoKeyUpdate,
    /// `FOR UPDATE`: the key comes or goes.
    Update,
}

impl LockMode {
    /// PostgreSQL's mode of a table of which rows are locked, or of a row that is waited for.
    pub fn name(self, is_granted: bool) -> &'static str {
        match (self, is_granted) {
            (LockMode::KeyShare | LockMode::Share, true) => "RowShareLock",
            (LockMode::NoKeyUpdate | LockMode::Update, true) => "RowExclusiveLock",
            (LockMode::KeyShare, false) => "AccessShareLock",
            (LockMode::Share, false) => "RowShareLock",
            (LockMode::NoKeyUpdate, false) => "ExclusiveLock",
            (LockMode::Update, false) => "AccessExclusiveLock",
        }
    }
}

/// How far a right to write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RightKind {
    /// To change rows beside others.
    Share,
    /// To change definitions beside those who change rows.
    Define,
    /// To write alone.
    Exclude,
}

impl RightKind {
    /// What has it, and the mode in which, in PostgreSQL's terms: of those that keep out the same.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            RightKind::Share => ("transactionid", "ExclusiveLock"),
            RightKind::Define => ("database", "ShareUpdateExclusiveLock"),
            RightKind::Exclude => ("database", "AccessExclusiveLock"),
        }
    }
}

/// What one that writes holds, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockShown {
    /// The right to write.
    Right(RightKind),
    /// Keys of a tree; the strongest mode.
    Keys(TreeId, LockMode),
}

/// A lock that is held or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownLock {
    /// The session that has it, or waits for it; none for the engine itself.
    pub session: Option<u64>,
    /// What is locked.
    pub what: LockShown,
    /// Whether the session has it.
    pub is_granted: bool,
}
