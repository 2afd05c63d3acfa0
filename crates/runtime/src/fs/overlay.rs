//! The bytes that have been written to a file that stays as it is, and so are read from its scratch
//! file.

use std::collections::BTreeMap;

/// The part written of a file that stays as it is.
pub(crate) struct Written {
    /// The length that the file seems to have.
    pub(crate) len: u64,
    /// Ranges of bytes, each with its end; they neither touch nor overlap.
    runs: BTreeMap<u64, u64>,
}

/// Bytes that come from one of both files.
pub(crate) struct Piece {
    pub(crate) len: u64,
    pub(crate) is_written: bool,
}

impl Written {
    /// Nothing, of a file of this length.
    pub(crate) fn new(len: u64) -> Written {
        Written { len, runs: BTreeMap::new() }
    }

    /// These bytes are written.
    pub(crate) fn note(&mut self, start: u64, end: u64) {
        self.len = self.len.max(end);
        let (mut start, mut end) = (start, end);
        while let Some((&from, &to)) = self.runs.range(..=end).next_back() {
            if to < start {
                break;
            }
            self.runs.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        if start < end {
            self.runs.insert(start, end);
        }
    }

    /// These bytes, which lie in the file, are kept as they are.
    pub(crate) fn note_kept(&mut self, start: u64, end: u64) {
        assert!(end <= self.len, "what is kept is a part of the file");
        self.note(start, end);
    }

    /// True if none of these bytes is written or kept.
    pub(crate) fn is_apart(&self, offset: u64, len: u64) -> bool {
        let piece = self.piece(offset, len);
        !piece.is_written && piece.len == len
    }

    /// The file has this length: what lies beyond its end before or afterwards is zero from now on.
    pub(crate) fn set_len(&mut self, len: u64) {
        self.note(len.min(self.len), len.max(self.len));
        self.len = len;
    }

    /// How far the bytes from `offset` on come from one file, of so many at most.
    pub(crate) fn piece(&self, offset: u64, most: u64) -> Piece {
        let end = offset + most;
        match self.runs.range(..=offset).next_back() {
            Some((_, &to)) if to > offset => Piece { len: to.min(end) - offset, is_written: true },
            _ => {
                let next = self.runs.range(offset..).next().map_or(end, |(&from, _)| from.min(end));
                Piece { len: next - offset, is_written: false }
            }
        }
    }
}

#[cfg(test)]
mod tests;
