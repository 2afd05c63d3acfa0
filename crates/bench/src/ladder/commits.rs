//! Group commit: what was changed while a frame of the log was written is the next frame.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use runtime::sync::{Semaphore, WaitQueue};
use storage::{Redo, Store, TreeId};
use types::SqlResult;

use super::failed;

/// Bytes of the log that a frame takes beside its changes, generously.
const FRAME_BYTES: usize = 8192;

/// Of the transactions of one worker.
pub(super) struct Commits {
    store: Store,
    next: RefCell<Redo>,
    /// The number of the frame that changes go into now; those below `durable` are on the disk.
    frame: Cell<u64>,
    durable: Cell<u64>,
    is_writing: Cell<bool>,
    is_tended: Cell<bool>,
    /// Of the one who writes a frame or makes a checkpoint.
    turn: Semaphore,
    written: WaitQueue,
}

impl Commits {
    pub fn new(store: Store) -> Commits {
        Commits {
            store,
            next: RefCell::default(),
            frame: Cell::new(1),
            durable: Cell::new(0),
            is_writing: Cell::new(false),
            is_tended: Cell::new(false),
            turn: Semaphore::new(1),
            written: WaitQueue::new(),
        }
    }

    /// Makes a change durable that the tree has already.
    pub async fn commit(self: &Rc<Self>, tree: TreeId, key: &[u8], value: &[u8]) -> SqlResult<()> {
        self.next.borrow_mut().push(tree, key, Some(value));
        let mine = self.frame.get();
        while self.durable.get() < mine {
            if self.is_writing.get() {
                let ended = || (self.durable.get() >= mine || !self.is_writing.get()).then_some(());
                self.written.wait(ended).await;
                continue;
            }
            self.is_writing.set(true);
            let logged = self.write().await;
            self.is_writing.set(false);
            self.written.wake_all();
            logged?;
        }
        self.tend();
        Ok(())
    }

    /// Writes what is there as one frame, or, where the log has no room for it, makes a checkpoint.
    async fn write(&self) -> SqlResult<()> {
        let _turn = self.turn.acquire().await;
        let (frame, redo) = (self.frame.get(), self.next.take());
        self.frame.set(frame + 1);
        let written = if self.store.log_room() < redo.len() + FRAME_BYTES {
            self.store.checkpoint_without(Redo::default()).await
        } else {
            self.store.log(redo).await
        };
        self.durable.set(frame);
        written.map_err(failed)
    }

    /// Begins a checkpoint beside the transactions when the log is half full.
    fn tend(self: &Rc<Self>) {
        let (used, all) = self.store.log_usage();
        if used < all / 2 || self.is_tended.replace(true) {
            return;
        }
        let commits = Rc::clone(self);
        drop(runtime::spawn(async move {
            // A failure shows at the next frame: the store is poisoned then.
            drop(commits.store.flush().await);
            let turn = commits.turn.acquire().await;
            drop(commits.store.checkpoint_without(Redo::default()).await);
            drop(turn);
            commits.is_tended.set(false);
        }));
    }
}
