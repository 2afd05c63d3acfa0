//! Building a table of shortcuts from the nodes above the leaves, as far as they are in the pool.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::PATIENCE;
use super::places::Survey;
use crate::node::Node;
use crate::page::PageId;
use crate::store::StoreInner;
use crate::tree::Tree;
use crate::tree::shared::TreeShared;
use crate::tree::shortcuts::{HEIGHT_MIN, SEARCHES_PER_LEAF};

/// Places that are written between two looks at whether others wait.
const PLACES_AT_ONCE: usize = 1024;

/// Starts the task that builds; the caller has set `building`.
pub(super) fn start(tree: &Tree) {
    let job = Job { store: Arc::downgrade(&tree.store), shared: Arc::downgrade(&tree.shared) };
    drop(runtime::spawn(async move {
        let built = job.build().await.is_some();
        job.with(|tree| {
            let patience = if built { 1 } else { PATIENCE };
            tree.shared.shortcuts.patience.store(patience, Ordering::Relaxed);
        });
    }));
}

/// Holds neither store nor tree while it waits: both may be closed or dropped meanwhile.
struct Job {
    store: Weak<StoreInner>,
    shared: Weak<TreeShared>,
}

impl Drop for Job {
    fn drop(&mut self) {
        self.with(|tree| {
            tree.shared.shortcuts.searches.store(0, Ordering::Relaxed);
            tree.shared.shortcuts.building.store(false, Ordering::Relaxed);
        });
    }
}

impl Job {
    fn with<R>(&self, f: impl FnOnce(&Tree) -> R) -> Option<R> {
        let tree = Tree::new(self.store.upgrade()?, self.shared.upgrade()?);
        Some(f(&tree))
    }

    /// `None` when a node was not in the pool, memory is short, or heads tell too few leaves apart.
    async fn build(&self) -> Option<()> {
        let loads = self.with(|tree| tree.shared.shortcuts.loads.load(Ordering::Acquire))?;
        let mut survey = Survey::new();
        self.walk(|fence, _| survey.add(fence)).await?;
        let places = survey.places();
        let mut leaves: Vec<(u64, PageId)> = Vec::new();
        self.walk(|fence, pid| leaves.push((places.head(fence), pid))).await?;
        let kept = keep_distinct(&mut leaves);
        if 2 * kept < leaves.len() {
            return None;
        }
        let begin = |tree: &Tree| {
            let shortcuts = &tree.shared.shortcuts;
            let table = shortcuts.room(leaves.len(), &tree.store.pool.shortcuts)?;
            table.used.store(0, Ordering::Relaxed);
            table.places.store(places.pack(), Ordering::Relaxed);
            Some(table.leaf_count_max())
        };
        let place_count = self.with(begin)??;
        self.fill(&leaves, place_count, loads).await
    }

    /// Calls `visit` with the lower fence and the page of each leaf, in order.
    async fn walk(&self, mut visit: impl FnMut(&[u8], PageId)) -> Option<()> {
        let mut next = Some(Vec::new());
        while let Some(from) = next {
            next = self.with(|tree| tree.children_of_parent(&from, &mut visit))??;
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Some(())
    }

    /// Writes the whole table, which others use meanwhile, and has it used.
    async fn fill(&self, leaves: &[(u64, PageId)], place_count: usize, loads: u32) -> Option<()> {
        for begin in (0..place_count).step_by(PLACES_AT_ONCE) {
            let end = place_count.min(begin + PLACES_AT_ONCE);
            self.with(|tree| {
                let shortcuts = &tree.shared.shortcuts;
                let table = shortcuts.room(leaves.len(), &tree.store.pool.shortcuts)?;
                for place in begin..end {
                    // Places behind the last leaf have no key.
                    let (head, pid) = leaves.get(place).copied().unwrap_or((u64::MAX, 0));
                    table.set(place, head, pid);
                }
                Some(())
            })??;
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        self.with(|tree| {
            let table = tree.shared.shortcuts.room(leaves.len(), &tree.store.pool.shortcuts)?;
            table.used.store(leaves.len(), Ordering::Relaxed);
            tree.shared.shortcuts.uses(table, loads);
            Some(())
        })?
    }
}

/// Takes the page from leaves whose head others have as well: a key with that head may be in any of
/// them. How many are left.
fn keep_distinct(leaves: &mut [(u64, PageId)]) -> usize {
    for run in leaves.chunk_by_mut(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
        run.iter_mut().for_each(|leaf| leaf.1 = 0);
    }
    leaves.iter().filter(|leaf| leaf.1 != 0).count()
}

impl Tree {
    /// Calls `visit` with the fence and page of each leaf below the node above the leaves that is
    /// responsible for `from`; the next such node's lower fence, or none behind the last one. `None`
    /// when a node is not in the pool, or has changed meanwhile, or there is none.
    fn children_of_parent(
        &self,
        from: &[u8],
        visit: &mut dyn FnMut(&[u8], PageId),
    ) -> Option<Option<Vec<u8>>> {
        let mut pid = self.shared.root;
        loop {
            let look = |page: &[u8]| {
                let node = Node::new(page);
                if !self.owns(page) || !node.covers(from) || node.is_leaf() {
                    return None;
                }
                if node.level() > 1 {
                    return Some(Err(node.child(node.child_position(from))));
                }
                let mut key = Vec::new();
                for position in 0..node.count() {
                    node.key_into(position, &mut key);
                    visit(&key, node.child(position));
                }
                Some(Ok(node.upper().map(<[u8]>::to_vec)))
            };
            match self.store.pool.peek(pid, look)?? {
                Ok(next) => return Some(next),
                Err(child) => pid = child,
            }
        }
    }
}

impl Tree {
    /// So many searches came from the root. After many of them a table is built.
    #[inline]
    pub(crate) fn came_from_root(&self, count: u64) {
        let shared = &self.shared;
        if shared.height.load(Ordering::Relaxed) >= HEIGHT_MIN {
            self.count_searches(count);
        }
    }

    fn count_searches(&self, count: u64) {
        let shortcuts = &self.shared.shortcuts;
        let leaf_count = self.shared.leaf_pages.load(Ordering::Relaxed);
        let patience = shortcuts.patience.load(Ordering::Relaxed).max(1);
        let due = (leaf_count as f64 * SEARCHES_PER_LEAF) as u64 * patience;
        if shortcuts.searches.fetch_add(count, Ordering::Relaxed) >= due
            && !shortcuts.building.swap(true, Ordering::Relaxed)
        {
            start(self);
        }
    }
}
