//! Writes that are durable when they end, in each way, on all rings and in the simulation.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/rings.rs"]
mod rings;
#[path = "support/temp_dir.rs"]
mod temp_dir;

use rings::on_each;
use runtime::fs::{Durability, File, OpenOptions};
use runtime::sim::{Disk, FaultPlan};
use runtime::{Config, IoBuf, RingChoice, Runtime, spawn};
use temp_dir::TempDir;

const EBADF: i32 = 9;

const WAYS: [Durability; 4] =
    [Durability::None, Durability::Sync, Durability::Linked, Durability::Flag];

fn writable() -> OpenOptions {
    OpenOptions { read: true, write: true, create: true, ..OpenOptions::default() }
}

fn filled(byte: u8, len: usize) -> IoBuf {
    IoBuf::copy_of(&vec![byte; len])
}

/// Many of them at once, among ordinary writes and syncs; each is whole.
async fn storm(file: File) {
    let writer = |number: u64| {
        let file = file.clone();
        async move {
            let (way, offset) = (WAYS[number as usize % 4], number * 8192);
            let (written, buf) =
                file.write_durable_at(filled(number as u8, 8192), offset, way).await;
            written.expect("written");
            let (read, back) = file.read_exact_at(IoBuf::alloc(8192), offset).await;
            read.expect("read");
            assert_eq!(buf.as_slice(), back.as_slice());
            file.sync_data().await.expect("synced");
        }
    };
    let writers: Vec<_> = (0..200).map(|number| spawn(writer(number))).collect();
    for writer in writers {
        writer.await.expect("it ends");
    }
}

#[test]
fn durable_writes_are_whole_in_each_way() {
    for direct in [false, true] {
        on_each(2, move |runtime| {
            let folder = TempDir::new();
            let path = folder.file("durable");
            runtime.block_on(move || async move {
                let open = OpenOptions { direct, ..writable() };
                storm(File::open(path, open).await.expect("a file")).await;
            });
        });
    }
}

#[test]
fn a_refused_write_says_why_and_not_that_its_sync_was_not_begun() {
    on_each(1, |runtime| {
        let folder = TempDir::new();
        let path = folder.file("read_only");
        std::fs::write(&path, b"some").expect("a file");
        runtime.block_on(move || async move {
            let open = OpenOptions { read: true, ..OpenOptions::default() };
            let file = File::open(path, open).await.expect("a file");
            for way in WAYS {
                let error =
                    file.write_durable_at(filled(1, 4), 0, way).await.0.expect_err("refused");
                assert_eq!(error.raw_os_error(), Some(EBADF), "{way}");
            }
        });
    });
}

fn machine(disk: &Disk, seed: u64) -> Runtime {
    let ring = RingChoice::Sim(disk.clone());
    let config = Config { workers: 1, ring, seed, pin: false, ..Config::default() };
    Runtime::start(config).expect("a simulated runtime")
}

/// The bytes of two blocks after a power cut: the first was written without a sync, then the second, in
/// the given way.
fn after_crash(way: Durability, seed: u64) -> [u8; 2] {
    let disk = Disk::new(seed);
    disk.faults(FaultPlan::short_and_late());
    machine(&disk, seed).block_on(move || async move {
        let file = File::open("/f", writable()).await.expect("a file");
        runtime::fs::sync_dir("/").await.expect("synced");
        file.write_all_at(filled(0, 8192), 0).await.0.expect("written");
        file.sync_data().await.expect("synced");
        file.write_all_at(filled(1, 4096), 0).await.0.expect("written");
        file.write_durable_at(filled(2, 4096), 4096, way).await.0.expect("written");
    });
    let bytes = disk.crash(seed).contents("/f").expect("a file");
    let all_are = |range: std::ops::Range<usize>, byte| bytes[range].iter().all(|b| *b == byte);
    [u8::from(all_are(0..4096, 1)), u8::from(all_are(4096..8192, 2))]
}

#[test]
fn durable_writes_survive_power_cuts_and_only_syncs_save_others() {
    for way in WAYS {
        let survived: Vec<[u8; 2]> = (0..60).map(|seed| after_crash(way, seed)).collect();
        let always = |place: usize| survived.iter().all(|both| both[place] == 1);
        let expected = match way {
            Durability::None => [false, false],
            Durability::Flag => [false, true],
            Durability::Sync | Durability::Linked => [true, true],
        };
        assert_eq!([always(0), always(1)], expected, "{way}");
    }
}

#[test]
fn an_older_write_does_not_come_back_over_a_durable_one() {
    for seed in 0..60 {
        let disk = Disk::new(seed);
        machine(&disk, seed).block_on(|| async {
            let file = File::open("/f", writable()).await.expect("a file");
            runtime::fs::sync_dir("/").await.expect("synced");
            file.write_all_at(filled(1, 4096), 0).await.0.expect("written");
            let way = Durability::Flag;
            file.write_durable_at(filled(2, 4096), 0, way).await.0.expect("written");
        });
        assert_eq!(disk.crash(seed).contents("/f").expect("a file"), vec![2; 4096], "seed {seed}");
    }
}

#[test]
fn what_many_may_wait_for_is_submitted_at_once_though_others_are_ready() {
    let config = Config { workers: 1, attack: false, ring: RingChoice::Uring, ..Config::default() };
    let Ok(runtime) = Runtime::start(config) else {
        return eprintln!("skipped: there is no io_uring");
    };
    for way in [Some(Durability::Linked), Some(Durability::Flag), Some(Durability::Sync), None] {
        let (folder, handle) = (TempDir::new(), runtime.handle());
        let path = folder.file("hurried");
        let polls = runtime.block_on(move || async move {
            let file = File::open(path, writable()).await.expect("a file");
            let calls = || handle.stats()[0].enter_count;
            let before = calls();
            let other = spawn(async move {
                match way {
                    Some(way) => file.write_durable_at(filled(1, 4096), 0, way).await.0,
                    None => file.sync_data().await,
                }
            });
            let mut polls = 0;
            while calls() == before {
                polls += 1;
                runtime::yield_now().await;
            }
            other.await.expect("it ends").expect("written");
            polls
        });
        // A read would wait for some hundred.
        assert!(polls <= 8, "{way:?}: {polls} polls");
    }
}
