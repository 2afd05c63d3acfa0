//! Parts of long values: found by one descent, then read without any, in large requests.
//!
//! The pages of a value are consecutive (`crate::overflow`), so a range of its bytes is a range of
//! pages. This is how chunks of columns are read (`docs/format/columns.md`): some columns of a value
//! of megabytes, and of these the rows that are wanted.

use std::ops::Range;

use runtime::IoCounters;

use super::overflow::Found;
use super::{Tree, misplaced};
use crate::error::Result;
use crate::overflow::capacity;
use crate::page::PageId;
use crate::pool::load::RUN_PAGES_MAX;

/// A value whose parts can be read. It stays what it is as long as its entry is not changed: of one
/// that was, reading says that it is damaged.
pub struct LongValue {
    tree: Tree,
    found: Found,
}

impl Tree {
    /// The value of `key`, not read yet; `None` when there is no such entry.
    ///
    /// # Errors
    /// Those of reading the way to it.
    pub async fn long_value(&self, key: &[u8], io: &IoCounters) -> Result<Option<LongValue>> {
        let found = self.find_now(key, io).await?;
        Ok(found.map(|found| LongValue { tree: self.clone(), found }))
    }
}

impl LongValue {
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        match &self.found {
            Found::Inline(value) => value.len(),
            Found::Overflow(reference) => reference.len as usize,
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts to read what is absent of a range, without waiting: as far as there are free frames,
    /// and no further ahead than a run of pages.
    pub fn prefetch(&self, bytes: Range<usize>, io: &IoCounters) {
        let Found::Overflow(reference) = &self.found else { return };
        let pages = self.pages(&bytes);
        let pool = &self.tree.store.pool;
        let ahead = pages.start..pages.end.min(pages.start + pool.window(RUN_PAGES_MAX) as u32);
        pool.prefetch(ahead.map(|index| reference.first + index), io);
    }

    /// The bytes of a range, a run of pages in each request.
    ///
    /// # Errors
    /// `Corrupt` when the entry is not what it was; `Io`.
    ///
    /// # Panics
    /// If the value has no such bytes.
    pub async fn read(&self, bytes: Range<usize>, io: &IoCounters) -> Result<Vec<u8>> {
        assert!(bytes.start <= bytes.end, "a range of bytes ends before it begins");
        assert!(bytes.end <= self.len(), "a range of bytes ends behind the value");
        let reference = match &self.found {
            Found::Inline(value) => return Ok(value[bytes].to_vec()),
            Found::Overflow(reference) => *reference,
        };
        let pool = &self.tree.store.pool;
        let (pages, step) = (self.pages(&bytes), capacity(pool.page_size()));
        let window = pool.window(RUN_PAGES_MAX) as u32;
        let mut read = Vec::with_capacity(bytes.len());
        for index in pages.clone() {
            if (index - pages.start) % window == 0 && pages.len() > 1 {
                let run = index..pages.end.min(index + window);
                pool.prefetch(run.map(|index| reference.first + index), io);
            }
            let pid: PageId = reference.first + index;
            let begin = index as usize * step;
            let take = |page: &[u8]| match reference.piece(page, self.tree.shared.id.0, index) {
                Some(piece) => {
                    let from = bytes.start.saturating_sub(begin);
                    read.extend_from_slice(&piece[from..piece.len().min(bytes.end - begin)]);
                    Ok(())
                }
                None => Err(misplaced(pid, "a page that is not part of the value")),
            };
            pool.read(pid, io, take).await??;
        }
        Ok(read)
    }

    /// The numbers of the pages, within the value, that have some of these bytes.
    fn pages(&self, bytes: &Range<usize>) -> Range<u32> {
        let step = capacity(self.tree.store.pool.page_size());
        match bytes.is_empty() {
            true => 0..0,
            false => (bytes.start / step) as u32..bytes.end.div_ceil(step) as u32,
        }
    }
}
