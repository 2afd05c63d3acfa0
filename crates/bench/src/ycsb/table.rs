//! The table: one tree, all of it in the pool.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use runtime::{IoCounters, Runtime};
use storage::{Depth, Store, StoreOptions, Tree};
use types::SqlResult;

use super::failed;
use super::keys::{KEY_LEN_MAX, KeyForm};

/// Bytes of a row in its leaf besides the key, generously: value, slot, length, and what a leaf leaves free.
const ROW_BYTES: u64 = 32;

/// Rows whose leaves are read together.
const ROWS_AT_ONCE: usize = 1 << 18;

pub(super) struct Table {
    store: Store,
    /// The same rows in each.
    trees: Vec<Keyed>,
    pub rows: u64,
}

/// The rows, keyed in one way.
struct Keyed {
    form: KeyForm,
    tree: Tree,
    /// The first number that no row has.
    next_row: Arc<AtomicU64>,
}

impl Table {
    /// A new table in a new file, with memory for so many rows more.
    pub fn make(
        runtime: &Runtime,
        folder: &Path,
        rows: u64,
        more_rows: u64,
        forms: Vec<KeyForm>,
    ) -> SqlResult<Table> {
        if rows == 0 {
            return Err(failed("a table without rows"));
        }
        let path = folder.join("ycsb.dovetail");
        let bytes = |form: &KeyForm| ROW_BYTES + form.key(0, &mut [0; KEY_LEN_MAX]).len() as u64;
        let row_bytes: u64 = forms.iter().map(bytes).sum();
        // Leaves that are split are half full at first.
        let pool_bytes = ((rows + 2 * more_rows) * row_bytes) as usize + (64 << 20);
        let options =
            StoreOptions { page_size: 4096, pool_bytes, direct: true, ..StoreOptions::default() };
        runtime.block_on(move || async move {
            let store = Store::create(&path, options).await.map_err(failed)?;
            let mut trees = vec![];
            for form in forms {
                let id = store.create_tree().await.map_err(failed)?;
                let tree = store.tree(id).map_err(failed)?.hashed(form == KeyForm::Hashed);
                fill(&tree, rows, form).await?;
                trees.push(Keyed { form, tree, next_row: Arc::new(AtomicU64::new(rows)) });
            }
            Ok(Table { store, trees, rows })
        })
    }

    /// How its trees are keyed.
    pub fn forms(&self) -> impl Iterator<Item = KeyForm> {
        self.trees.iter().map(|keyed| keyed.form)
    }

    fn keyed(&self, form: KeyForm) -> &Keyed {
        let keyed = self.trees.iter().find(|keyed| keyed.form == form);
        keyed.expect("the table was made with it")
    }

    /// The tree that is keyed so.
    pub fn tree(&self, form: KeyForm) -> Tree {
        self.keyed(form).tree.clone()
    }

    /// The first number that no row of this tree has.
    pub fn next_row(&self, form: KeyForm) -> Arc<AtomicU64> {
        self.keyed(form).next_row.clone()
    }

    /// What the table is, in a line.
    pub fn describe(&self) -> String {
        let (pool, backend) = (self.store.pool(), self.store.backend());
        let size = |keyed: &Keyed| {
            let (form, stats) = (keyed.form, keyed.tree.stats());
            let (leaves, inner) = (stats.leaf_pages, stats.inner_pages);
            format!("{form:?}: {leaves} leaves, {inner} inner nodes, height {}", stats.height)
        };
        let sizes: Vec<String> = self.trees.iter().map(size).collect();
        format!(
            "{} rows; {}; pool of {} pages; {:?}, {} I/O ({})",
            self.rows,
            sizes.join("; "),
            pool.frames,
            backend.kind,
            if backend.direct { "direct" } else { "buffered" },
            backend.reason,
        )
    }

    pub fn close(self, runtime: &Runtime) {
        runtime.block_on(move || async move { self.store.close().await });
    }
}

async fn fill(tree: &Tree, rows: u64, form: KeyForm) -> SqlResult<()> {
    let mut order: Vec<u64> = (0..rows).collect();
    if matches!(form, KeyForm::Scattered | KeyForm::Hashed) {
        order.sort_unstable_by_key(|row| form.number(*row));
    }
    let mut loader = tree.bulk_loader().await.map_err(failed)?;
    let mut place = [0; KEY_LEN_MAX];
    for &row in &order {
        loader.push(form.key(row, &mut place), &row.to_le_bytes()).await.map_err(failed)?;
    }
    loader.finish().await.map_err(failed)?;
    bring_in(tree, &order, form).await
}

/// Reads all leaves: the load writes them past the pool.
async fn bring_in(tree: &Tree, order: &[u64], form: KeyForm) -> SqlResult<()> {
    let (mut place, io) = ([0; KEY_LEN_MAX], IoCounters::default());
    for rows in order.chunks(ROWS_AT_ONCE) {
        // Leaves hold more than sixteen rows each: one of sixteen keys finds all of them.
        let rows = rows.iter().step_by(16);
        let keys: Vec<_> = rows.map(|row| form.key(*row, &mut place).to_vec()).collect();
        tree.get_batch(&keys, Depth::Many, &io, &mut |_, _| ()).await.map_err(failed)?;
    }
    Ok(())
}
