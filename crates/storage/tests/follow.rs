//! Copies that follow an archive (`docs/format/archive.md`, section 6): what they show is a state
//! that the database had, whatever the power does, and stores that are open keep theirs.

mod simulated;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runtime::fs::{File, OpenOptions};
use runtime::sim::{Disk, FaultPlan};
use runtime::{IoBuf, IoCounters, fs};
use simulated::simulated;
use storage::{
    Advanced, ArchiveOptions, Courier, FollowError, Follower, Inbox, Redo, SegmentPlace, Store,
    StoreOptions, Tree, follows,
};

const PATH: &str = "/database";
const FOLDER: &str = "/archive";
const COPY: &str = "/copy";
const ROWS: u32 = 300;

fn options() -> StoreOptions {
    StoreOptions { pool_bytes: 64 * 4096, log: true, direct: false, ..StoreOptions::default() }
}

fn archived() -> StoreOptions {
    let archive = ArchiveOptions { folder: FOLDER.into(), tell: Arc::new(|_: &str| {}) };
    StoreOptions { archive: Some(archive), ..options() }
}

fn key(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}

/// Commits one number to all of some rows: who sees two numbers sees half of a commit.
async fn commit(store: &Store, tree: &Tree, number: u32, is_logged: bool) {
    let io = IoCounters::default();
    let mut redo = Redo::default();
    for row in (0..ROWS).step_by(7) {
        assert!(tree.replace(&key(row), &value(number), &io).await.unwrap());
        redo.push(tree.id(), &key(row), Some(&value(number)));
    }
    match is_logged {
        true => store.log(redo).await.unwrap(),
        false => store.checkpoint().await.unwrap(),
    }
}

fn value(number: u32) -> [u8; 100] {
    let mut value = [0; 100];
    value[..4].copy_from_slice(&number.to_be_bytes());
    value
}

async fn created() -> (Store, Tree) {
    let store = Store::create(PATH.as_ref(), archived()).await.unwrap();
    let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
    for row in 0..ROWS {
        tree.insert(&key(row), &value(0)).await.unwrap();
    }
    store.checkpoint().await.unwrap();
    store.back_up(COPY.as_ref(), Arc::new(|_| true)).await.unwrap();
    (store, tree)
}

/// The number that all rows of a commit have.
async fn seen(store: &Store) -> u32 {
    store.verify().await.unwrap();
    let id = store.tree_ids().into_iter().max().expect("there are trees");
    let (tree, io) = (store.tree(id).unwrap(), IoCounters::default());
    let mut numbers = BTreeMap::new();
    for row in 0..ROWS {
        let number = |value: &[u8]| u32::from_be_bytes(value[..4].try_into().unwrap());
        let found = tree.get(&key(row), &io, number).await.unwrap().expect("no row is lost");
        numbers.entry(row % 7 == 0).or_insert_with(Vec::new).push(found);
    }
    assert!(numbers[&false].iter().all(|number| *number == 0));
    let first = numbers[&true][0];
    assert!(numbers[&true].iter().all(|number| *number == first), "half of a commit");
    first
}

async fn opened(follower: &mut Follower) -> Store {
    follower.open_store(&options(), &Arc::default()).await.unwrap()
}

#[test]
fn what_the_archive_gets_is_seen_and_open_stores_keep_their_state() {
    let disk = Disk::new(3);
    simulated(&disk, || async {
        let (store, tree) = created().await;
        let mut follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
        let mut open = vec![(opened(&mut follower).await, 0)];
        for number in 1..40 {
            commit(&store, &tree, number, number % 5 > 0).await;
            store.archived().await;
            match follower.advance().await.unwrap() {
                Advanced::Nothing => panic!("commit {number} has not come"),
                Advanced::Commits(changes) => {
                    assert!(number % 5 > 0 && changes.len() == ROWS.div_ceil(7) as usize);
                    let new = changes.values().all(|new| new.as_deref() == Some(&value(number)));
                    assert!(new, "commit {number} says what it has done");
                }
                Advanced::State => assert!(number % 5 == 0, "commit {number} is in a frame"),
            }
            assert_eq!(follower.advance().await.unwrap(), Advanced::Nothing);
            open.push((opened(&mut follower).await, number));
            if number % 9 == 0 {
                open.remove(1);
            }
        }
        for (store, number) in &open {
            assert_eq!(seen(store).await, *number);
        }
    });
}

