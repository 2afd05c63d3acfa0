//! The log's hand-over: who commits puts a version behind the others, one publication takes what is pending,
//! and everybody is told when his own is durable.

#[path = "../../../crates/engine/src/versions/turns.rs"]
mod turns;

use std::sync::Arc;

use loom::thread;

use crate::check::{block_on, check};
use crate::inbox::lock;
use crate::sync::{Mutex, WaitQueue};
use turns::Turns;

/// The versions of a database, as far as the hand-over goes.
struct Versions {
    publications: Turns,
    catalogs: Mutex<Catalogs>,
    published: WaitQueue,
}

#[derive(Default)]
struct Catalogs {
    newest: u64,
    durable: u64,
    pending: Vec<u64>,
    logged: Vec<u64>,
}

impl Versions {
    fn new() -> Arc<Versions> {
        let (publications, published) = (Turns::new(), WaitQueue::new());
        Arc::new(Versions { publications, catalogs: Mutex::default(), published })
    }

    fn commit(self: &Arc<Versions>) {
        let version = {
            let mut catalogs = lock(&self.catalogs);
            catalogs.newest += 1;
            let version = catalogs.newest;
            catalogs.pending.push(version);
            version
        };
        if self.publications.request() {
            let versions = Arc::clone(self);
            thread::spawn(move || block_on(versions.publish()));
        }
        let is_durable = || (lock(&self.catalogs).durable >= version).then_some(());
        block_on(self.published.wait(is_durable));
        assert!(lock(&self.catalogs).logged.contains(&version), "acknowledged, and not logged");
    }

    async fn publish(&self) {
        let _turn = self.publications.begin().await;
        let (taken, newest) = {
            let mut catalogs = lock(&self.catalogs);
            (std::mem::take(&mut catalogs.pending), catalogs.newest)
        };
        if !taken.is_empty() {
            let mut catalogs = lock(&self.catalogs);
            assert!(catalogs.durable < newest, "publications overtake each other");
            catalogs.logged.extend(taken);
            catalogs.durable = newest;
        }
        self.published.wake_all();
    }
}

#[test]
fn what_is_committed_is_published_once_and_in_order() {
    check("publications", || {
        let versions = Versions::new();
        let other = {
            let versions = Arc::clone(&versions);
            thread::spawn(move || versions.commit())
        };
        versions.commit();
        other.join().unwrap();
        assert_eq!(lock(&versions.catalogs).logged, [1, 2]);
    });
}
