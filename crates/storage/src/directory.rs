//! The directory of a file, as bytes (`docs/format/file.md`, section 3): its trees and its free
//! pages.

use crate::extent::Extent;
use crate::header::OUT_OF_PLACE_VERSION;
use crate::page::PageId;
use crate::places::PlaceRecords;
use crate::tree_id::TreeId;

/// What the file knows about a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeRecord {
    pub id: TreeId,
    pub root: PageId,
    pub height: u32,
    pub leaf_pages: u64,
    pub inner_pages: u64,
    pub entries: u64,
    /// Pages of long values.
    pub overflow_pages: u64,
}

/// All trees and all free pages at a checkpoint.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Directory {
    pub trees: Vec<TreeRecord>,
    pub free: Vec<Extent>,
    /// Where pages lie, in a file that writes them out of place.
    pub places: PlaceRecords,
}

const TREE_BYTES: usize = 44;
const EXTENT_BYTES: usize = 8;

/// Bytes of a directory of this size.
pub(crate) fn encoded_len(tree_count: usize, extent_count: usize) -> usize {
    4 + tree_count * TREE_BYTES + 4 + extent_count * EXTENT_BYTES
}

impl Directory {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((self.trees.len() as u32).to_le_bytes());
        for tree in &self.trees {
            bytes.extend(tree.id.0.to_le_bytes());
            bytes.extend(tree.root.to_le_bytes());
            bytes.extend(tree.height.to_le_bytes());
            bytes.extend(tree.leaf_pages.to_le_bytes());
            bytes.extend(tree.inner_pages.to_le_bytes());
            bytes.extend(tree.entries.to_le_bytes());
            bytes.extend(tree.overflow_pages.to_le_bytes());
        }
        bytes.extend((self.free.len() as u32).to_le_bytes());
        for extent in &self.free {
            bytes.extend(extent.start.to_le_bytes());
            bytes.extend(extent.pages.to_le_bytes());
        }
        assert_eq!(bytes.len(), encoded_len(self.trees.len(), self.free.len()), "directory length");
        if self.places.extent_pages > 0 {
            self.places.encode(&mut bytes);
        }
        bytes
    }

    /// `None` when the bytes are not a directory of a file of format `version` with `page_count`
    /// pages.
    pub fn decode(bytes: &[u8], version: u32, page_count: u32) -> Option<Directory> {
        let mut reader = Reader(bytes);
        let mut directory = Directory::default();
        for _ in 0..reader.u32()? {
            let tree = TreeRecord {
                id: TreeId(reader.u32()?),
                root: reader.u32()?,
                height: reader.u32()?,
                leaf_pages: reader.u64()?,
                inner_pages: reader.u64()?,
                entries: reader.u64()?,
                overflow_pages: if version == 1 { 0 } else { reader.u64()? },
            };
            directory.trees.push(tree);
            if !(2..page_count).contains(&tree.root) {
                return None;
            }
        }
        let mut end = 2;
        for _ in 0..reader.u32()? {
            let extent = Extent { start: reader.u32()?, pages: reader.u32()? };
            let next = extent.start.checked_add(extent.pages)?;
            if extent.start < end || extent.pages == 0 || next > page_count {
                return None;
            }
            end = next;
            directory.free.push(extent);
        }
        if version >= OUT_OF_PLACE_VERSION {
            directory.places = PlaceRecords::decode(|| reader.u32())?;
        }
        reader.0.is_empty().then_some(directory)
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn u64(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }
}

#[cfg(test)]
mod tests;