#[test]
fn a_copy_goes_on_where_it_was() {
    let disk = Disk::new(4);
    simulated(&disk, || async {
        let (store, tree) = created().await;
        for number in 1..20 {
            commit(&store, &tree, number, number % 4 > 0).await;
            store.archived().await;
            assert_eq!(follows(COPY.as_ref()).await.unwrap(), number > 1);
            let mut follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
            assert_eq!(seen(&opened(&mut follower).await).await, number);
        }
        let follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
        follower.release().await.unwrap();
        // It is a database like any other.
        let promoted = Store::open(COPY.as_ref(), options()).await.unwrap();
        assert_eq!(seen(&promoted).await, 19);
        promoted.close().await;
        let refused = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.err();
        assert_eq!(refused, Some(FollowError::NotArchived));
    });
}

#[test]
fn what_is_not_its_own_is_refused() {
    let disk = Disk::new(5);
    simulated(&disk, || async {
        let (store, tree) = created().await;
        commit(&store, &tree, 1, false).await;
        store.archived().await;
        let refused = Follower::open(COPY.as_ref(), "/elsewhere".as_ref()).await.err();
        assert!(refused.is_some(), "a folder that does not exist");
        let mut follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
        commit(&store, &tree, 2, false).await;
        commit(&store, &tree, 3, false).await;
        store.archived().await;
        let mut names = fs::list(FOLDER).await.unwrap();
        names.sort();
        let before_last = names.len() - 2;
        fs::remove(format!("{FOLDER}/{}", names[before_last])).await.unwrap();
        let mut outcome = Ok(Advanced::Nothing);
        for _ in 0..30 {
            outcome = outcome.and(follower.advance().await);
        }
        assert!(matches!(outcome, Err(FollowError::Gap(_))), "{outcome:?}");
        // Its own database is no copy.
        assert!(Follower::open(PATH.as_ref(), FOLDER.as_ref()).await.is_err());
    });
}

/// A database that is changed while a copy follows it, until the power fails.
async fn both(rounds: u32) {
    let (store, tree) = created().await;
    let mut follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
    for number in 1..rounds {
        commit(&store, &tree, number, number % 3 > 0).await;
        store.archived().await;
        follower.advance().await.unwrap();
    }
    store.close().await;
}

#[test]
fn power_cuts_leave_a_state_that_the_database_had() {
    let rounds = 12;
    let whole = Disk::new(6);
    simulated(&whole, move || both(rounds));
    let writes = whole.write_count();
    let seeds: u64 =
        std::env::var("DOVETAIL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
    let (mut torn, mut followed) = (0, 0);
    for seed in 0..seeds {
        let disk = Disk::new(seed);
        let at = writes / 5 + (writes * 4 / 5) * seed / seeds;
        disk.faults(FaultPlan { crash_at_write: Some(at), ..FaultPlan::default() });
        let cut = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            simulated(&disk, move || both(rounds));
        }));
        torn += u32::from(cut.is_err());
        let disk = disk.crash(seed);
        let exists = disk.contents(COPY).is_some();
        let recovered = move || async move {
            if !exists || !follows(COPY.as_ref()).await.unwrap() {
                return false;
            }
            // The archive comes first: the database gives it what it lacks.
            let store = Store::open(PATH.as_ref(), archived()).await.unwrap();
            let now = seen(&store).await;
            store.archived().await;
            let mut follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
            assert_eq!(seen(&opened(&mut follower).await).await, now, "seed {seed}");
            true
        };
        followed += u32::from(simulated(&disk, recovered));
    }
    assert!(torn > 0, "some cuts came in time");
    assert!(followed * 2 > torn, "most copies followed by then: {followed} of {torn}");
}

