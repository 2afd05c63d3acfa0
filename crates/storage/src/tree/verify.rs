//! Checks a whole tree, page by page.

use std::sync::atomic::{AtomicU64, Ordering};

use runtime::IoCounters;

use super::{Tree, misplaced};
use crate::error::Result;
use crate::node::{self, Node};
use crate::overflow::Reference;
use crate::page::{self, PageId, PageKind};
use crate::pageset::PageSet;
use crate::pool::load::RUN_PAGES_MAX;

/// What a check of a tree has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Levels.
    pub height: u32,
    /// Leaves.
    pub leaf_pages: u64,
    /// Inner nodes.
    pub inner_pages: u64,
    /// Entries.
    pub entries: u64,
    /// Pages of long values.
    pub overflow_pages: u64,
}

/// A node to be visited, and what its parent says of it.
struct Expected {
    pid: PageId,
    level: Option<u8>,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
}

impl Tree {
    /// Reads every page of the tree and checks it: structure, order, fences, levels, and the counts
    /// that the store keeps. Nobody may insert meanwhile.
    ///
    /// # Errors
    /// `Corrupt` with the first page that is not as it should be; `Io`.
    pub async fn verify(&self, io: &IoCounters) -> Result<TreeReport> {
        let page_count = self.store.space().page_count();
        self.verify_into(io, &mut PageSet::new(page_count), &AtomicU64::new(0)).await
    }

    /// As `verify`; adds each page to `seen`, and refuses those that are there already. Counts
    /// pages in `done`. Memory: the children of one node per level.
    pub(crate) async fn verify_into(
        &self,
        io: &IoCounters,
        seen: &mut PageSet,
        done: &AtomicU64,
    ) -> Result<TreeReport> {
        let mut report = TreeReport::default();
        let root = Expected { pid: self.shared.root, level: None, lower: Vec::new(), upper: None };
        // Siblings that are to be visited, the next one last.
        let mut waiting = vec![root];
        let mut ahead = 0;
        while let Some(node) = waiting.pop() {
            // Read ahead among the siblings, a window at a time.
            if ahead == 0 {
                ahead = self.store.pool.window(RUN_PAGES_MAX).min(waiting.len() + 1);
                let next = waiting.iter().rev().map(|node| node.pid).take(ahead - 1);
                self.store.pool.prefetch(std::iter::once(node.pid).chain(next), io);
            }
            ahead -= 1;
            seen.insert(node.pid).map_err(|what| misplaced(node.pid, what))?;
            let mut children = Vec::new();
            let look = |page: &[u8]| self.check_node(page, &node, &mut report, &mut children);
            let checked = self.store.pool.read(node.pid, io, look).await?;
            let values = checked.map_err(|what| misplaced(node.pid, what))?;
            for value in values {
                report.overflow_pages += self.verify_value(value, io, seen).await?;
            }
            done.store(seen.len(), Ordering::Relaxed);
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
            if !children.is_empty() {
                waiting.extend(children.into_iter().rev());
                ahead = 0;
            }
        }
        let stats = self.stats();
        let known = TreeReport {
            height: stats.height,
            leaf_pages: stats.leaf_pages,
            inner_pages: stats.inner_pages,
            entries: stats.entries,
            overflow_pages: stats.overflow_pages,
        };
        if known != report {
            return Err(misplaced(self.shared.root, "the tree's counts are wrong"));
        }
        Ok(report)
    }

    /// Reads a long value; returns the number of its pages.
    async fn verify_value(
        &self,
        value: Reference,
        io: &IoCounters,
        seen: &mut PageSet,
    ) -> Result<u64> {
        let extent = value.extent(self.store.pool.page_size());
        if extent.start.checked_add(extent.pages).is_none() {
            return Err(misplaced(extent.start, "a value beyond the end of the file"));
        }
        for pid in extent.pids() {
            seen.insert(pid).map_err(|what| misplaced(pid, what))?;
        }
        self.read_overflow(value, io).await?;
        Ok(u64::from(extent.pages))
    }

    /// Checks a node; returns the references to long values in it.
    fn check_node(
        &self,
        page: &[u8],
        expected: &Expected,
        report: &mut TreeReport,
        next: &mut Vec<Expected>,
    ) -> std::result::Result<Vec<Reference>, &'static str> {
        let node = Node::new(page);
        let kind = if node.is_leaf() { PageKind::Leaf } else { PageKind::Inner };
        if !self.owns(page) || page::kind(page) != Some(kind) {
            return Err("a page of another tree or kind");
        }
        node::verify(page)?;
        // The root is the first one that is visited.
        report.height = report.height.max(u32::from(node.level()) + 1);
        if expected.level.is_some_and(|level| level != node.level()) {
            return Err("a node at the wrong level");
        }
        if node.lower() != expected.lower || node.upper() != expected.upper.as_deref() {
            return Err("fences that differ from the parent's separators");
        }
        if node.is_leaf() {
            report.leaf_pages += 1;
            report.entries += node.count() as u64;
            return Ok(Self::references(&node));
        }
        report.inner_pages += 1;
        for position in 0..node.count() {
            let upper = match position + 1 == node.count() {
                true => expected.upper.clone(),
                false => Some(node.key(position + 1)),
            };
            let (pid, lower) = (node.child(position), node.key(position));
            next.push(Expected { pid, level: Some(node.level() - 1), lower, upper });
        }
        Ok(Vec::new())
    }
}
