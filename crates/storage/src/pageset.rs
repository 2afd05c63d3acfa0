//! A set of pages of a file, one bit each.

use crate::page::PageId;

/// Which pages of a file were seen.
pub(crate) struct PageSet {
    words: Vec<u64>,
    page_count: u32,
    len: u64,
}

impl PageSet {
    /// The empty set of pages of a file with `page_count` pages.
    pub fn new(page_count: u32) -> PageSet {
        PageSet { words: vec![0; page_count.div_ceil(64) as usize], page_count, len: 0 }
    }

    /// The file has become longer.
    pub fn grow(&mut self, page_count: u32) {
        assert!(page_count >= self.page_count, "a file does not become shorter");
        self.words.resize(page_count.div_ceil(64) as usize, 0);
        self.page_count = page_count;
    }

    /// Adds a page.
    ///
    /// # Errors
    /// In words, when it is in the set already or beyond the end of the file.
    pub fn insert(&mut self, pid: PageId) -> Result<(), &'static str> {
        if pid >= self.page_count {
            return Err("a page beyond the end of the file");
        }
        let (word, bit) = (&mut self.words[pid as usize / 64], 1 << (pid % 64));
        if *word & bit != 0 {
            return Err("a page that is referenced twice");
        }
        *word |= bit;
        self.len += 1;
        Ok(())
    }

    pub fn contains(&self, pid: PageId) -> bool {
        pid < self.page_count && self.words[pid as usize / 64] & 1 << (pid % 64) != 0
    }

    /// Number of pages in the set.
    pub fn len(&self) -> u64 {
        self.len
    }
}