/// Brings what the archive has into the folder of a copy.
async fn carry(store: &Store, spool: &str, pieces_max: usize) {
    let mut inbox = Inbox::open(spool.as_ref(), COPY.as_ref()).await.unwrap();
    let synced = store.archived_to();
    let mut courier = Courier::open(FOLDER.as_ref(), inbox.place(), synced).await.unwrap();
    for _ in 0..pieces_max {
        let Some(shipment) = courier.next(store.archived_to()).await.unwrap() else { return };
        inbox.take(shipment).await.unwrap();
    }
}

#[test]
fn segments_come_piece_by_piece_and_go_on_where_they_were() {
    let disk = Disk::new(8);
    simulated(&disk, || async {
        let (store, tree) = created().await;
        let spool = "/spool";
        // A segment that came with an earlier copy is in the way of nothing.
        fs::create_dir(spool).await.unwrap();
        let earlier = format!("{spool}/{:016x}-{:016x}.segment", 7, 999);
        let options = OpenOptions { write: true, create_new: true, ..OpenOptions::default() };
        drop(File::open(&earlier, options).await.unwrap());
        carry(&store, spool, usize::MAX).await;
        let mut follower = Follower::open(COPY.as_ref(), spool.as_ref()).await.unwrap();
        for number in 1..30 {
            commit(&store, &tree, number, number % 4 > 0).await;
            store.archived().await;
            // The connection is lost after some pieces.
            carry(&store, spool, number as usize % 3).await;
            follower.advance().await.unwrap();
            let seen_now = seen(&opened(&mut follower).await).await;
            assert!(seen_now <= number, "a state that the database had");
            follower.prune().await.unwrap();
        }
        carry(&store, spool, usize::MAX).await;
        follower.advance().await.unwrap();
        assert_eq!(seen(&opened(&mut follower).await).await, 29);
        follower.prune().await.unwrap();
        assert!(fs::list(spool).await.unwrap().len() <= 2, "what is not needed is gone");
        let elsewhere = SegmentPlace { line: 1, checkpoint: 1, offset: 0 };
        let refused = Courier::open(FOLDER.as_ref(), elsewhere, store.archived_to()).await.err();
        assert_eq!(refused, Some(FollowError::Unknown { checkpoint: 1 }));
    });
}

/// The copy as a database of its own.
async fn promoted(follower: Follower) -> u32 {
    follower.release().await.unwrap();
    let store = Store::open(COPY.as_ref(), options()).await.unwrap();
    let number = seen(&store).await;
    store.close().await;
    number
}

#[test]
fn errors_of_the_disk_cost_no_state() {
    for seed in 0..20 {
        let disk = Disk::new(seed);
        let faulty = disk.clone();
        simulated(&disk, move || async move {
            let (store, tree) = created().await;
            let mut follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
            let errors = FaultPlan {
                write_error: 0.2,
                sync_error: 0.1,
                read_error: 0.02,
                ..FaultPlan::default()
            };
            let mut failed = 0;
            for number in 1..30 {
                commit(&store, &tree, number, number % 4 > 0).await;
                store.archived().await;
                faulty.faults(errors.clone());
                failed += u32::from(follower.advance().await.is_err());
                faulty.faults(FaultPlan::default());
                if number % 7 == 0 {
                    follower.advance().await.unwrap();
                    assert_eq!(seen(&opened(&mut follower).await).await, number, "seed {seed}");
                }
            }
            assert!(failed > 0, "some attempts failed");
            follower.advance().await.unwrap();
            assert!(follower.is_whole().await.unwrap());
            assert_eq!(promoted(follower).await, 29, "seed {seed}");
        });
    }
}

/// The newest segment of the folder.
async fn last_segment(folder: &str) -> String {
    let mut names = fs::list(folder).await.unwrap();
    names.retain(|name| name.ends_with(".segment"));
    format!("{folder}/{}", names.into_iter().max().expect("there is a segment"))
}

