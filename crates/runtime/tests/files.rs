//! Files on each real ring: whole, short and vectored transfers, names, locks, back ends.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/rings.rs"]
mod rings;
#[path = "support/temp_dir.rs"]
mod temp_dir;

use std::io::ErrorKind;

use rings::on_each;
use runtime::fs::{self, File, OpenOptions};
use runtime::{Config, IoBuf, RingChoice, RingKind, Runtime};
use temp_dir::TempDir;

fn writable() -> OpenOptions {
    OpenOptions { read: true, write: true, create: true, ..OpenOptions::default() }
}

fn pattern(len: usize, salt: u8) -> IoBuf {
    let mut buf = IoBuf::alloc(len);
    let bytes = buf.as_mut_slice().iter_mut().enumerate();
    bytes.for_each(|(i, byte)| *byte = (i % 251) as u8 ^ salt);
    buf
}

#[test]
fn written_bytes_are_read_again() {
    on_each(2, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("data");
        runtime.block_on(move || async move {
            for direct in [false, true] {
                let file = File::open(&path, OpenOptions { direct, ..writable() }).await.unwrap();
                let (result, _) = file.write_all_at(pattern(8192, 3), 4096).await;
                result.unwrap();
                file.sync_data().await.unwrap();
                assert_eq!(file.len().await.unwrap(), 12_288);
                let (result, buf) = file.read_exact_at(IoBuf::alloc(8192), 4096).await;
                result.unwrap();
                assert_eq!(buf.as_slice(), pattern(8192, 3).as_slice());
            }
        });
    });
}

#[test]
fn a_read_at_the_end_is_short_and_beyond_it_empty() {
    on_each(1, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("short");
        runtime.block_on(move || async move {
            let file = File::open(&path, writable()).await.unwrap();
            file.write_all_at(pattern(1000, 0), 0).await.0.unwrap();
            let (count, buf) = file.read_at(IoBuf::alloc(4096), 900).await;
            assert_eq!(count.unwrap(), 100);
            assert_eq!(buf.as_slice()[..100], pattern(1000, 0).as_slice()[900..]);
            assert_eq!(file.read_at(IoBuf::alloc(16), 5000).await.0.unwrap(), 0);
            let (result, _) = file.read_exact_at(IoBuf::alloc(4096), 900).await;
            assert_eq!(result.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        });
    });
}

#[test]
fn vectored_transfers_scatter_and_gather() {
    on_each(1, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("vectored");
        runtime.block_on(move || async move {
            let file = File::open(&path, OpenOptions { direct: true, ..writable() }).await.unwrap();
            let bufs = (0..5).map(|i| pattern(4096, i)).collect();
            file.write_vectored_all_at(bufs, 8192).await.0.unwrap();
            let bufs = (0..3).map(|_| IoBuf::alloc(4096)).collect();
            let (count, bufs) = file.read_vectored_at(bufs, 12_288).await;
            assert_eq!(count.unwrap(), 3 * 4096);
            for (i, buf) in bufs.iter().enumerate() {
                assert_eq!(buf.as_slice(), pattern(4096, i as u8 + 1).as_slice());
            }
            // Two of these four lie beyond the end: short, then an error.
            let bufs = || (0..4).map(|_| IoBuf::alloc(4096)).collect::<Vec<_>>();
            assert_eq!(file.read_vectored_at(bufs(), 20_480).await.0.unwrap(), 8192);
            let (result, _) = file.read_vectored_exact_at(bufs(), 20_480).await;
            assert_eq!(result.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        });
    });
}

