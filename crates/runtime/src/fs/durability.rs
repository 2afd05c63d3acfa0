//! Ways in which a write becomes durable.

use std::fmt;
use std::str::FromStr;

/// How a write becomes durable ("io_uring for High-Performance DBMSs", section 3.4.2, figure 9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It does not, where the device's cache is volatile, until a later sync.
    None,
    /// `fdatasync` once the write has completed.
    #[default]
    Sync,
    /// Both are given to the ring together, the second linked to the first.
    Linked,
    /// The write has `RWF_DSYNC`.
    Flag,
}

impl Durability {
    /// As `wal_sync_method` names it.
    pub fn name(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Sync => "fdatasync",
            Durability::Linked => "linked",
            Durability::Flag => "open_datasync",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Durability {
    type Err = String;

    /// One that makes a write durable.
    fn from_str(text: &str) -> Result<Durability, String> {
        let all = [Durability::Sync, Durability::Linked, Durability::Flag];
        let found = all.into_iter().find(|how| how.name() == text);
        found.ok_or_else(|| format!("unknown way to make a write durable: {text}"))
    }
}
