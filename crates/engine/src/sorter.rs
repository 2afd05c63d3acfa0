//! External sort of tree entries: sorted pieces in memory, merged into a file each time the budget is
//! full, all merged into one ascending stream at the end.
//!
//! A piece is small enough to be sorted at one go; merging gives way. So a sort of any size keeps no
//! worker from its other tasks.

pub(crate) mod merge;
pub(crate) mod run;

use std::path::PathBuf;

use runtime::sync::Cancel;
use types::SqlResult;

use merge::Sorted;
use run::write_run;

/// Entries that are sorted at one go: some two milliseconds.
const PIECE_ENTRIES: usize = 8192;

/// Takes entries in any order.
pub(crate) struct Sorter {
    /// Spilled runs are `<path>.<number>`.
    path: PathBuf,
    budget_bytes: usize,
    piece: Piece,
    pieces: Vec<Piece>,
    /// Of the pieces that are complete.
    pieces_bytes: usize,
    spilled: Vec<PathBuf>,
    entry_count: u64,
}

/// What a sorter has when it has taken all entries: its part of what is merged.
#[derive(Default)]
pub(crate) struct Runs {
    pieces: Vec<Piece>,
    spilled: Vec<PathBuf>,
}

/// Entries in memory, sorted when it is complete.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    out_of_order: bool,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The first eight bytes of the key, to compare without following `start`.
    prefix: u64,
    start: usize,
    value_len: u32,
    key_len: u16,
}

impl Piece {
    fn key(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..entry.start + usize::from(entry.key_len)]
    }

    fn value(&self, entry: &Entry) -> &[u8] {
        let start = entry.start + usize::from(entry.key_len);
        &self.bytes[start..start + entry.value_len as usize]
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        if let Some(last) = self.entries.last() {
            self.out_of_order |= key < self.key(last);
        }
        self.entries.push(Entry {
            prefix: prefix(key),
            start: self.bytes.len(),
            key_len: key.len() as u16,
            value_len: value.len() as u32,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    fn sort(&mut self) {
        if !self.out_of_order {
            return;
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| self.key(a).cmp(self.key(b))));
        self.entries = entries;
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }
}

fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

impl Sorter {
    /// A sorter that spills beyond `budget_bytes` to files that start with `path`.
    pub(crate) fn new(path: PathBuf, budget_bytes: usize) -> Sorter {
        Sorter {
            path,
            budget_bytes,
            piece: Piece::default(),
            pieces: vec![],
            pieces_bytes: 0,
            spilled: vec![],
            entry_count: 0,
        }
    }

    /// Adds an entry.
    ///
    /// # Panics
    /// If the key is longer than 65,535 bytes or the value longer than 4 GiB: no tree would take
    /// them.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        assert!(key.len() <= usize::from(u16::MAX), "key of a tree");
        assert!(u32::try_from(value.len()).is_ok(), "value of a tree");
        self.piece.push(key, value);
        self.entry_count += 1;
        let may_take_more = self.budget_bytes.saturating_sub(self.pieces_bytes);
        if self.piece.entries.len() >= PIECE_ENTRIES || self.piece.size() >= may_take_more {
            self.complete_piece();
        }
    }

    fn complete_piece(&mut self) {
        // The next one is likely to be as long: memory that grows is memory that is copied.
        let next = Piece {
            bytes: Vec::with_capacity(self.piece.bytes.len() + self.piece.bytes.len() / 16),
            entries: Vec::with_capacity(self.piece.entries.len()),
            out_of_order: false,
        };
        let mut piece = std::mem::replace(&mut self.piece, next);
        if !piece.entries.is_empty() {
            piece.sort();
            self.pieces_bytes += piece.size();
            self.pieces.push(piece);
        }
    }

    /// Entries so far.
    pub(crate) fn entry_count(&self) -> u64 {
        self.entry_count
    }

    /// Writes a run to disk if the budget is full.
    ///
    /// # Errors
    /// 53100 when the disk is, 57014 when the sort is wanted no longer.
    pub(crate) async fn spill_if_full(&mut self, cancel: &Cancel) -> SqlResult<()> {
        if self.pieces_bytes < self.budget_bytes {
            return Ok(());
        }
        let path = self.path.with_added_extension(self.spilled.len().to_string());
        self.spilled.push(path.clone());
        let pieces = std::mem::take(&mut self.pieces);
        self.pieces_bytes = 0;
        let mut sorted = Sorted::of(vec![Runs { pieces, spilled: vec![] }]);
        write_run(&path, &mut sorted, cancel).await
    }

    /// All entries, in sorted runs.
    pub(crate) fn finish(mut self) -> Runs {
        self.complete_piece();
        Runs { pieces: self.pieces, spilled: self.spilled }
    }
}

impl Runs {
    /// Removes the files of entries that nobody will read.
    pub(crate) async fn discard(self) {
        run::remove(self.spilled).await;
    }
}

#[cfg(test)]
mod tests;
