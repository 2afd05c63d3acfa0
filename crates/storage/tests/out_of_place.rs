//! Files whose pages lie out of place: what is not as in others (`docs/format/places.md`).

mod placed;
mod simulated;

use placed::{PAGE, PATH, key, options};
use runtime::IoCounters;
use runtime::sim::Disk;
use simulated::simulated;
use storage::{ArchiveOptions, Damage, FILE_VERSION, Layout, Redo, RestoreProgress, Restored};
use storage::{Result, StorageError, Store, StoreOptions, TreeId, Until, restore};

const ROWS: u32 = 3000;

/// A tree of some 100 pages, changed in `rounds` rounds of which each ends with a checkpoint.
async fn changed(rounds: u32) -> Result<Store> {
    let store = Store::create(PATH.as_ref(), options(64)).await?;
    let tree = store.tree(store.create_tree().await?)?;
    let mut loader = tree.bulk_loader().await?;
    for row in 0..ROWS {
        loader.push(&key(row), &[0; 100]).await?;
    }
    loader.finish().await?;
    store.checkpoint().await?;
    let io = IoCounters::default();
    for round in 1..=rounds {
        for row in (0..ROWS).step_by(7) {
            let row = row.wrapping_mul(2_654_435_761).wrapping_add(round) % ROWS;
            assert!(tree.replace(&key(row), &[round as u8; 100], &io).await?);
        }
        store.checkpoint().await?;
    }
    Ok(store)
}

fn bytes_of(disk: &Disk) -> Vec<u8> {
    disk.contents(PATH).expect("the store has been made")
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[test]
fn the_file_is_of_a_version_of_its_own_and_keeps_its_layout() {
    let disk = Disk::new(1);
    simulated(&disk, || async { changed(1).await.unwrap().close().await });
    assert_eq!(bytes_of(&disk)[8..12], FILE_VERSION.to_le_bytes());
    simulated(&disk, || async {
        let others = StoreOptions { layout: Layout::InPlace, ..options(64) };
        let store = Store::open(PATH.as_ref(), others).await.unwrap();
        store.catalog().insert(b"a", b"b").await.unwrap();
        store.checkpoint().await.unwrap();
        store.verify().await.unwrap();
        store.close().await;
    });
    assert_eq!(bytes_of(&disk)[8..12], FILE_VERSION.to_le_bytes());
    let in_place = Disk::new(2);
    simulated(&in_place, || async {
        let options = StoreOptions { layout: Layout::InPlace, ..options(64) };
        Store::create(PATH.as_ref(), options).await.unwrap().close().await;
    });
    assert_eq!(bytes_of(&in_place)[8..12], 5u32.to_le_bytes(), "older programs read those");
}

#[test]
fn a_backup_and_an_archive_lead_to_later_states() {
    let archived = || {
        let archive =
            ArchiveOptions { folder: "/archive".into(), tell: std::sync::Arc::new(|_| {}) };
        StoreOptions { log: true, archive: Some(archive), ..options(64) }
    };
    simulated(&Disk::new(1), move || async move {
        let store = Store::create(PATH.as_ref(), archived()).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        for row in 0..ROWS {
            tree.insert(&key(row), &[0; 100]).await.unwrap();
        }
        store.checkpoint().await.unwrap();
        store.back_up("/backup".as_ref(), std::sync::Arc::new(|_| true)).await.unwrap();
        let (io, mut positions) = (IoCounters::default(), Vec::new());
        for round in 1..=8u8 {
            for row in (round.into()..ROWS).step_by(20) {
                assert!(tree.replace(&key(row), &[round; 100], &io).await.unwrap());
                tree.insert(&key(ROWS + row), &[round; 100]).await.unwrap();
            }
            store.checkpoint().await.unwrap();
            let mut redo = Redo::default();
            redo.push(tree.id(), &key(0), Some(&[round]));
            tree.replace(&key(0), &[round], &io).await.unwrap();
            store.log(redo).await.unwrap();
            positions.push(store.position());
        }
        store.archived().await;
        let line = store.archive_status().expect("it is archived");
        assert_eq!((line.lines, line.failures), (1, 0));
        for (round, position) in (1..).zip(positions) {
            check_restored(tree.id(), position, round).await;
        }
    });
}

/// Restores the backup to where the round has ended.
async fn check_restored(id: TreeId, position: Restored, round: u8) {
    let Restored { checkpoint, frames, .. } = position;
    let (until, progress) = (Until::Commit { checkpoint, frames }, RestoreProgress::default());
    let (backup, target) = ("/backup".as_ref(), "/restored".as_ref());
    restore(backup, "/archive".as_ref(), until, target, &progress).await.unwrap();
    let store = Store::open(target, options(64)).await.unwrap();
    store.verify().await.unwrap();
    assert!(store.place_stats().is_some());
    let (io, tree) = (IoCounters::default(), store.tree(id).unwrap());
    let first = tree.get(&key(0), &io, <[u8]>::to_vec).await.unwrap();
    assert_eq!(first, Some(vec![round]));
    for row in 1..ROWS {
        let found = tree.get(&key(row), &io, |value| value[0]).await.unwrap();
        let changed = row % 20;
        let expected = if (1..=u32::from(round)).contains(&changed) { changed as u8 } else { 0 };
        assert_eq!(found, Some(expected), "row {row} after round {round}");
    }
    drop(tree);
    store.close().await;
    runtime::fs::remove(target).await.unwrap();
}

#[test]
fn an_older_image_of_the_same_page_is_not_served() {
    let disk = Disk::new(1);
    simulated(&disk, || async { changed(4).await.unwrap().close().await });
    let bytes = bytes_of(&disk);
    let leaves: Vec<usize> = (2..bytes.len() / PAGE)
        .map(|place| place * PAGE)
        .filter(|at| bytes[*at..*at + 4] == *b"DVPG" && bytes[at + 32] == 1)
        .collect();
    let identity = |at: usize| (u64_at(&bytes, at + 8), u64_at(&bytes, at + 16));
    let mut told = 0;
    for &at in &leaves {
        let (pid, epoch) = identity(at);
        let older = leaves.iter().find(|other| {
            let (same, before) = identity(**other);
            same == pid && before < epoch
        });
        let Some(&older) = older else { continue };
        let copy = disk.crash(1);
        for byte in 0..PAGE {
            let differs = bytes[at + byte] ^ bytes[older + byte];
            assert!(differs == 0 || copy.rot(PATH, (at + byte) as u64, differs));
        }
        let found = simulated(&copy, || async {
            Store::open(PATH.as_ref(), options(64)).await?.verify().await.map(drop)
        });
        match found {
            // This image was outdated itself.
            Ok(()) => {}
            Err(error) => {
                let expected = StorageError::Corrupt { pid: pid as u32, reason: Damage::Outdated };
                assert_eq!(error, expected);
                told += 1;
            }
        }
    }
    assert!(told > 10, "{told} of {} leaves", leaves.len());
}

#[test]
fn extents_are_used_again() {
    let size = |rounds| {
        let disk = Disk::new(1);
        simulated(&disk, move || async move { changed(rounds).await.unwrap().close().await });
        let header = bytes_of(&disk);
        u32::from_le_bytes(header[32..36].try_into().expect("four bytes"))
    };
    let (few, many) = (size(8), size(60));
    assert!(many <= few * 3 / 2, "{few} pages after 8 rounds, {many} after 60");
}
