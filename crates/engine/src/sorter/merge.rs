//! Sorted runs, merged into one ascending stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use types::SqlResult;

use super::run::{self, RunReader};
use super::{Piece, Runs};

/// Entries in ascending order of their keys; equal keys are adjacent.
pub(crate) struct Sorted {
    sources: Vec<Source>,
    /// The next key of each source that is not at its end.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    has_begun: bool,
}

enum Source {
    Memory { piece: Piece, at: usize },
    File(RunReader),
}

impl Source {
    /// Goes on by `step` entries; false at the end.
    async fn advance(&mut self, step: usize) -> SqlResult<bool> {
        match self {
            Source::Memory { piece, at } => {
                *at += step;
                let has_more = *at < piece.entries.len();
                if !has_more {
                    *piece = Piece::default();
                }
                Ok(has_more)
            }
            Source::File(reader) => reader.advance().await,
        }
    }

    fn entry(&self) -> (&[u8], &[u8]) {
        match self {
            Source::Memory { piece, at } => {
                let entry = &piece.entries[*at];
                (piece.key(entry), piece.value(entry))
            }
            Source::File(reader) => reader.entry(),
        }
    }
}

impl Sorted {
    /// All entries of several sorters.
    pub(crate) fn of(runs: Vec<Runs>) -> Sorted {
        let block_bytes = run::block_bytes(runs.iter().map(|runs| runs.spilled.len()).sum());
        let reader = |path| Source::File(RunReader::new(path, block_bytes));
        let mut sources = vec![];
        for Runs { pieces, spilled } in runs {
            sources.extend(pieces.into_iter().map(|piece| Source::Memory { piece, at: 0 }));
            sources.extend(spilled.into_iter().map(reader));
        }
        Sorted { sources, heap: BinaryHeap::new(), has_begun: false }
    }

    /// Removes the files of entries that nobody reads any more.
    pub(crate) async fn discard(self) {
        let paths = self.sources.into_iter().filter_map(|source| match source {
            Source::File(reader) => Some(reader.into_path()),
            Source::Memory { .. } => None,
        });
        run::remove(paths.collect()).await;
    }

    /// The next entry.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<(&[u8], &[u8])>> {
        match std::mem::replace(&mut self.has_begun, true) {
            true => self.advance_winner().await?,
            false => self.begin().await?,
        }
        Ok(self.heap.peek().map(|Reverse((_, winner))| self.sources[*winner].entry()))
    }

    async fn begin(&mut self) -> SqlResult<()> {
        for (number, source) in self.sources.iter_mut().enumerate() {
            if source.advance(0).await? {
                self.heap.push(Reverse((source.entry().0.to_vec(), number)));
            }
        }
        Ok(())
    }

    async fn advance_winner(&mut self) -> SqlResult<()> {
        let Some(mut top) = self.heap.peek_mut() else { return Ok(()) };
        let Reverse((key, winner)) = &mut *top;
        if self.sources[*winner].advance(1).await? {
            key.clear();
            key.extend_from_slice(self.sources[*winner].entry().0);
        } else {
            PeekMut::pop(top);
        }
        Ok(())
    }
}
