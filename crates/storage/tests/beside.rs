//! Checkpoints beside commits: what is logged behind the point of one is durable before its header is, and
//! damage to either run of the log is told.

mod layout;

use std::collections::BTreeMap;

use runtime::fs::Durability;
use runtime::sim::{Disk, FaultPlan};
use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{Damage, Redo, Result, StorageError, Store, StoreOptions, Underway};

const PATH: &str = "/db";

fn simulated<T: Send + 'static, F: Future<Output = T> + 'static>(
    disk: &Disk,
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let config = Config { workers: 1, ring: RingChoice::Sim(disk.clone()), ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}

/// Frames of the log wait for no sync.
fn options() -> StoreOptions {
    StoreOptions {
        pool_bytes: 64 * 4096,
        log: true,
        log_durability: Some(Durability::Flag),
        ..layout::options()
    }
}

/// Makes changes of the catalog's tree; what is to be logged of them.
async fn change(store: &Store, entries: &[(&str, Option<&[u8]>)]) -> Result<Redo> {
    let (tree, io, mut redo) = (store.catalog(), IoCounters::default(), Redo::default());
    for (key, value) in entries {
        match value {
            Some(value) if !tree.replace(key.as_bytes(), value, &io).await? => {
                tree.insert(key.as_bytes(), value).await?;
            }
            Some(_) => {}
            None => drop(tree.delete(key.as_bytes(), &io).await?),
        }
        redo.push(tree.id(), key.as_bytes(), *value);
    }
    Ok(redo)
}

async fn put(store: &Store, key: &str, len: usize) -> Result<()> {
    let redo = change(store, &[(key, Some(&vec![7; len]))]).await?;
    store.log(redo).await
}

async fn begin(store: &Store, replaced: Redo, changes: Redo) -> Result<Underway> {
    let turn = store.checkpoint_turn().await;
    store.prepare_checkpoint(&turn).await?;
    store.begin_checkpoint(turn, replaced, changes).await
}

/// A store whose log has two runs.
async fn with_two_runs() -> Store {
    let store = Store::create(PATH.as_ref(), options()).await.unwrap();
    put(&store, "a", 1).await.unwrap();
    // It lets the file have the second one.
    begin(&store, Redo::default(), Redo::default()).await.unwrap().ended().await.unwrap();
    store.settled().await.unwrap();
    store
}

async fn found(store: &Store, keys: &[&str]) -> Vec<Option<usize>> {
    let (tree, io) = (store.catalog(), IoCounters::default());
    let mut found = vec![];
    for key in keys {
        found.push(tree.get(key.as_bytes(), &io, <[u8]>::len).await.unwrap());
    }
    found
}

/// Commits before the point of a checkpoint, with it and behind it, and transactions in flight; the power fails
/// before its header is durable, as late as that can be.
fn cut_before_the_header() -> Disk {
    let mut last = None;
    // Behind the point come the write of the first commit, and at the end of a sync those of the
    // header and of the second commit. How many others there are is a matter of the layout.
    for write in 1.. {
        match cut_behind_the_point(write) {
            Cut::TooEarly => {}
            Cut::Between(disk) if found_seed(&disk).is_some() => last = Some(disk),
            // The header is durable already.
            Cut::Between(_) => {}
            Cut::TooLate => break,
        }
    }
    last.expect("the power may fail between the point and the header")
}

/// When the power has failed.
enum Cut {
    /// Before the first commit behind the point.
    TooEarly,
    /// Behind it, and before the second commit.
    Between(Disk),
    /// After the second commit.
    TooLate,
}

/// The power fails at this write behind the point.
fn cut_behind_the_point(write: u64) -> Cut {
    let disk = Disk::new(1);
    let machine = disk.clone();
    let (first, second) = simulated(&disk, move || async move {
        let store = with_two_runs().await;
        put(&store, "b", 2).await.unwrap();
        put(&store, "c", 3).await.unwrap();
        let changes = change(&store, &[("d", Some(&[7; 4]))]).await.unwrap();
        // Two transactions have not ended; one of them does behind the point.
        let later = change(&store, &[("e", Some(&[7; 5])), ("b", Some(&[7; 22]))]).await.unwrap();
        change(&store, &[("f", Some(&[7; 6])), ("c", None)]).await.unwrap();
        let mut replaced = Redo::default();
        let tree = store.catalog().id();
        for (key, before) in [("e", None), ("b", Some(2)), ("f", None), ("c", Some(3))] {
            let before = before.map(|len| vec![7; len]);
            replaced.push(tree, key.as_bytes(), before.as_deref());
        }
        let before = store.checkpoint_number();
        let underway = begin(&store, replaced, changes).await.unwrap();
        let last = Some(machine.write_count() + write);
        machine.faults(FaultPlan { crash_at_write: last, ..FaultPlan::default() });
        let first = store.log(later).await.is_ok();
        assert_eq!(store.checkpoint_number(), before, "no header is durable");
        // What is committed lies in the second run from its beginning on.
        assert!(store.log_usage().0 > 0 && store.log_usage().0 < 1000);
        let second = put(&store, "g", 7).await.is_ok();
        drop(underway);
        (first, second)
    });
    match (first, second) {
        (false, _) => Cut::TooEarly,
        (true, false) => Cut::Between(disk),
        (true, true) => Cut::TooLate,
    }
}

const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

const WHOLE: [Option<usize>; 6] = [Some(1), Some(22), Some(3), Some(4), Some(5), None];

/// Without the commit behind the point.
const WITHOUT_LAST: [Option<usize>; 6] = [Some(1), Some(2), Some(3), Some(4), None, None];

/// What a file has of the keys, and how many commits recovery has found behind the point.
fn opened(disk: &Disk) -> Result<(Vec<Option<usize>>, u64)> {
    simulated(disk, || async {
        let store = Store::open(PATH.as_ref(), options()).await?;
        store.verify().await?;
        Ok((found(&store, &KEYS).await, store.recovered_behind()))
    })
}

/// A seed with which the header has not been written, but what was committed behind the point.
fn seed_without_header(disk: &Disk) -> u64 {
    found_seed(disk).expect("the header is lost with some seed")
}

fn found_seed(disk: &Disk) -> Option<u64> {
    let is_behind = |seed: &u64| opened(&disk.crash(*seed)).unwrap().1 == 2;
    (0..64).find(is_behind)
}

#[test]
fn commits_are_durable_before_the_header_of_the_checkpoint_beside_them() {
    let cut = cut_before_the_header();
    for seed in 0..16 {
        assert_eq!(opened(&cut.crash(seed)).unwrap().0, WHOLE, "seed {seed}");
    }
    let mut disk = cut.crash(seed_without_header(&cut));
    for round in 0..3 {
        let (entries, behind) = opened(&disk).unwrap();
        assert_eq!(entries, WHOLE);
        // That with the checkpoint, and one behind it.
        assert_eq!(behind, if round == 0 { 2 } else { 0 });
        disk = disk.crash(round);
    }
}

#[test]
fn a_cut_recovery_finds_both_runs_again() {
    let disk = cut_before_the_header();
    let seed = seed_without_header(&disk);
    for write in 1..40 {
        let cut = disk.crash(seed);
        cut.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() });
        simulated(&cut, || async {
            if let Ok(store) = Store::open(PATH.as_ref(), options()).await {
                // Pages are taken and written, if it comes so far.
                for number in 0..200 {
                    if put(&store, &format!("later {number}"), 900).await.is_err() {
                        return;
                    }
                }
                store.checkpoint().await.ok();
            }
        });
        let (entries, _) = opened(&cut.crash(write)).unwrap();
        assert_eq!(entries, WHOLE, "write {write}");
    }
}

