//! Checks a whole store: every tree, and that each page is in exactly one place.

use std::collections::HashSet;

use runtime::IoCounters;

use super::{Store, TreeId};
use crate::error::{Damage, Result, StorageError};
use crate::space::Extent;
use crate::tree::{TreeReport, misplaced};

/// What a check of a store has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Each tree, the catalog included.
    pub trees: Vec<(TreeId, TreeReport)>,
    /// Pages of the file, the two header slots included.
    pub page_count: u32,
    /// Pages that no tree holds, besides the directory's.
    pub free_pages: u64,
    /// Pages of the directory.
    pub directory_pages: u32,
    /// Reads that the check has made.
    pub reads: u64,
}

impl Store {
    /// Reads every page of every tree from disk (dirty ones from memory) and checks all there is to
    /// check: checksums, structure, order, counts, and that trees, directory and free space account
    /// for all pages of the file, each once. Holds writers back.
    ///
    /// # Errors
    /// `Corrupt` with the first page found that is not as it should be; `Io`.
    pub async fn verify(&self) -> Result<VerifyReport> {
        let io = IoCounters::default();
        let _no_writers = self.inner.writers.alone().await;
        self.drop_cache().await;
        let mut report = VerifyReport::default();
        let mut seen = HashSet::new();
        for id in self.tree_ids() {
            let tree = self.tree(id)?.verify_into(&io, &mut seen).await?;
            report.trees.push((id, tree));
        }
        let header = self.inner.header.lock().expect("header").clone();
        let directory = Extent { start: header.meta_pid, pages: header.meta_pages };
        report.directory_pages = directory.pages;
        let space = self.inner.space();
        let free = space.free_after_restart(&[]);
        report.page_count = space.page_count();
        report.free_pages = free.iter().map(|extent| u64::from(extent.pages)).sum();
        for pid in free.iter().chain([&directory]).flat_map(|extent| extent.pids()) {
            if !seen.insert(pid) {
                return Err(misplaced(pid, "a page that is free and in use"));
            }
        }
        let all = seen.len() + 2 == report.page_count as usize;
        let lost = (2..report.page_count).find(|pid| !seen.contains(pid));
        match (all, lost) {
            (true, None) => {}
            (_, Some(pid)) => return Err(misplaced(pid, "a page that belongs to nothing")),
            (false, None) => {
                return Err(StorageError::Corrupt { pid: 0, reason: Damage::Directory });
            }
        }
        report.reads = io.reads.load(std::sync::atomic::Ordering::Relaxed);
        Ok(report)
    }
}
