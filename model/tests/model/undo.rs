//! The chains of versions: who reads as of a version finds each transaction whole or not at all, though the
//! newest value is in place and its undo record elsewhere.

#[path = "../../../crates/txn/src/undo/records.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod records;
#[path = "../../../crates/txn/src/undo/stamp.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod stamp;

use std::sync::Arc;

use loom::thread;

use crate::check::check;
use crate::inbox::lock;
use crate::page::TreeId;
use crate::sync::{Mutex, Ordering};
use records::UndoLog;
use stamp::Stamp;

/// What `records.rs` knows of the safety net.
mod serializable {
    /// Nobody's reads are kept here.
    #[derive(Default)]
    pub struct Readers;

    impl Readers {
        /// Nothing to forget.
        pub fn forget_up_to(&mut self, _version: u64) {}
    }
}

const TREE: TreeId = TreeId(1);
const KEY: &[u8] = b"k";

/// A tree of one entry with its undo records, and the version that all see.
#[derive(Default)]
struct Database {
    log: UndoLog,
    entry: Mutex<u8>,
    visible: Mutex<u64>,
}

impl Database {
    /// A transaction that changes the entry, and is committed or undone with version 1.
    fn write(&self, is_committed: bool) {
        let stamp: Stamp = self.log.new_stamp();
        let old = [*lock(&self.entry)];
        self.log.record(&stamp, 1, TREE, [(KEY, Some(&old[..]))].into_iter());
        *lock(&self.entry) = 1;
        if !is_committed {
            *lock(&self.entry) = 0;
        }
        self.log.enter(1);
        self.log.end(&mut self.log.state(), &stamp, 1, is_committed.then_some(1));
        let before = std::mem::replace(&mut *lock(&self.visible), 1);
        self.log.leave(before);
    }

    /// The entry as of the version that all see.
    fn read(&self) -> (u64, u8) {
        let version = {
            let visible = lock(&self.visible);
            self.log.enter(*visible);
            *visible
        };
        let found = *lock(&self.entry);
        let seen = self.replaced(version).unwrap_or(found);
        self.log.leave(version);
        (version, seen)
    }

    /// As `ReadView::replaced`: asked after the tree was read.
    fn replaced(&self, version: u64) -> Option<u8> {
        if self.log.newest.load(Ordering::Acquire) <= version {
            return None;
        }
        let state = self.log.state();
        let records = state.tree(TREE)?.of_key(KEY);
        let hidden = records.iter().find(|record| record.stamp.version() > version)?;
        Some(hidden.old.as_ref().expect("it was there")[0])
    }
}

fn reads_are_whole(is_committed: bool) {
    let database = Arc::new(Database::default());
    // The version that all see is read as of.
    database.log.enter(0);
    let writer = {
        let database = Arc::clone(&database);
        thread::spawn(move || database.write(is_committed))
    };
    let reader = {
        let database = Arc::clone(&database);
        thread::spawn(move || database.read())
    };
    for (version, seen) in [database.read(), reader.join().unwrap()] {
        let expected = if is_committed { version as u8 } else { 0 };
        assert_eq!(seen, expected, "as of version {version}");
    }
    writer.join().unwrap();
}

#[test]
fn who_reads_sees_a_transaction_whole_or_not_at_all() {
    check("commit", || reads_are_whole(true));
}

#[test]
fn who_reads_sees_nothing_of_what_is_undone() {
    check("undo", || reads_are_whole(false));
}

#[test]
fn who_sees_that_a_transaction_has_ended_knows_how() {
    for successor in [None, Some(3)] {
        check("stamp", move || {
            let stamp = UndoLog::default().new_stamp();
            let ending = stamp.clone();
            let writer = thread::spawn(move || ending.end(5, successor));
            // Of several loads of one atomic `loom` heeds the last: it begins with another order then.
            thread::yield_now();
            if stamp.version() == 5 {
                assert_eq!(stamp.is_undone(), successor.is_none());
                assert_eq!(stamp.known_successor(), successor);
            }
            assert!(!stamp.is_committed_after(5));
            writer.join().unwrap();
            assert_eq!(stamp.is_committed_after(4), successor.is_some());
        });
    }
}
