//! The archive: what it leads to, what it refuses, and what becomes of it when something goes wrong. States
//! after power cuts are compared in the simulation (`storage::simulation`).

mod layout;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use runtime::sim::{Disk, FaultPlan};
use runtime::{Config, IoCounters, RingChoice, Runtime, fs, time};
use storage::{
    ArchiveOptions, Layout, Redo, RestoreError, RestoreProgress, Restored, Result, Store,
    StoreOptions, Until, restore,
};

const PATH: &str = "/db";
const FOLDER: &str = "/archive";
const BACKUP: &str = "/backup";
const RESTORED: &str = "/restored";

fn simulated<T: Send + 'static, F: Future<Output = T> + 'static>(
    disk: &Disk,
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let config = Config { workers: 1, ring: RingChoice::Sim(disk.clone()), ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}

type Told = Arc<Mutex<Vec<String>>>;

fn alone() -> StoreOptions {
    StoreOptions { pool_bytes: 64 * 4096, log: true, ..layout::options() }
}

fn archived(told: &Told) -> StoreOptions {
    let told = told.clone();
    let tell = Arc::new(move |said: &str| told.lock().unwrap().push(said.to_owned()));
    StoreOptions { archive: Some(ArchiveOptions { folder: FOLDER.into(), tell }), ..alone() }
}

/// The same with pages in place: no call for space in the file is among those that fail.
fn archived_in_place(told: &Told) -> StoreOptions {
    StoreOptions { layout: Layout::InPlace, ..archived(told) }
}

/// Commits that the value of the only key is this.
async fn put(store: &Store, value: &str) -> Restored {
    let (tree, mut redo) = (store.catalog(), Redo::default());
    if !tree.replace(b"key", value.as_bytes(), &IoCounters::default()).await.unwrap() {
        tree.insert(b"key", value.as_bytes()).await.unwrap();
    }
    redo.push(tree.id(), b"key", Some(value.as_bytes()));
    store.log(redo).await.unwrap();
    store.archived().await;
    store.position()
}

async fn value_of(path: &str) -> Option<String> {
    let store = Store::open(path.as_ref(), alone()).await.unwrap();
    store.verify().await.unwrap();
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
    let value = store.catalog().get(b"key", &IoCounters::default(), text).await.unwrap();
    store.close().await;
    value
}

/// Restores the backup; the value of the key then.
async fn restored(until: Until) -> std::result::Result<Option<String>, RestoreError> {
    fs::remove(RESTORED).await.ok();
    let progress = RestoreProgress::default();
    restore(BACKUP.as_ref(), FOLDER.as_ref(), until, RESTORED.as_ref(), &progress).await?;
    let (done, total) = progress.bytes();
    assert!(done == total && total > 0, "{done} bytes of {total}");
    Ok(value_of(RESTORED).await)
}

fn some(value: &str) -> std::result::Result<Option<String>, RestoreError> {
    Ok(Some(value.to_owned()))
}

async fn back_up(store: &Store, path: &str) -> Result<u64> {
    store.back_up(path.as_ref(), Arc::new(|_| true)).await
}

/// A backup at "a", then "b" and "c" behind one checkpoint, "d" and "e" behind the next; the positions.
fn build(disk: &Disk) -> Vec<Restored> {
    simulated(disk, || async {
        let store = Store::create(PATH.as_ref(), archived(&Told::default())).await.unwrap();
        let mut positions = vec![put(&store, "a").await];
        back_up(&store, BACKUP).await.unwrap();
        for pair in [["b", "c"], ["d", "e"]] {
            store.checkpoint().await.unwrap();
            for value in pair {
                positions.push(put(&store, value).await);
            }
        }
        store.quiesce().await;
        positions
    })
}

/// The segment of a checkpoint.
async fn segment(checkpoint: u64) -> String {
    let names = fs::list(FOLDER).await.unwrap();
    let end = format!("-{checkpoint:016x}.segment");
    format!("{FOLDER}/{}", names.iter().find(|name| name.ends_with(&end)).unwrap())
}

#[test]
fn a_backup_leads_to_each_commit_and_to_each_moment() {
    let disk = Disk::new(1);
    let positions = build(&disk);
    simulated(&disk, || async move {
        for (position, value) in positions.iter().zip(["a", "b", "c", "d", "e"]) {
            let Restored { checkpoint, frames, time } = *position;
            assert_eq!(restored(Until::Commit { checkpoint, frames }).await, some(value));
            assert_eq!(restored(Until::Time(time)).await, some(value));
        }
        let before = |position: &Restored| Until::Time(position.time - 1);
        assert_eq!(restored(before(&positions[4])).await, some("d"));
        assert_eq!(restored(before(&positions[3])).await, some("c"));
        assert_eq!(restored(Until::End).await, some("e"));
        assert_eq!(value_of(BACKUP).await.as_deref(), Some("a"));
    });
}

#[test]
fn other_moments_are_refused() {
    let disk = Disk::new(2);
    let positions = build(&disk);
    simulated(&disk, || async move {
        let last = positions[4];
        let late = Until::Time(last.time + 1);
        assert_eq!(restored(late).await, Err(RestoreError::BehindEnd { last: last.time }));
        let Restored { checkpoint, frames, .. } = last;
        let late = Until::Commit { checkpoint, frames: frames + 1 };
        assert_eq!(restored(late).await, Err(RestoreError::BehindEnd { last: last.time }));
        let early = restored(Until::Time(1)).await;
        assert!(matches!(early, Err(RestoreError::BeforeBackup { .. })), "{early:?}");
        assert!(!fs::exists(RESTORED).await.unwrap(), "nothing is left");
    });
    // A backup of a file that is not archived.
    let disk = Disk::new(3);
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), alone()).await.unwrap();
        back_up(&store, BACKUP).await.unwrap();
        assert_eq!(restored(Until::End).await, Err(RestoreError::NotArchived));
    });
}

