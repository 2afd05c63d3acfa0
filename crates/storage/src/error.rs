//! What may go wrong in storage, told apart by what the caller can do about it.

mod member;

use std::{fmt, io};

use crate::page::PageId;
use crate::tree_id::TreeId;

pub use member::MemberFault;

/// An error of the storage layer. Cheap enough to clone: one failed load may have many waiters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageError {
    /// The operating system refused an operation.
    Io {
        /// What was being done.
        action: &'static str,
        /// The kind of error.
        kind: io::ErrorKind,
        /// The system's own words.
        message: String,
    },
    /// Bytes from disk are not what was written. The page is never served.
    Corrupt {
        /// The damaged page.
        pid: PageId,
        /// What is wrong with it.
        reason: Damage,
    },
    /// The file is not a Dovetail database.
    NotADatabase,
    /// The file was written by a later version of the format.
    NewerVersion {
        /// Version found in the file.
        found: u32,
        /// Highest version that this program reads.
        supported: u32,
    },
    /// The file is shorter than its header says.
    Truncated {
        /// Length according to the header, in bytes.
        expected_bytes: u64,
        /// Length found, in bytes.
        found_bytes: u64,
    },
    /// Another process (or another store of this one) has the file open.
    Locked,
    /// A member of a database over several files or devices is not as it has to be.
    Member(MemberFault),
    /// An option is out of its range.
    Option(&'static str),
    /// A key does not fit a page, or a value is too long.
    TooLarge {
        /// Length of the key in bytes.
        key_len: usize,
        /// Length of the value in bytes.
        value_len: usize,
        /// Greatest length of a key in bytes.
        key_len_max: usize,
        /// Greatest length of a value in bytes.
        value_len_max: usize,
    },
    /// A bulk load was given keys that do not ascend strictly.
    OutOfOrder,
    /// A bulk load needs an empty tree.
    NotEmpty(TreeId),
    /// There is no such tree.
    NoSuchTree(TreeId),
    /// The file would grow past the greatest page number.
    Full,
    /// A write or sync failed earlier: open the file again, it recovers to what was made durable before.
    Poisoned(String),
    /// The runtime was stopped while a page was being read.
    Stopped,
}

/// The kinds of damage that a page can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The page does not begin with the magic number.
    Magic,
    /// The page's format version is unknown.
    Version(u8),
    /// The page carries another page's number: a misdirected or lost write.
    WrongPage(u64),
    /// The checksum does not match.
    Checksum,
    /// The page ends before it begins: the file is too short.
    BeyondEnd,
    /// The page is intact but does not belong where it is referenced.
    Misplaced(&'static str),
    /// Both header slots are damaged.
    Header,
    /// The double-write buffer of an unfinished checkpoint does not match its checksum.
    DoubleWrite,
    /// The page is intact, and not the one that was written there last: a lost write.
    Outdated,
    /// The map from pages to places is damaged.
    Map,
    /// The directory of trees and free pages cannot be decoded.
    Directory,
    /// Something is missing in the log that was committed.
    Log,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Magic => write!(f, "no page magic"),
            Damage::Version(found) => write!(f, "unknown page version {found}"),
            Damage::WrongPage(found) => write!(f, "holds page {found} instead"),
            Damage::Checksum => write!(f, "checksum mismatch"),
            Damage::BeyondEnd => write!(f, "beyond the end of the file"),
            Damage::Misplaced(what) => write!(f, "{what}"),
            Damage::Header => write!(f, "both header slots are damaged"),
            Damage::DoubleWrite => write!(f, "double-write buffer checksum mismatch"),
            Damage::Outdated => write!(f, "an older image than the one that was written last"),
            Damage::Map => write!(f, "the map of places is damaged"),
            Damage::Directory => write!(f, "directory cannot be decoded"),
            Damage::Log => write!(f, "a part of the log is missing, and later ones are there"),
        }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageError::Io { action, message, .. } => write!(f, "could not {action}: {message}"),
            StorageError::Corrupt { pid, reason } => write!(f, "page {pid} is damaged: {reason}"),
            StorageError::NotADatabase => write!(f, "the file is not a Dovetail database"),
            StorageError::NewerVersion { found, supported } => {
                write!(
                    f,
                    "the file has format version {found}, this program reads up to {supported}"
                )
            }
            StorageError::Truncated { expected_bytes, found_bytes } => {
                write!(f, "the file is truncated: {found_bytes} of {expected_bytes} bytes")
            }
            StorageError::Locked => write!(f, "the database file is in use by another process"),
            StorageError::Member(fault) => fault.fmt(f),
            StorageError::Option(what) => write!(f, "invalid storage option: {what}"),
            StorageError::TooLarge { key_len, key_len_max, .. } if key_len > key_len_max => {
                write!(f, "key too large: {key_len} bytes (at most {key_len_max})")
            }
            StorageError::TooLarge { value_len, value_len_max, .. } => {
                write!(f, "value too large: {value_len} bytes (at most {value_len_max})")
            }
            StorageError::OutOfOrder => write!(f, "bulk load keys must ascend strictly"),
            StorageError::NotEmpty(tree) => write!(f, "tree {tree} is not empty"),
            StorageError::NoSuchTree(tree) => write!(f, "there is no tree {tree}"),
            StorageError::Full => write!(f, "the file has reached its greatest number of pages"),
            StorageError::Poisoned(cause) => {
                write!(f, "an earlier write failed, the file must be opened again: {cause}")
            }
            StorageError::Stopped => write!(f, "the runtime was stopped"),
        }
    }
}

impl std::error::Error for StorageError {}

impl StorageError {
    /// Whether there is no space for what was to be written: on the disk, within the user's quota,
    /// or below the greatest length of a file. Nothing is lost, and the same may be tried again.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match self {
            StorageError::Io { kind, .. } => {
                matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
            }
            StorageError::Full => true,
            _ => false,
        }
    }

    /// Wraps an error of the operating system with what was being done.
    pub(crate) fn io(action: &'static str, error: &io::Error) -> StorageError {
        StorageError::Io { action, kind: error.kind(), message: error.to_string() }
    }
}

/// Result of a storage operation.
pub type Result<T> = std::result::Result<T, StorageError>;
