//! Faults of the members of a database over several files or devices.

use std::fmt;
use std::path::PathBuf;

/// Why a member is refused, or a set of them. Nothing was written then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberFault {
    /// There is nothing at the path where the member was last.
    Missing {
        /// Its number.
        number: u32,
        /// Where it was.
        path: PathBuf,
    },
    /// Some members were given, and this one is not among them.
    NotGiven {
        /// Its number.
        number: u32,
        /// Where it was.
        path: PathBuf,
    },
    /// It has fewer bytes than what lies on it.
    Short {
        /// Its path.
        path: PathBuf,
        /// Bytes that it has to have.
        expected_bytes: u64,
        /// Bytes that it has.
        found_bytes: u64,
    },
    /// It is there, and is no member of this database.
    Stranger {
        /// Its path.
        path: PathBuf,
        /// The kind of thing that it is.
        what: &'static str,
    },
    /// It holds something that would be lost.
    Foreign {
        /// Its path.
        path: PathBuf,
        /// The kind of thing that lies there.
        what: &'static str,
    },
    /// Two paths lead to one file or device, or to a member and a copy of it.
    Twice {
        /// The path.
        path: PathBuf,
        /// The other one.
        other: PathBuf,
    },
    /// Somebody has it open, or a file system on it is mounted.
    InUse {
        /// Its path.
        path: PathBuf,
    },
    /// The path of the database leads to a member that is not the first.
    NotFirst {
        /// Its number.
        number: u32,
    },
    /// Members were given for a database that lies in one file.
    OneFile,
    /// The first member was not where it is now, and so the others may be those of another copy.
    Moved {
        /// Where it was.
        path: PathBuf,
    },
    /// It can be no member.
    Unsuited {
        /// Its path.
        path: PathBuf,
        /// Why not.
        what: &'static str,
    },
    /// There is no such member that could be removed.
    Unknown {
        /// Its path.
        path: PathBuf,
    },
}

impl MemberFault {
    /// Words on a way out.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            MemberFault::Missing { .. } | MemberFault::Moved { .. } => {
                "Give the paths of all members but the first with --member, once for each."
            }
            MemberFault::NotGiven { .. } => {
                "Give --member for all members but the first, or for none: then they are looked \
                 for where they were."
            }
            MemberFault::Foreign { .. } => "With --format it is overwritten, and lost.",
            MemberFault::Stranger { .. } | MemberFault::OneFile => {
                "A file or device joins a database by `dovetail volume add`."
            }
            MemberFault::InUse { .. } => {
                "Stop the other process, or unmount the file system that is on it."
            }
            MemberFault::NotFirst { .. } => "Open the database by its first member.",
            MemberFault::Unknown { .. } => "`dovetail volume list` shows the members.",
            MemberFault::Short { .. }
            | MemberFault::Twice { .. }
            | MemberFault::Unsuited { .. } => return None,
        })
    }
}

impl fmt::Display for MemberFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberFault::Missing { number, path } => {
                write!(f, "member {number} of the database is missing: there is no {path:?}")
            }
            MemberFault::NotGiven { number, path } => {
                write!(f, "member {number} of the database was not given; it was {path:?}")
            }
            MemberFault::Short { path, expected_bytes, found_bytes } => {
                write!(f, "member {path:?} is too short: {found_bytes} of {expected_bytes} bytes")
            }
            MemberFault::Stranger { path, what } => {
                write!(f, "{path:?} is no member of this database: {what}")
            }
            MemberFault::Foreign { path, what } => {
                write!(f, "{path:?} is not empty: it holds {what}")
            }
            MemberFault::Twice { path, other } => {
                write!(f, "{path:?} and {other:?} are the same file or device, or copies")
            }
            MemberFault::InUse { path } => write!(f, "{path:?} is in use"),
            MemberFault::NotFirst { number } => {
                write!(f, "this is member {number} of a database, not the first one")
            }
            MemberFault::OneFile => write!(f, "the database lies in one file, and has no members"),
            MemberFault::Moved { path } => {
                write!(f, "the first member of the database was {path:?}, and is elsewhere now")
            }
            MemberFault::Unsuited { path, what } => {
                write!(f, "{path:?} cannot be a member: {what}")
            }
            MemberFault::Unknown { path } => {
                write!(f, "no member {path:?} can be removed")
            }
        }
    }
}