#[test]
fn a_missing_segment_is_a_gap() {
    let disk = Disk::new(4);
    let positions = build(&disk);
    simulated(&disk, || async move {
        let missing = segment(positions[1].checkpoint).await;
        fs::remove(&missing).await.unwrap();
        let gap = RestoreError::Gap { segment: missing.into(), last: positions[0].time };
        assert_eq!(restored(Until::End).await, Err(gap.clone()));
        assert_eq!(restored(Until::Time(positions[2].time)).await, Err(gap));
        assert_eq!(restored(Until::Time(positions[0].time)).await, some("a"));
        fs::remove(segment(positions[0].checkpoint).await).await.unwrap();
        assert_eq!(restored(Until::End).await, Err(RestoreError::Unknown));
    });
}

#[test]
fn a_torn_end_is_told_from_rot() {
    for seed in 0..40 {
        let disk = Disk::new(seed);
        let positions = build(&disk);
        let last = positions[4].checkpoint;
        let (path, len) = simulated(&disk, move || async move {
            let path = segment(last).await;
            let len = fs::read(&path).await.unwrap().len() as u64;
            (path, len)
        });
        // The two commits are records of the same length.
        let record = 16 + 40 + 12 + 3 + 1_u64;
        let flipped = |from_end: u64| {
            let copy = disk.crash(seed);
            assert!(copy.rot(&path, len - from_end, 1 << (seed % 8)));
            simulated(&copy, move || async move { restored(Until::End).await })
        };
        let within = 9 + seed % (record - 24);
        // Nobody can tell a last record that has rotted from one that was torn.
        assert_eq!(flipped(within), some("d"), "seed {seed}");
        let damaged = flipped(record.next_multiple_of(8) + within);
        match damaged {
            Err(RestoreError::Damaged { last, .. }) => assert!(last < positions[3].time),
            other => panic!("seed {seed}: {other:?}"),
        }
    }
}

#[test]
fn rot_before_the_last_segment_is_told_and_never_restored() {
    let disk = Disk::new(5);
    let positions = build(&disk);
    let (path, len) = simulated(&disk, {
        let checkpoint = positions[1].checkpoint;
        move || async move {
            let path = segment(checkpoint).await;
            let len = fs::read(&path).await.unwrap().len() as u64;
            (path, len)
        }
    });
    let mut refused = 0;
    for at in (0..len).step_by(97) {
        let copy = disk.crash(at);
        assert!(copy.rot(&path, at, 1 << (at % 8)));
        let found = simulated(&copy, || async { restored(Until::End).await });
        match found {
            Err(RestoreError::Damaged { .. }) => refused += 1,
            // Padding between records.
            other => assert_eq!(other, some("e"), "byte {at}"),
        }
    }
    assert!(refused > len / 97 * 9 / 10, "{refused} of {}", len / 97);
}

#[test]
fn what_was_logged_without_the_archive_is_in_it_later() {
    let (disk, told) = (Disk::new(6), Told::default());
    build(&disk);
    let heard = told.clone();
    simulated(&disk, || async move {
        let store = Store::open(PATH.as_ref(), alone()).await.unwrap();
        // Recovery has made a checkpoint that the archive does not know.
        drop(store);
        let store = Store::open(PATH.as_ref(), archived(&heard)).await.unwrap();
        assert_eq!(store.archive_status().unwrap().lines, 1, "it begins anew");
        back_up(&store, "/second").await.unwrap();
        store.close().await;
        // Nothing to recover: it logs, and makes no checkpoint.
        let store = Store::open(PATH.as_ref(), alone()).await.unwrap();
        let position = put(&store, "unseen").await;
        drop(store);
        let store = Store::open(PATH.as_ref(), archived(&heard)).await.unwrap();
        assert_eq!(store.archive_status().unwrap().lines, 0, "it goes on");
        let Restored { checkpoint, frames, .. } = position;
        let until = Until::Commit { checkpoint, frames };
        fs::remove(RESTORED).await.ok();
        let found = restore(
            "/second".as_ref(),
            FOLDER.as_ref(),
            until,
            RESTORED.as_ref(),
            &RestoreProgress::default(),
        )
        .await;
        assert_eq!(found.unwrap().frames, frames);
        assert_eq!(value_of(RESTORED).await.as_deref(), Some("unseen"));
        // The first line is what it was.
        assert_eq!(restored(Until::End).await, some("e"));
    });
    assert_eq!(told.lock().unwrap().len(), 1, "{told:?}");
}

