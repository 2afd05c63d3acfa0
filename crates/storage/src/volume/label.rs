//! The label of a member: its first block (`docs/format/volume.md`, section 2).

use super::origin::Origin;
use super::table::Table;
use super::{BLOCK_BYTES, Geometry};
use crate::header::{FILE_MAGIC, LABEL_VERSION};
use crate::le::{set_u32, set_u64, u32_at, u64_at};

/// Bytes of a label that mean something, as many as of a header slot: other programs take it for
/// one of a later version.
const MEANING_BYTES: usize = 128;

const CHECKSUM: usize = 124;

/// The identity of a member. Written when it joins, and never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    pub origin: Origin,
    /// Tells members apart, those that never came to be one included.
    pub id: u64,
    /// 1 is the first one, which has the table.
    pub number: u32,
    /// Bytes of a device; 0 of a file, which grows.
    pub size: u64,
    /// Bytes a second that the probe has read.
    pub speed: u64,
    /// Extents of the file that became the first member, or 0. They are what the table says as long
    /// as there is none.
    pub converted: u32,
}

impl Label {
    /// Its block.
    pub fn encode(&self) -> Vec<u8> {
        let mut block = vec![0; BLOCK_BYTES];
        block[..8].copy_from_slice(FILE_MAGIC);
        set_u32(&mut block, 8, LABEL_VERSION);
        block[16..32].copy_from_slice(&self.origin.database);
        set_u64(&mut block, 32, self.id);
        set_u32(&mut block, 40, self.number);
        set_u32(&mut block, 44, self.converted);
        set_u64(&mut block, 48, self.size);
        set_u64(&mut block, 56, self.speed);
        set_u64(&mut block, 64, self.origin.geometry.extent_bytes);
        set_u64(&mut block, 72, self.origin.geometry.table_bytes);
        let sum = crc32c::crc32c(&block[..CHECKSUM]);
        set_u32(&mut block, CHECKSUM, sum);
        block
    }

    /// True if the extents that it stands for fit a table.
    fn has_table(&self) -> bool {
        Table::bytes_of_converted(self.converted, 0) <= self.origin.geometry.table_bytes
    }

    /// The label that a block holds, if it is one.
    pub fn decode(block: &[u8]) -> Option<Label> {
        let is_label = block.len() >= MEANING_BYTES
            && block[..8] == *FILE_MAGIC
            && u32_at(block, 8) == LABEL_VERSION
            && crc32c::crc32c(&block[..CHECKSUM]) == u32_at(block, CHECKSUM);
        if !is_label {
            return None;
        }
        let label = Label {
            origin: Origin {
                database: block[16..32].try_into().expect("16 bytes"),
                geometry: Geometry {
                    extent_bytes: u64_at(block, 64),
                    table_bytes: u64_at(block, 72),
                },
            },
            id: u64_at(block, 32),
            number: u32_at(block, 40),
            converted: u32_at(block, 44),
            size: u64_at(block, 48),
            speed: u64_at(block, 56),
        };
        let is_sound = label.number > 0 && label.origin.geometry.is_valid() && label.has_table();
        is_sound.then_some(label)
    }
}

#[cfg(test)]
mod tests;
