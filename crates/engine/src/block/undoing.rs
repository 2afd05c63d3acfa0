//! Undoing of what a block has changed.

use std::sync::Arc;

use storage::{Store, TreeId, UndoSpace, planted};
use txn::noted::Notes;
use txn::undo::stamp::Stamp;
use txn::waiting::breathe;

use crate::catalog::trees::drop_trees;
use crate::versions::chain::Versions;

/// The changes of a block that was not committed. They hold no handle of the database, whose last
/// one must not be dropped on a worker.
pub(super) struct Undo {
    pub(super) store: Store,
    pub(super) versions: Arc<Versions>,
    pub(super) stamp: Stamp,
    pub(super) notes: Arc<Notes>,
    pub(super) undo: Arc<UndoSpace>,
    pub(super) own: Vec<TreeId>,
}

impl Undo {
    pub(super) async fn run(self) {
        while let Some(noted) = self.notes.last(0) {
            let _change = self.versions.change_right().await;
            if planted::is("rollback-puts-nothing-back") {
                break;
            }
            if noted.put_back(&self.store, &self.undo).await.is_err() {
                return;
            }
            self.notes.pop();
            breathe().await;
        }
        self.versions.undone(&self.stamp, &self.notes);
        for tree in self.own {
            // An error leaves pages that the next start takes back.
            drop_trees(&self.store, &[tree]).await.ok();
        }
    }
}
