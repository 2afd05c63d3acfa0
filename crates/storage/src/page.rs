//! The header that every page carries: identity, age and checksum (`docs/format/page.md`, section
//! 1).

use crate::error::Damage;
use crate::le::{set_u32, set_u64, u32_at, u64_at};

/// Number of a page: its offset in the file divided by the page size.
pub type PageId = u32;

/// Bytes of the common header.
pub const PAGE_HEADER_BYTES: usize = 40;
/// First four bytes of each page, `DVPG`.
pub const PAGE_MAGIC: u32 = u32::from_le_bytes(*b"DVPG");
/// Version of the page format that this program writes.
pub const PAGE_VERSION: u8 = 1;
/// Smallest page size in bytes: what SSDs read best at random.
pub const PAGE_SIZE_MIN: u32 = 4096;
/// Largest page size in bytes: offsets inside a page are 16 bits wide.
pub const PAGE_SIZE_MAX: u32 = 32768;

const CHECKSUM: usize = 4;
const PID: usize = 8;
const EPOCH: usize = 16;
const BORN: usize = 24;
const KIND: usize = 32;
const VERSION: usize = 33;
const TREE: usize = 36;

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PageKind {
    /// Entries of a tree.
    Leaf = 1,
    /// Separators and children.
    Inner = 2,
    /// A piece of the directory.
    Meta = 3,
    /// Nothing: the page was taken from its tree, or is not part of one yet.
    Free = 4,
    /// A piece of a long value.
    Overflow = 5,
    /// A piece of the map from page numbers to places.
    Map = 6,
}

/// Identity of a page that is about to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    pub pid: PageId,
    pub tree: u32,
    /// Checkpoint interval in which the page is allocated.
    pub epoch: u64,
}

impl Identity {
    /// Identity of a page that is rewritten: it stays as old as it is.
    pub fn of(page: &[u8]) -> Identity {
        let pid = PageId::try_from(stored_pid(page)).expect("page numbers have 32 bits");
        Identity { pid, tree: tree(page), epoch: born(page) }
    }
}

/// Clears `page` and writes a fresh header.
pub(crate) fn init(page: &mut [u8], kind: PageKind, identity: Identity) {
    assert!(page.len() >= PAGE_SIZE_MIN as usize, "a page of {} bytes", page.len());
    assert!(identity.pid >= 2, "pages 0 and 1 are the header slots");
    page.fill(0);
    set_u32(page, 0, PAGE_MAGIC);
    set_u64(page, PID, u64::from(identity.pid));
    set_u64(page, EPOCH, identity.epoch);
    set_u64(page, BORN, identity.epoch);
    page[KIND] = kind as u8;
    page[VERSION] = PAGE_VERSION;
    set_u32(page, TREE, identity.tree);
}

/// Makes `page` one that belongs to nothing: whoever still knows its number sees that.
pub(crate) fn clear(page: &mut [u8], pid: PageId, born: u64) {
    init(page, PageKind::Free, Identity { pid, tree: 0, epoch: born });
}

/// Writes the checksum into an image that is about to be written, after asserting whose image it
/// is.
pub(crate) fn seal(page: &mut [u8], pid: PageId) {
    assert_eq!(u32_at(page, 0), PAGE_MAGIC, "page {pid} is written without a header");
    assert_eq!(u64_at(page, PID), u64::from(pid), "page {pid} is written with another's header");
    let sum = checksum(page);
    set_u32(page, CHECKSUM, sum);
}

/// Checks an image that came from disk as page `pid`.
pub(crate) fn check(page: &[u8], pid: PageId) -> Result<(), Damage> {
    check_any(page)?;
    match u64_at(page, PID) {
        found if found == u64::from(pid) => Ok(()),
        found => Err(Damage::WrongPage(found)),
    }
}

/// Checks an image whose page number is not known beforehand (the double-write buffer's).
pub(crate) fn check_any(page: &[u8]) -> Result<(), Damage> {
    if u32_at(page, 0) != PAGE_MAGIC {
        return Err(Damage::Magic);
    }
    if checksum(page) != u32_at(page, CHECKSUM) {
        return Err(Damage::Checksum);
    }
    match page[VERSION] {
        PAGE_VERSION => Ok(()),
        found => Err(Damage::Version(found)),
    }
}

fn checksum(page: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&page[..CHECKSUM]), &page[PID..])
}

/// The checksum that an image carries.
pub(crate) fn stored_checksum(page: &[u8]) -> u32 {
    u32_at(page, CHECKSUM)
}

/// The page number that an image carries.
pub(crate) fn stored_pid(page: &[u8]) -> u64 {
    u64_at(page, PID)
}

/// Checkpoint interval in which the page was allocated.
pub(crate) fn born(page: &[u8]) -> u64 {
    u64_at(page, BORN)
}

/// Notes the checkpoint interval in which the page was changed.
pub(crate) fn set_epoch(page: &mut [u8], epoch: u64) {
    set_u64(page, EPOCH, epoch);
}

/// What the page holds, or `None` when the byte is none of the known kinds.
pub(crate) fn kind(page: &[u8]) -> Option<PageKind> {
    match page[KIND] {
        1 => Some(PageKind::Leaf),
        2 => Some(PageKind::Inner),
        3 => Some(PageKind::Meta),
        4 => Some(PageKind::Free),
        5 => Some(PageKind::Overflow),
        6 => Some(PageKind::Map),
        _ => None,
    }
}

/// Tree that the page belongs to.
#[inline]
pub(crate) fn tree(page: &[u8]) -> u32 {
    u32_at(page, TREE)
}
