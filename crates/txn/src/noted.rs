//! What a transaction has replaced in trees that others see: to put it back, and to leave it out of a
//! checkpoint.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::IoCounters;
use storage::{Redo, Store, Tree, UndoSpace};
use types::SqlResult;

use crate::fault;
use crate::undo::records::RECORD_BYTES_MAX;

/// Bytes that transactions note to put back, all together; beyond them tables are written anew. They stay
/// in memory until the transactions end, and a quarter of the undo records leaves room for those that
/// others read.
pub const NOTED_BYTES_MAX: usize = RECORD_BYTES_MAX / 4;

/// An entry as it was before a step of a transaction changed it.
#[derive(Clone)]
pub struct Noted {
    /// The tree of the entry.
    pub tree: Tree,
    /// Its key.
    pub key: Vec<u8>,
    /// Its value; `None` if it was not there.
    pub old: Option<Vec<u8>>,
}

/// Those of one transaction, in the order of its steps.
#[derive(Default)]
pub struct Notes(Mutex<State>);

#[derive(Default)]
struct State {
    noted: Vec<Noted>,
    bytes: usize,
}

impl Notes {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.state().noted.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more.
    pub fn push(&self, noted: Noted) {
        let mut state = self.state();
        state.bytes += noted_bytes(&noted.key, noted.old.as_deref());
        state.noted.push(noted);
    }

    /// The last one behind the first `kept`.
    pub fn last(&self, kept: usize) -> Option<Noted> {
        self.state().noted[kept..].last().cloned()
    }

    /// The last one has been put back.
    pub fn pop(&self) {
        let mut state = self.state();
        if let Some(noted) = state.noted.pop() {
            state.bytes -= noted_bytes(&noted.key, noted.old.as_deref());
        }
    }

    /// Says what the entries were before the transaction: the first note of an entry counts, as the last
    /// change in a log does.
    pub fn log(&self, replaced: &mut Redo) {
        for noted in self.state().noted.iter().rev() {
            replaced.push(noted.tree.id(), &noted.key, noted.old.as_deref());
        }
    }
}

impl Noted {
    /// Makes the entry what it was, in pages that are held for that. The store gives up when that
    /// fails: what is half undone must not become durable.
    pub async fn put_back(&self, store: &Store, undo: &Arc<UndoSpace>) -> SqlResult<()> {
        let done = self.set(undo).await;
        if let Err(error) = &done {
            store.give_up(&format!("a transaction could not be undone: {error}"));
        }
        done
    }

    async fn set(&self, undo: &Arc<UndoSpace>) -> SqlResult<()> {
        let (tree, key, io) = (self.tree.undoing(undo), &self.key, IoCounters::default());
        match &self.old {
            None => tree.delete(key, &io).await.map(drop),
            Some(old) => match tree.replace(key, old, &io).await {
                Ok(false) => tree.insert(key, old).await.map(drop),
                done => done.map(drop),
            },
        }
        .map_err(fault::storage)
    }
}

/// What it takes to note an entry.
pub fn noted_bytes(key: &[u8], old: Option<&[u8]>) -> usize {
    size_of::<Noted>() + key.len() + old.map_or(0, <[u8]>::len)
}
