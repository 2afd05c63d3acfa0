//! A back end with a tree of its own, in a pool that holds a share of it.

use std::path::{Path, PathBuf};

use engine::SqlResult;
use runtime::{Config, RingChoice, Runtime};
use storage::{Depth, Store, StoreOptions, Tree, TreeId};

use super::{LEAF_COUNT, PAGE_BYTES, ROWS_PER_LEAF, Speed, failed, key, speed, warm};

/// A back end with a tree of its own.
pub(super) struct Machine {
    runtime: Runtime,
    pub(super) path: PathBuf,
    id: TreeId,
    pages: u64,
}

impl Machine {
    pub(super) fn start(path: PathBuf, ring: RingChoice) -> SqlResult<Machine> {
        let config = Config { workers: 1, ring, attack: false, ..Config::default() };
        let runtime = Runtime::start(config).map_err(failed)?;
        for report in runtime.rings() {
            eprintln!("ring {:?}: {}", report.kind, report.reason);
        }
        let (id, pages) = fill(&runtime, &path)?;
        Ok(Machine { runtime, path, id, pages })
    }

    /// The tree with a pool for `share` percent of its pages, which is full.
    pub(super) fn opened(&self, share: u64) -> SqlResult<Side<'_>> {
        let (store, tree) = opened(&self.runtime, &self.path, self.id, self.pages, share)?;
        warm(&self.runtime, &tree, share)?;
        Ok(Side { runtime: &self.runtime, store, tree })
    }
}

/// A back end that has its tree open.
pub(super) struct Side<'a> {
    pub(super) runtime: &'a Runtime,
    store: Store,
    tree: Tree,
}

impl Side<'_> {
    pub(super) fn speed(&self, tasks: usize, batch: usize, depth: Depth) -> SqlResult<Speed> {
        speed(self.runtime, &self.tree, tasks, batch, depth)
    }

    pub(super) fn close(self) {
        let (store, tree) = (self.store, self.tree);
        self.runtime.block_on(move || async move {
            drop(tree);
            store.close().await;
        });
    }
}

/// Writes the tree; its id and number of pages.
fn fill(runtime: &Runtime, path: &Path) -> SqlResult<(TreeId, u64)> {
    let path = path.to_owned();
    runtime.block_on(move || async move {
        let options = StoreOptions { pool_bytes: 64 << 20, ..StoreOptions::default() };
        let store = Store::create(&path, options).await.map_err(failed)?;
        let id = store.create_tree().await.map_err(failed)?;
        let tree = store.tree(id).map_err(failed)?;
        let mut loader = tree.bulk_loader().await.map_err(failed)?;
        for row in 0..LEAF_COUNT * ROWS_PER_LEAF {
            loader.push(&key(row), &[row as u8; 100]).await.map_err(failed)?;
        }
        loader.finish().await.map_err(failed)?;
        let stats = tree.stats();
        store.checkpoint().await.map_err(failed)?;
        store.close().await;
        Ok((id, stats.leaf_pages + stats.inner_pages))
    })
}

/// The file with a pool for `share` percent of its pages; the least one for 0.
fn opened(
    runtime: &Runtime,
    path: &Path,
    id: TreeId,
    pages: u64,
    share: u64,
) -> SqlResult<(Store, Tree)> {
    let path = path.to_owned();
    // The inner nodes, two in a hundred pages, and frames for reads in flight are there in any case.
    let least = pages / 50 + 1024;
    let frames = (pages * share / 100).max(least) + if share == 100 { least } else { 0 };
    let pool_bytes = frames as usize * PAGE_BYTES;
    runtime.block_on(move || async move {
        let options = StoreOptions { pool_bytes, ..StoreOptions::default() };
        let store = Store::open(&path, options).await.map_err(failed)?;
        let tree = store.tree(id).map_err(failed)?;
        Ok((store, tree))
    })
}