#[test]
fn a_copy_of_the_file_does_not_touch_the_line() {
    let disk = Disk::new(7);
    build(&disk);
    simulated(&disk, || async {
        let told = Told::default();
        // The backup is opened as it is, under the archive of its original, which is further.
        let store = Store::open(BACKUP.as_ref(), archived(&told)).await.unwrap();
        assert!(told.lock().unwrap()[0].contains("later states"), "{told:?}");
        put(&store, "another life").await;
        store.checkpoint().await.unwrap();
        store.close().await;
        let store = Store::open(PATH.as_ref(), archived(&told)).await.unwrap();
        assert_eq!(store.archive_status().unwrap().lines, 0, "{told:?}");
        put(&store, "f").await;
        store.close().await;
        // The backup is another file now: it belongs to a line of its own.
        fs::remove(RESTORED).await.ok();
        let found = restore(
            BACKUP.as_ref(),
            FOLDER.as_ref(),
            Until::End,
            RESTORED.as_ref(),
            &RestoreProgress::default(),
        )
        .await;
        found.unwrap();
        assert_eq!(value_of(RESTORED).await.as_deref(), Some("another life"));
    });
}

#[test]
fn an_archive_that_fails_holds_nobody_up_and_says_so() {
    let (disk, told) = (Disk::new(8), Told::default());
    let (faults, heard) = (disk.clone(), told.clone());
    simulated(&disk, || async move {
        let store = Store::create(PATH.as_ref(), archived_in_place(&heard)).await.unwrap();
        put(&store, "a").await;
        back_up(&store, BACKUP).await.unwrap();
        store.reserve(64).await.unwrap();
        // No segment can be made.
        faults.faults(FaultPlan { meta_error: 1.0, ..FaultPlan::default() });
        store.checkpoint_without(Redo::default()).await.unwrap();
        put(&store, "b").await;
        time::sleep(Duration::from_secs(20)).await;
        let status = store.archive_status().unwrap();
        assert!(!status.is_whole && status.failures > 5, "{status:?}");
        put(&store, "c").await;
        faults.faults(FaultPlan::default());
        // The next checkpoint begins a line, and what was before is still to be had.
        store.checkpoint().await.unwrap();
        let status = store.archive_status().unwrap();
        assert!(status.is_whole && status.lines == 2, "{status:?}");
        assert_eq!(restored(Until::End).await, some("a"));
        back_up(&store, "/second").await.unwrap();
        put(&store, "d").await;
        fs::remove(RESTORED).await.ok();
        let until = Until::End;
        restore(
            "/second".as_ref(),
            FOLDER.as_ref(),
            until,
            RESTORED.as_ref(),
            &RestoreProgress::default(),
        )
        .await
        .unwrap();
        assert_eq!(value_of(RESTORED).await.as_deref(), Some("d"));
    });
    let told = told.lock().unwrap();
    let count = |word: &str| told.iter().filter(|said| said.contains(word)).count();
    assert_eq!((count("behind"), count("has ended")), (1, 1), "{told:?}");
}

#[test]
fn a_short_failure_is_made_up_for() {
    let (disk, told) = (Disk::new(9), Told::default());
    let (faults, heard) = (disk.clone(), told.clone());
    simulated(&disk, || async move {
        let store = Store::create(PATH.as_ref(), archived_in_place(&heard)).await.unwrap();
        put(&store, "a").await;
        back_up(&store, BACKUP).await.unwrap();
        store.reserve(64).await.unwrap();
        faults.faults(FaultPlan { meta_error: 1.0, ..FaultPlan::default() });
        store.checkpoint_without(Redo::default()).await.unwrap();
        time::sleep(Duration::from_secs(3)).await;
        faults.faults(FaultPlan::default());
        store.settled().await.unwrap();
        put(&store, "b").await;
        assert_eq!(store.archive_status().unwrap().lines, 1, "the line goes on");
        assert_eq!(restored(Until::End).await, some("b"));
    });
    assert_eq!(told.lock().unwrap().len(), 3, "{told:?}");
}