async fn file_to_write(path: &str) -> File {
    let options = OpenOptions { read: true, write: true, ..OpenOptions::default() };
    File::open(path, options).await.unwrap()
}

#[test]
fn a_damaged_segment_leaves_the_copy_a_database() {
    let disk = Disk::new(9);
    simulated(&disk, || async {
        let (store, tree) = created().await;
        let mut follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
        commit(&store, &tree, 1, true).await;
        store.archived().await;
        follower.advance().await.unwrap();
        commit(&store, &tree, 2, false).await;
        store.archived().await;
        // A byte in the middle is one of a page.
        let file = file_to_write(&last_segment(FOLDER).await).await;
        let at = file.len().await.unwrap() / 2;
        file.write_all_at(IoBuf::copy_of(b"x"), at).await.0.unwrap();
        let refused = follower.advance().await;
        assert!(matches!(refused, Err(FollowError::Damaged(_))), "{refused:?}");
        assert!(follower.is_whole().await.unwrap());
        assert_eq!(promoted(follower).await, 1);
    });
}

#[test]
fn a_copy_keeps_frames_that_its_folder_has_lost() {
    let disk = Disk::new(10);
    simulated(&disk, || async {
        let (store, tree) = created().await;
        let spool = "/spool";
        carry(&store, spool, usize::MAX).await;
        let mut follower = Follower::open(COPY.as_ref(), spool.as_ref()).await.unwrap();
        let file = file_to_write(&last_segment(spool).await).await;
        let len = file.len().await.unwrap();
        for number in 1..4 {
            commit(&store, &tree, number, true).await;
            store.archived().await;
            carry(&store, spool, usize::MAX).await;
            follower.advance().await.unwrap();
        }
        drop(follower);
        file.set_len(len).await.unwrap();
        let mut follower = Follower::open(COPY.as_ref(), spool.as_ref()).await.unwrap();
        assert_eq!(seen(&opened(&mut follower).await).await, 3);
        commit(&store, &tree, 4, true).await;
        store.archived().await;
        carry(&store, spool, usize::MAX).await;
        follower.advance().await.unwrap();
        assert_eq!(seen(&opened(&mut follower).await).await, 4);
    });
}

#[test]
fn records_that_are_written_again_are_read_again_and_sent_once() {
    let disk = Disk::new(11);
    let faulty = disk.clone();
    simulated(&disk, move || async move {
        let (store, tree) = created().await;
        let spool = "/spool";
        carry(&store, spool, usize::MAX).await;
        let mut follower = Follower::open(COPY.as_ref(), FOLDER.as_ref()).await.unwrap();
        let file = file_to_write(&last_segment(FOLDER).await).await;
        let before = file.len().await.unwrap();
        commit(&store, &tree, 1, true).await;
        // The record is written, and cannot be synced.
        faulty.faults(FaultPlan { sync_error: 1.0, ..FaultPlan::default() });
        while file.len().await.unwrap() == before {
            runtime::time::sleep(Duration::from_millis(1)).await;
        }
        follower.advance().await.unwrap();
        assert_eq!(seen(&opened(&mut follower).await).await, 1);
        let synced = store.archived_to().expect("it is archived");
        carry(&store, spool, usize::MAX).await;
        assert_eq!(file_to_write(&last_segment(spool).await).await.len().await.unwrap(), before);
        assert_eq!(synced.offset, before);
        faulty.faults(FaultPlan::default());
        for number in 2..5 {
            commit(&store, &tree, number, true).await;
            store.archived().await;
            follower.advance().await.unwrap();
            carry(&store, spool, usize::MAX).await;
        }
        assert_eq!(seen(&opened(&mut follower).await).await, 4);
        drop(follower);
        let mut follower = Follower::open(COPY.as_ref(), spool.as_ref()).await.unwrap();
        assert_eq!(seen(&opened(&mut follower).await).await, 4);
    });
}
