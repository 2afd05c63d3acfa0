//! The fair lock of writers and checkpoints.

#[path = "../../../crates/storage/src/gate/fair_lock.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod fair_lock_of_storage;

use std::sync::Arc;

use loom::thread;

use crate::check::{block_on, check, poll_once};
use crate::sync::{AtomicU32, Ordering};
use fair_lock_of_storage::FairLock;

/// Who is inside; read and written apart, so that two who are alone at once are seen.
#[derive(Default)]
struct Room {
    lock: FairLock,
    together: AtomicU32,
    is_taken: AtomicU32,
}

impl Room {
    fn alone(&self) {
        let pass = block_on(self.lock.exclusive());
        assert_eq!(self.is_taken.load(Ordering::Relaxed), 0, "two are alone");
        self.is_taken.store(1, Ordering::Relaxed);
        assert_eq!(self.together.load(Ordering::Relaxed), 0, "somebody is inside");
        self.is_taken.store(0, Ordering::Relaxed);
        drop(pass);
    }

    fn together(&self) {
        let pass = block_on(self.lock.shared());
        self.together.fetch_add(1, Ordering::Relaxed);
        assert_eq!(self.is_taken.load(Ordering::Relaxed), 0, "somebody is alone");
        self.together.fetch_sub(1, Ordering::Relaxed);
        drop(pass);
    }
}

#[test]
fn who_is_alone_is_alone_and_everybody_gets_in() {
    check("fair lock", || {
        let room = Arc::new(Room::default());
        let others = [Room::alone as fn(&Room), Room::together].map(|enter| {
            let room = Arc::clone(&room);
            thread::spawn(move || enter(&room))
        });
        room.together();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn who_leaves_the_queue_holds_nobody_back() {
    check("fair lock, leaving", || {
        let room = Arc::new(Room::default());
        let inside = block_on(room.lock.shared());
        let leaver = {
            let room = Arc::clone(&room);
            thread::spawn(move || drop(poll_once(room.lock.exclusive())))
        };
        let other = {
            let room = Arc::clone(&room);
            thread::spawn(move || room.together())
        };
        // The other one gets in while this one is inside.
        other.join().unwrap();
        drop(inside);
        leaver.join().unwrap();
    });
}
