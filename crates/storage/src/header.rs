//! The two header slots of the file (`docs/format/file.md`, section 1).

use crate::error::{Damage, Result, StorageError};
use crate::le::{set_u32, set_u64, u32_at, u64_at};
use crate::log::place::LogPlace;
use crate::page::{PAGE_SIZE_MAX, PAGE_SIZE_MIN, PageId};

/// First eight bytes of a database file.
pub const FILE_MAGIC: &[u8; 8] = b"DOVETAIL";
/// The newest version of the file format that this program knows.
pub const FILE_VERSION: u32 = OUT_OF_PLACE_VERSION;
/// Version of files whose pages lie in their places.
pub(crate) const IN_PLACE_VERSION: u32 = 5;
/// Version of files whose pages are written out of place.
pub(crate) const OUT_OF_PLACE_VERSION: u32 = 6;
/// Version of the label of a member, which stands where the first header slot is else
/// (`docs/format/volume.md`).
pub(crate) const LABEL_VERSION: u32 = 7;
/// Bytes of a slot that mean something.
pub(crate) const HEADER_BYTES: usize = 128;

const CHECKSUM: usize = 124;

/// The state of a file, as one header slot tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// Version of the format in which the directory is written.
    pub version: u32,
    pub page_size: u32,
    pub sequence: u64,
    pub checkpoint: u64,
    pub page_count: u32,
    pub meta_pid: PageId,
    pub meta_pages: u32,
    pub next_tree: u32,
    pub catalog_tree: u32,
    pub double_write: DoubleWrite,
    pub log: LogPlace,
    /// Frames of the log that were written before the header.
    pub log_frames: u32,
    /// Checksum of the frame that its first one follows, or 0.
    pub log_previous: u32,
    /// Where the log goes on behind the point of the next checkpoint, if that is known.
    pub next_log: LogPlace,
    /// The line of the archive that has the checkpoint or gets it; 0: there is none.
    pub archive: u64,
    /// When the checkpoint was made, in microseconds since 1970.
    pub time: u64,
    /// Page numbers in use or free, where pages lie out of place; else 0.
    pub numbers: u32,
}

/// First version of files whose frames have times.
pub(crate) const VERSION_WITH_TIMES: u32 = 4;

/// Where the page images of an unfinished checkpoint lie; no pages: nothing to replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DoubleWrite {
    pub pid: PageId,
    pub pages: u32,
    pub checksum: u32,
}

/// Writes `header` into the first bytes of a slot's page.
pub(crate) fn encode(header: &Header, slot: &mut [u8]) {
    assert!(slot.len() >= HEADER_BYTES, "a slot of {} bytes", slot.len());
    slot.fill(0);
    slot[..8].copy_from_slice(FILE_MAGIC);
    set_u32(slot, 8, header.version);
    set_u32(slot, 12, header.page_size);
    set_u64(slot, 16, header.sequence);
    set_u64(slot, 24, header.checkpoint);
    set_u32(slot, 32, header.page_count);
    set_u32(slot, 36, header.meta_pid);
    set_u32(slot, 40, header.meta_pages);
    set_u32(slot, 44, header.next_tree);
    set_u32(slot, 48, header.catalog_tree);
    set_u32(slot, 52, header.double_write.pid);
    set_u32(slot, 56, header.double_write.pages);
    set_u32(slot, 60, header.double_write.checksum);
    set_u32(slot, 64, header.log.pid);
    set_u32(slot, 68, header.log.pages);
    set_u64(slot, 72, header.log.salt);
    set_u32(slot, 80, header.log_frames);
    set_u64(slot, 84, header.archive);
    set_u64(slot, 92, header.time);
    set_u32(slot, 100, header.log_previous);
    set_u32(slot, 104, header.next_log.pid);
    set_u32(slot, 108, header.next_log.pages);
    set_u64(slot, 112, header.next_log.salt);
    set_u32(slot, 120, header.numbers);
    let sum = crc32c::crc32c(&slot[..CHECKSUM]);
    set_u32(slot, CHECKSUM, sum);
}