#[test]
fn each_flipped_bit_of_both_runs_is_told_or_harmless() {
    let disk = cut_before_the_header();
    let seed = seed_without_header(&disk);
    let bytes = disk.crash(seed).contents(PATH).expect("the file");
    let is_frame =
        |at: &usize| bytes[*at..].starts_with(b"DVLT") || bytes[*at..].starts_with(b"DVLB");
    // Where each frame begins, of the last checkpoint or of the next.
    let all = (0..bytes.len()).step_by(8).filter(is_frame);
    let number = |at: usize| u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
    let last = all.clone().map(number).max().expect("frames");
    let frames: Vec<usize> = all.filter(|at| number(*at) + 1 >= last).collect();
    assert_eq!(frames.len(), 4);
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (which, at) in frames.iter().enumerate() {
        let len = u32::from_le_bytes(bytes[at + 24..at + 28].try_into().unwrap()) as usize;
        for bit in 0..(40 + len) * 8 {
            let flipped = disk.crash(seed);
            assert!(flipped.rot(PATH, (at + bit / 8) as u64, 1 << (bit % 8)), "it is in the file");
            let what = match opened(&flipped) {
                // The last one cannot be told from one that was cut off before anybody was told of it.
                Ok((found, 1)) if which == 3 && found == WITHOUT_LAST => "last",
                Err(StorageError::Corrupt { reason: Damage::Log, .. }) => "told",
                other => panic!("frame {which}, bit {bit}: {other:?}"),
            };
            *counts.entry(what).or_default() += 1;
        }
    }
    assert!(counts["told"] > 1000 && counts["last"] > 300, "{counts:?}");
}

