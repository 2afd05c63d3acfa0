//! Checks a whole store: every tree, and that each page is in exactly one place.

use std::sync::atomic::{AtomicU64, Ordering};

use runtime::IoCounters;

use super::Store;
use crate::error::{Result, StorageError};
use crate::extent::Extent;
use crate::page::PageId;
use crate::pageset::PageSet;
use crate::tree::misplaced;
use crate::tree::verify::TreeReport;
use crate::tree_id::TreeId;

/// What a check of a store has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Each intact tree, the catalog included.
    pub trees: Vec<(TreeId, TreeReport)>,
    /// Pages of the file, the two header slots included.
    pub page_count: u32,
    /// Pages that no tree holds, besides the directory's.
    pub free_pages: u64,
    /// Pages of the directory.
    pub directory_pages: u32,
    /// Pages of the log.
    pub log_pages: u32,
    /// Reads that the check has made.
    pub reads: u64,
    /// What is damaged: the first finding of each tree, and of the accounts of pages.
    pub problems: Vec<Problem>,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The tree in which it is, if it is in one.
    pub tree: Option<TreeId>,
    /// What it is.
    pub error: StorageError,
}

impl Store {
    /// Reads every page of every tree from disk (dirty ones from memory) and checks all there is to
    /// check: checksums, structure, order, counts, and that trees, directory and free space account
    /// for all pages of the file, each once. Holds writers back.
    ///
    /// # Errors
    /// `Corrupt` with the first page found that is not as it should be; `Io`.
    pub async fn verify(&self) -> Result<VerifyReport> {
        let mut report = self.survey(&AtomicU64::new(0)).await?;
        match report.problems.is_empty() {
            true => Ok(report),
            false => Err(report.problems.swap_remove(0).error),
        }
    }

    /// As `verify`, but goes on with the next tree after one that is damaged: all findings are in
    /// the report. Counts pages in `done`, up to `page_counts`.
    ///
    /// # Errors
    /// `Io` and the like: what is no damage.
    pub async fn survey(&self, done: &AtomicU64) -> Result<VerifyReport> {
        let io = IoCounters::default();
        // Not the turn of checkpoints: a backup has that as long as it copies, and who surveys may keep writers
        // waiting.
        let _with_header = self.inner.headless.acquire().await;
        let _no_writers = self.inner.writers.exclusive().await;
        self.drop_cache().await;
        let page_count = self.inner.space().page_count();
        let mut report = VerifyReport { page_count, ..VerifyReport::default() };
        let mut seen = PageSet::new(page_count);
        for id in self.tree_ids() {
            match self.tree(id)?.verify_into(&io, &mut seen, done).await {
                Ok(tree) => report.trees.push((id, tree)),
                Err(error @ StorageError::Corrupt { .. }) => {
                    report.problems.push(Problem { tree: Some(id), error });
                }
                Err(error) => return Err(error),
            }
        }
        // What a damaged tree holds besides cannot be known.
        let whole = report.problems.is_empty();
        if let Err(error) = self.account(&mut report, &mut seen, whole).await {
            report.problems.push(Problem { tree: None, error });
        }
        report.reads = io.reads.load(Ordering::Relaxed);
        Ok(report)
    }

    /// Checks that directory, free space and trees share the pages of the file; that they hold
    /// `all` of them, when the trees are known as a whole.
    async fn account(
        &self,
        report: &mut VerifyReport,
        seen: &mut PageSet,
        all: bool,
    ) -> Result<()> {
        let header = self.inner.header.lock().expect("header").clone();
        let directory = Extent { start: header.meta_pid, pages: header.meta_pages };
        report.directory_pages = directory.pages;
        report.log_pages = header.log.pages;
        let free = {
            // Loads and the double-write buffer may have taken pages since the survey began.
            let space = self.inner.space();
            report.page_count = space.page_count();
            space.free_after_restart(&[])
        };
        seen.grow(report.page_count);
        report.free_pages = free.iter().map(|extent| u64::from(extent.pages)).sum();
        let map = self.inner.pool.map.as_ref();
        // Where pages lie out of place these have no numbers.
        let others = [Some(directory), header.log.extent()].into_iter().flatten();
        let others: Vec<Extent> = others.filter(|_| map.is_none()).collect();
        if let Some(map) = map {
            self.inner.account_places(map, directory).await?;
        }
        for pid in free.iter().chain(&others).flat_map(|extent| extent.pids()) {
            seen.insert(pid).map_err(|_| misplaced(pid, "a page that is free and in use"))?;
        }
        let lost: Option<PageId> = (2..report.page_count).find(|pid| !seen.contains(*pid));
        match lost.filter(|_| all) {
            Some(pid) => Err(misplaced(pid, "a page that belongs to nothing")),
            None => Ok(()),
        }
    }
}
