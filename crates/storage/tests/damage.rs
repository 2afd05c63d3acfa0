//! Files that are not as they should be: each gives its own error, and a single damaged header slot
//! gives none.

use runtime::fs::{File, OpenOptions};
use runtime::sim::Disk;
use runtime::{Config, IoBuf, RingChoice, Runtime};
use storage::{Damage, FILE_VERSION, Result, StorageError, Store, StoreOptions};

const PATH: &str = "/db";

fn simulated<T: Send + 'static, F: Future<Output = T> + 'static>(
    disk: &Disk,
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let config = Config { workers: 1, ring: RingChoice::Sim(disk.clone()), ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}

fn options() -> StoreOptions {
    StoreOptions { pool_bytes: 64 * 4096, ..StoreOptions::default() }
}

/// A store of one tree with 1,000 rows; tells the pages of the file.
fn build() -> (Disk, u32) {
    let disk = Disk::new(1);
    let pages = simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options()).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let mut loader = tree.bulk_loader().await.unwrap();
        for number in 0..1000u32 {
            loader.push(&number.to_be_bytes(), &[7; 40]).await.unwrap();
        }
        loader.finish().await.unwrap();
        store.checkpoint().await.unwrap();
        store.page_counts().0
    });
    (disk, pages)
}

/// Changes the file, then opens it.
fn open_after<F: Future<Output = ()> + 'static>(
    disk: &Disk,
    change: impl FnOnce(File) -> F + Send + 'static,
) -> Result<()> {
    simulated(disk, || async {
        let options = OpenOptions { write: true, read: true, ..OpenOptions::default() };
        change(File::open(PATH, options).await.unwrap()).await;
        let store = Store::open(PATH.as_ref(), self::options()).await?;
        store.verify().await.map(drop)
    })
}

async fn overwrite(file: &File, offset: u64, bytes: &[u8]) {
    file.write_all_at(IoBuf::copy_of(bytes), offset).await.0.unwrap();
}

#[test]
fn a_truncated_file_says_by_how_much() {
    let (disk, pages) = build();
    let expected_bytes = u64::from(pages) * 4096;
    let found =
        open_after(&disk, |file| async move { file.set_len(6 * 4096 + 100).await.unwrap() });
    let found_bytes = 6 * 4096 + 100;
    assert_eq!(found, Err(StorageError::Truncated { expected_bytes, found_bytes }));
}

#[test]
fn an_empty_or_foreign_file_is_not_a_database() {
    let (disk, _) = build();
    let found = open_after(&disk, |file| async move { file.set_len(0).await.unwrap() });
    assert_eq!(found, Err(StorageError::NotADatabase));
    let (disk, _) = build();
    let found = open_after(&disk, |file| async move {
        overwrite(&file, 0, &[b'x'; 8192]).await;
    });
    assert_eq!(found, Err(StorageError::NotADatabase));
}

#[test]
fn a_missing_file_is_an_error_of_the_system() {
    let found = simulated(&Disk::new(1), || Store::open(PATH.as_ref(), options()));
    let kind = std::io::ErrorKind::NotFound;
    assert!(matches!(found.err(), Some(StorageError::Io { kind: found, .. }) if found == kind));
}

#[test]
fn a_newer_version_is_told_from_damage() {
    // Also where the other slot is damaged.
    for damaged in [None, Some(0), Some(1)] {
        let (disk, _) = build();
        let found = open_after(&disk, move |file| async move {
            let (read, buffer) = file.read_exact_at(IoBuf::alloc(128), 0).await;
            read.unwrap();
            let mut slot = buffer.as_slice().to_vec();
            slot[8..12].copy_from_slice(&9u32.to_le_bytes());
            let sum = crc32c::crc32c(&slot[..124]);
            slot[124..].copy_from_slice(&sum.to_le_bytes());
            overwrite(&file, 0, &slot).await;
            overwrite(&file, 4096, &slot).await;
            if let Some(damaged) = damaged {
                overwrite(&file, damaged * 4096 + 20, &[0xAA; 4]).await;
            }
        });
        let newer = StorageError::NewerVersion { found: 9, supported: FILE_VERSION };
        assert_eq!(found, Err(newer), "{damaged:?}");
    }
}

#[test]
fn one_damaged_slot_is_repaired_and_two_are_reported() {
    let (disk, _) = build();
    for slot in [0, 1, 0, 1] {
        let found = open_after(&disk, move |file| async move {
            overwrite(&file, slot * 4096 + 20, &[0xAA; 4]).await;
        });
        assert_eq!(found, Ok(()), "slot {slot}");
    }
    let found = open_after(&disk, |file| async move {
        overwrite(&file, 20, &[0xAA; 4]).await;
        overwrite(&file, 4096 + 20, &[0xAA; 4]).await;
    });
    assert_eq!(found, Err(StorageError::Corrupt { pid: 0, reason: Damage::Header }));
}

#[test]
fn misdirected_and_lost_writes_are_found() {
    let (disk, _) = build();
    let found = open_after(&disk, |file| async move {
        let (read, buffer) = file.read_exact_at(IoBuf::alloc(4096), 5 * 4096).await;
        read.unwrap();
        overwrite(&file, 6 * 4096, buffer.as_slice()).await;
    });
    assert_eq!(found, Err(StorageError::Corrupt { pid: 6, reason: Damage::WrongPage(5) }));
    let (disk, _) = build();
    let found =
        open_after(&disk, |file| async move { overwrite(&file, 6 * 4096, &[0; 4096]).await });
    assert_eq!(found, Err(StorageError::Corrupt { pid: 6, reason: Damage::Magic }));
}

#[test]
fn a_file_that_is_open_is_locked() {
    let (disk, _) = build();
    let found = simulated(&disk, || async {
        let _first = Store::open(PATH.as_ref(), options()).await.unwrap();
        Store::open(PATH.as_ref(), options()).await.err()
    });
    assert_eq!(found, Some(StorageError::Locked));
}
