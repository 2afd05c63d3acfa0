//! Files whose pages lie out of place: what is not as in others (`docs/format/places.md`).

mod placed;
mod simulated;

use placed::{PAGE, PATH, key, options};
use runtime::IoCounters;
use runtime::sim::Disk;
use simulated::simulated;
use storage::{
    ArchiveOptions, Damage, FILE_VERSION, Layout, Result, StorageError, Store, StoreOptions,
};

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
fn an_archive_is_refused_before_anything_is_made() {
    simulated(&Disk::new(1), || async {
        let archive =
            Some(ArchiveOptions { folder: "/archive".into(), tell: std::sync::Arc::new(|_| {}) });
        let refused = Store::create(PATH.as_ref(), StoreOptions { archive, ..options(64) }).await;
        assert!(matches!(refused.err(), Some(StorageError::Option(_))));
        assert!(!runtime::fs::exists(PATH).await.unwrap());
    });
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