#[test]
fn each_checkpoint_goes_on_in_the_other_run() {
    let disk = Disk::new(4);
    let pages = simulated(&disk, || async {
        let store = with_two_runs().await;
        let mut pages = vec![];
        for round in 0..8usize {
            let changes = change(&store, &[("b", Some(&vec![1; 10 + round]))]).await.unwrap();
            let underway = begin(&store, Redo::default(), changes).await.unwrap();
            put(&store, "c", 20 + round).await.unwrap();
            underway.ended().await.unwrap();
            put(&store, "d", 30 + round).await.unwrap();
            store.verify().await.unwrap();
            pages.push(store.page_counts().0);
        }
        // One that publishes trees stands between.
        let tree = store.create_tree().await.unwrap();
        store.checkpoint().await.unwrap();
        store.tree(tree).unwrap().insert(b"k", b"v").await.unwrap();
        let mut redo = Redo::default();
        redo.push(tree, b"k", Some(b"v"));
        begin(&store, Redo::default(), redo).await.unwrap().ended().await.unwrap();
        pages
    });
    assert!(pages[7] <= pages[2] + 8, "the file does not grow: {pages:?}");
    simulated(&disk.crash(4), || async {
        let store = Store::open(PATH.as_ref(), options()).await.unwrap();
        assert_eq!(found(&store, &["b", "c", "d"]).await, [Some(17), Some(27), Some(37)]);
        let last = store.tree_ids().into_iter().max().unwrap();
        let value = store.tree(last).unwrap().get(b"k", &IoCounters::default(), <[u8]>::len).await;
        assert_eq!(value.unwrap(), Some(1));
        store.verify().await.unwrap();
    });
}

/// Begins checkpoints on a disk that is full at one write; the last round that was acknowledged.
async fn rounds(disk: Disk, write: u64) -> Result<usize> {
    let store = with_two_runs().await;
    let write = disk.space_op_count() + write;
    disk.faults(FaultPlan { no_space: Some(write..write + 1), ..FaultPlan::default() });
    let mut acknowledged = 0;
    for round in 1..6usize {
        let filler = vec![7; 3000];
        let value = round.to_le_bytes();
        let names: Vec<String> = (0..20).map(|at| format!("{round} {at}")).collect();
        let mut entries: Vec<(&str, Option<&[u8]>)> = vec![("round", Some(&value))];
        entries.extend(names.iter().map(|name| (name.as_str(), Some(&filler[..]))));
        let redo = loop {
            match change(&store, &entries).await {
                Err(error) if error.is_disk_full() => disk.faults(FaultPlan::default()),
                // The last checkpoint could not settle.
                Err(StorageError::Poisoned(_)) => return Ok(acknowledged),
                redo => break redo?,
            }
        };
        loop {
            match begin(&store, Redo::default(), redo.clone()).await {
                Err(error) if error.is_disk_full() => disk.faults(FaultPlan::default()),
                Err(_) => return Ok(acknowledged),
                Ok(underway) => {
                    acknowledged = round;
                    if underway.ended().await.is_err() {
                        return Ok(acknowledged);
                    }
                    break;
                }
            }
        }
    }
    Ok(acknowledged)
}

#[test]
fn a_full_disk_at_any_write_of_them_loses_nothing() {
    let (mut ended, mut count) = (0, 0);
    for write in 1..160 {
        let disk = Disk::new(5);
        let inside = disk.clone();
        let acknowledged = simulated(&disk, move || rounds(inside, write)).unwrap();
        disk.faults(FaultPlan::default());
        let round = simulated(&disk.crash(write), || async {
            let store = Store::open(PATH.as_ref(), options()).await.unwrap();
            store.verify().await.unwrap();
            let round = store.catalog().get(b"round", &IoCounters::default(), <[u8]>::to_vec).await;
            round.unwrap().map_or(0, |bytes| usize::from_le_bytes(bytes.try_into().unwrap()))
        });
        assert!(round >= acknowledged, "write {write}: round {round} after {acknowledged}");
        ended += usize::from(acknowledged == 5);
        count += 1;
    }
    assert!(ended > count / 2, "{ended} of {count} go on when there is space again");
}

#[test]
fn the_turn_is_taken_before_what_others_wait_for() {
    let disk = Disk::new(6);
    simulated(&disk, || async {
        let store = with_two_runs().await;
        let turn = store.checkpoint_turn().await;
        // A backup waits, and whoever changes and commits does not.
        let copied = store.clone();
        let copying = runtime::spawn(async move {
            copied.back_up("/copy".as_ref(), std::sync::Arc::new(|_| true)).await
        });
        put(&store, "b", 2).await.unwrap();
        let changes = change(&store, &[("c", Some(&[7; 3]))]).await.unwrap();
        let underway = store.begin_checkpoint(turn, Redo::default(), changes).await.unwrap();
        put(&store, "d", 4).await.unwrap();
        underway.ended().await.unwrap();
        copying.await.unwrap().unwrap();
        let copy = Store::open("/copy".as_ref(), options()).await.unwrap();
        assert_eq!(found(&copy, &["b", "c", "d"]).await, [Some(2), Some(3), Some(4)]);
        copy.verify().await.unwrap();
    });
}

#[test]
fn a_survey_waits_for_a_header_and_for_no_turn() {
    simulated(&Disk::new(7), || async {
        let store = with_two_runs().await;
        // A backup has it as long as it copies.
        let turn = store.checkpoint_turn().await;
        store.verify().await.unwrap();
        let changes = change(&store, &[("c", Some(&[7; 3]))]).await.unwrap();
        let underway = store.begin_checkpoint(turn, Redo::default(), changes).await.unwrap();
        store.verify().await.unwrap();
        underway.ended().await.unwrap();
    });
}