/// Reads one slot.
///
/// # Errors
/// `NotADatabase` without the magic, `NewerVersion`, `Corrupt` when the checksum does not match.
pub(crate) fn decode(slot: &[u8], pid: PageId) -> Result<Header> {
    if slot.len() < HEADER_BYTES || &slot[..8] != FILE_MAGIC {
        return Err(StorageError::NotADatabase);
    }
    let page_size = u32_at(slot, 12);
    let intact = crc32c::crc32c(&slot[..CHECKSUM]) == u32_at(slot, CHECKSUM);
    let version = u32_at(slot, 8);
    if intact && version > FILE_VERSION {
        return Err(StorageError::NewerVersion { found: version, supported: FILE_VERSION });
    }
    if !intact || version == 0 || !page_size_is_valid(page_size) {
        return Err(StorageError::Corrupt { pid, reason: Damage::Header });
    }
    let header = Header {
        version,
        page_size,
        sequence: u64_at(slot, 16),
        checkpoint: u64_at(slot, 24),
        page_count: u32_at(slot, 32),
        meta_pid: u32_at(slot, 36),
        meta_pages: u32_at(slot, 40),
        next_tree: u32_at(slot, 44),
        catalog_tree: u32_at(slot, 48),
        double_write: DoubleWrite {
            pid: u32_at(slot, 52),
            pages: u32_at(slot, 56),
            checksum: u32_at(slot, 60),
        },
        // Zero in files of earlier versions.
        log: LogPlace { pid: u32_at(slot, 64), pages: u32_at(slot, 68), salt: u64_at(slot, 72) },
        log_frames: u32_at(slot, 80),
        log_previous: u32_at(slot, 100),
        next_log: LogPlace {
            pid: u32_at(slot, 104),
            pages: u32_at(slot, 108),
            salt: u64_at(slot, 112),
        },
        archive: u64_at(slot, 84),
        time: u64_at(slot, 92),
        numbers: u32_at(slot, 120),
    };
    match header.has_its_runs() {
        true => Ok(header),
        false => Err(StorageError::Corrupt { pid, reason: Damage::Header }),
    }
}

impl Header {
    /// True if pages lie where a map says.
    pub fn is_out_of_place(&self) -> bool {
        self.version >= OUT_OF_PLACE_VERSION
    }

    /// Page numbers in use or free.
    pub fn number_count(&self) -> u32 {
        if self.is_out_of_place() { self.numbers } else { self.page_count }
    }

    /// Whether the runs that it names lie in the file, behind the slots.
    fn has_its_runs(&self) -> bool {
        let Header { meta_pid, meta_pages, double_write, log, next_log, .. } = *self;
        let logs = [log, next_log].map(|place| (place.pid, place.pages));
        let runs = [(meta_pid, meta_pages), (double_write.pid, double_write.pages)]
            .into_iter()
            .chain(logs);
        let end = |(pid, pages): (u32, u32)| pid.checked_add(pages);
        let lies =
            |run: (u32, u32)| run.0 >= 2 && end(run).is_some_and(|end| end <= self.page_count);
        runs.into_iter().all(|run| run.1 == 0 || lies(run))
    }
}

/// Whether a page size is one that the format allows.
pub(crate) fn page_size_is_valid(page_size: u32) -> bool {
    page_size.is_power_of_two() && (PAGE_SIZE_MIN..=PAGE_SIZE_MAX).contains(&page_size)
}

/// Chooses between the slots: the valid one with the greater sequence, and which one that is.
///
/// # Errors
/// The more telling of the two errors when neither slot is valid.
pub(crate) fn choose(first: Result<Header>, second: Result<Header>) -> Result<(Header, PageId)> {
    match (first, second) {
        (Ok(a), Ok(b)) if a.sequence < b.sequence => Ok((b, 1)),
        (Ok(a), _) => Ok((a, 0)),
        (Err(_), Ok(b)) => Ok((b, 1)),
        (Err(StorageError::NotADatabase), Err(other)) => Err(other),
        (Err(_), Err(newer @ StorageError::NewerVersion { .. })) => Err(newer),
        (Err(error), Err(_)) => Err(error),
    }
}