#[test]
fn thousands_of_reads_are_in_flight_at_once() {
    on_each(2, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("many");
        runtime.block_on(move || async move {
            let file = File::open(&path, OpenOptions { direct: true, ..writable() }).await.unwrap();
            for page in 0..64 {
                file.write_all_at(pattern(4096, page), u64::from(page) * 4096).await.0.unwrap();
            }
            let read = |i: u64| {
                let file = file.clone();
                runtime::spawn(async move {
                    let page = i * 7 % 64;
                    let (count, buf) = file.read_at(IoBuf::alloc(4096), page * 4096).await;
                    assert_eq!(count.unwrap(), 4096);
                    assert_eq!(buf.as_slice(), pattern(4096, page as u8).as_slice());
                })
            };
            let tasks: Vec<_> = (0..3000).map(read).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
}

#[test]
fn names_are_created_listed_renamed_and_removed() {
    on_each(1, |runtime| {
        let dir = TempDir::new();
        let inner = dir.file("a/b");
        runtime.block_on(move || async move {
            fs::create_dir(&inner).await.unwrap();
            let (one, two) = (inner.join("one"), inner.join("two"));
            let file = File::open(&one, OpenOptions { create_new: true, ..writable() }).await;
            file.unwrap().write_all_at(IoBuf::copy_of(b"hello"), 0).await.0.unwrap();
            let again = File::open(&one, OpenOptions { create_new: true, ..writable() }).await;
            assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
            fs::rename(&one, &two).await.unwrap();
            fs::sync_dir(&inner).await.unwrap();
            assert_eq!(fs::list(&inner).await.unwrap(), ["two"]);
            assert_eq!(fs::read(&two).await.unwrap(), b"hello");
            assert!(!fs::exists(&one).await.unwrap());
            fs::remove(&two).await.unwrap();
            assert_eq!(fs::remove(&two).await.unwrap_err().kind(), ErrorKind::NotFound);
        });
    });
}

#[test]
fn links_have_the_identity_of_what_they_lead_to() {
    on_each(1, |runtime| {
        let dir = TempDir::new();
        let (file, hard, other) = (dir.file("file"), dir.file("hard"), dir.file("other"));
        let soft = dir.file("soft");
        for path in [&file, &other] {
            std::fs::write(path, "text").unwrap();
        }
        std::fs::hard_link(&file, &hard).unwrap();
        std::os::unix::fs::symlink(&file, &soft).unwrap();
        runtime.block_on(move || async move {
            let identity = fs::identity(&file).await.unwrap();
            assert!(matches!(identity, fs::Identity::File(..)), "{identity:?}");
            assert_eq!(fs::identity(&hard).await.unwrap(), identity);
            assert_eq!(fs::identity(&soft).await.unwrap(), identity);
            assert_ne!(fs::identity(&other).await.unwrap(), identity);
            let folder = fs::identity(file.parent().unwrap()).await;
            assert_eq!(folder.unwrap(), fs::Identity::Other);
            let missing = fs::identity(file.with_extension("missing")).await;
            assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
        });
    });
}

#[test]
fn lengths_change_and_space_is_reserved() {
    on_each(1, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("length");
        runtime.block_on(move || async move {
            let file = File::open(&path, writable()).await.unwrap();
            file.allocate(0, 65_536).await.unwrap();
            assert_eq!(file.len().await.unwrap(), 65_536);
            file.write_all_at(IoBuf::copy_of(&[7; 16_384]), 0).await.0.unwrap();
            // Where that is not possible, nothing has happened.
            let is_given_back = file.give_back(4096, 8192).await.unwrap();
            assert_eq!(file.len().await.unwrap(), 65_536);
            let (read, found) = file.read_exact_at(IoBuf::alloc(16_384), 0).await;
            read.unwrap();
            let within = if is_given_back { 0 } else { 7 };
            assert!(found.as_slice()[..4096].iter().all(|byte| *byte == 7));
            assert!(found.as_slice()[4096..12_288].iter().all(|byte| *byte == within));
            assert!(found.as_slice()[12_288..].iter().all(|byte| *byte == 7));
            file.set_len(100).await.unwrap();
            assert_eq!(file.len().await.unwrap(), 100);
            let read = OpenOptions { read: true, ..OpenOptions::default() };
            let reader = File::open(&path, read).await.unwrap();
            let refused = reader.write_at(IoBuf::copy_of(b"x"), 0).await.0;
            assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EBADF));
        });
    });
}

#[test]
fn a_locked_file_is_refused_until_released() {
    on_each(1, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("locked");
        runtime.block_on(move || async move {
            let options = OpenOptions { lock: true, ..writable() };
            let first = File::open(&path, options).await.unwrap();
            let second = File::open(&path, options).await;
            assert_eq!(second.unwrap_err().kind(), ErrorKind::WouldBlock);
            drop(first);
            File::open(&path, options).await.unwrap();
        });
    });
}

#[test]
fn the_back_end_of_a_file_is_explained() {
    on_each(1, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("backend");
        let ring = runtime.rings()[0].kind;
        runtime.block_on(move || async move {
            let file = File::open(&path, writable()).await.unwrap();
            let backend = file.backend();
            assert!(backend.kind == ring || backend.kind == RingKind::Threads);
            assert!(!backend.reason.is_empty());
            if std::path::Path::new("/dev/shm").is_dir() {
                let shared = format!("/dev/shm/dovetail-runtime-{}", std::process::id());
                let file = File::open(&shared, writable()).await.unwrap();
                fs::remove(&shared).await.unwrap();
                assert_eq!(file.backend().kind, RingKind::Threads);
                file.write_all_at(pattern(4096, 1), 0).await.0.unwrap();
                let (result, buf) = file.read_exact_at(IoBuf::alloc(4096), 0).await;
                result.unwrap();
                assert_eq!(buf.as_slice(), pattern(4096, 1).as_slice());
            }
        });
    });
}

#[test]
fn requests_of_many_tasks_travel_in_batches() {
    let config = Config { workers: 1, attack: false, ring: RingChoice::Uring, ..Config::default() };
    let Ok(runtime) = Runtime::start(config) else { return };
    let dir = TempDir::new();
    let path = dir.file("batches");
    let backend = runtime.block_on(move || async move {
        let file = File::open(&path, OpenOptions { direct: true, ..writable() }).await.unwrap();
        file.write_all_at(pattern(65_536, 0), 0).await.0.unwrap();
        let reader = |task: u64| {
            let file = file.clone();
            runtime::spawn(async move {
                for i in 0..10 {
                    let offset = (task + i) % 16 * 4096;
                    file.read_at(IoBuf::alloc(4096), offset).await.0.unwrap();
                }
            })
        };
        let tasks: Vec<_> = (0..200).map(reader).collect();
        for task in tasks {
            task.await.unwrap();
        }
        file.backend().clone()
    });
    let stats = runtime.stats()[0];
    if backend.kind == RingKind::Uring {
        let (enters, ops) = (stats.enter_count, stats.op_count);
        // One call per request, and the sleeps beside them, would be more.
        assert!(ops > 2000 && enters < ops, "{enters} system calls for {ops} operations");
    }
}
