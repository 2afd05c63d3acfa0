//! Registered files and memory: used, forgotten when they are no more, refused where locked memory
//! is limited; and always the right bytes.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/temp_dir.rs"]
mod temp_dir;

use std::path::Path;
use std::time::Duration;

use runtime::fs::{File, OpenOptions};
use runtime::{Config, IoBuf, RingChoice, Runtime, WorkerStats, probe, spawn_on};
use temp_dir::TempDir;

const PAGE: usize = 4096;

/// A runtime with both tables; `None` if this machine refuses io_uring.
fn start(workers: usize) -> Option<Runtime> {
    let config = Config {
        ring: RingChoice::Uring,
        workers,
        registered_files: true,
        registered_buffers: true,
        ..Config::default()
    };
    let runtime = Runtime::start(config).inspect_err(|error| eprintln!("skipped: {error}")).ok()?;
    for report in runtime.rings() {
        let granted = report.reason.contains(", registered files, registered buffers");
        assert!(granted || report.reason.contains("no registered"), "{}", report.reason);
    }
    Some(runtime)
}

fn stats(runtime: &Runtime) -> WorkerStats {
    runtime.stats()[0]
}

/// A file whose page `n` is full of `n + salt`.
fn write_pages(path: &Path, count: usize, salt: usize) {
    let bytes: Vec<u8> = (0..count).flat_map(|n| vec![(n + salt) as u8; PAGE]).collect();
    std::fs::write(path, bytes).unwrap();
}

async fn open(path: &Path) -> File {
    let options = OpenOptions { read: true, write: true, ..Default::default() };
    File::open(path, options).await.unwrap()
}

/// Reads page `n` and says whether it is as [`write_pages`] left it.
async fn is_right(file: &File, buf: IoBuf, n: usize, salt: usize) -> (bool, IoBuf) {
    let (result, buf) = file.read_exact_at(buf, (n * PAGE) as u64).await;
    result.unwrap();
    let right = buf.as_slice().iter().all(|byte| *byte == (n + salt) as u8);
    (right, buf)
}

/// Whether some ring of this process has `what` in one of its tables, as the system tells.
fn is_known_to_a_ring(what: &str) -> bool {
    let infos = std::fs::read_dir("/proc/self/fdinfo").unwrap();
    infos.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok()).any(|info| {
        let tables = info.split_once("UserFiles:").map(|(_, tables)| tables);
        tables.is_some_and(|tables| tables.contains(what))
    })
}

/// Asked several times: a busy ring tells nothing, and a message takes its time.
fn becomes_known(what: &str, known: bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(2));
        is_known_to_a_ring(what) == known
    })
}

#[test]
fn transfers_use_what_is_registered_and_the_bytes_are_right() {
    let Some(runtime) = start(1) else { return };
    let dir = TempDir::new();
    let path = dir.file("pages");
    write_pages(&path, 64, 3);
    runtime.block_on(move || async move {
        let file = open(&path).await;
        let mut bufs = IoBuf::alloc_many(16, PAGE);
        for n in 0..64 {
            let (right, mut buf) = is_right(&file, bufs.remove(0), n, 3).await;
            assert!(right, "page {n}");
            buf.as_mut_slice().fill(n as u8 + 100);
            let (result, buf) = file.write_all_at(buf, (n * PAGE) as u64).await;
            result.unwrap();
            bufs.push(buf);
        }
        for n in 0..64 {
            let (right, buf) = is_right(&file, bufs.remove(0), n, 100).await;
            assert!(right, "page {n} after its change");
            bufs.push(buf);
        }
        // In several pieces, and into memory of its own: by the file's place alone.
        let (result, all) = file.read_vectored_at(bufs, 0).await;
        assert_eq!(result.unwrap(), 16 * PAGE);
        assert_eq!(all[7].as_slice(), [107; PAGE]);
        assert!(is_right(&file, IoBuf::alloc(PAGE), 5, 100).await.0);
    });
    let stats = stats(&runtime);
    assert_eq!(stats.registration_refused_count, 0);
    // The first few of a file go by its descriptor.
    assert!((180..194).contains(&stats.registered_file_count), "{stats:?}");
    assert_eq!(stats.registered_buffer_count, 192, "{stats:?}");
}

#[test]
fn closed_files_and_freed_memory_are_forgotten() {
    let Some(runtime) = start(2) else { return };
    let dir = TempDir::new();
    let path = dir.file("forgotten");
    write_pages(&path, 1, 0);
    let (file, buf) = {
        let path = path.clone();
        runtime.block_on(move || async move {
            let file = open(&path).await;
            let mut buf = IoBuf::alloc_many(1, PAGE).remove(0);
            let far = file.clone();
            let there = spawn_on(1, move || async move {
                for _ in 0..20 {
                    assert!(is_right(&far, IoBuf::alloc(PAGE), 0, 0).await.0);
                }
            });
            for _ in 0..20 {
                buf = is_right(&file, buf, 0, 0).await.1;
            }
            there.await.unwrap();
            (file, buf)
        })
    };
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let address = format!("{:#x}/", buf.as_slice().as_ptr().addr());
    assert!(becomes_known(&name, true), "the file is in a table");
    assert!(becomes_known(&address, true), "the memory is in a table");
    // Outside of all workers: they are asleep, and woken.
    drop(file);
    drop(buf);
    assert!(becomes_known(&name, false), "a ring keeps a closed file open");
    assert!(becomes_known(&address, false), "a ring keeps freed memory pinned");
}

#[test]
fn a_lock_ends_with_its_file() {
    let Some(runtime) = start(1) else { return };
    let dir = TempDir::new();
    let path = dir.file("locked");
    write_pages(&path, 1, 9);
    runtime.block_on(move || async move {
        let options = OpenOptions { read: true, lock: true, ..Default::default() };
        for _ in 0..20 {
            let begin = runtime::time::now();
            let file = File::open(&path, options).await.unwrap();
            assert!(begin.elapsed() < Duration::from_millis(45), "had to try again");
            for _ in 0..20 {
                assert!(is_right(&file, IoBuf::alloc(PAGE), 0, 9).await.0);
            }
        }
    });
}

#[test]
fn more_files_and_memory_than_there_are_places_for() {
    let Some(runtime) = start(1) else { return };
    let dir = TempDir::new();
    let paths: Vec<_> = (0..150).map(|i| dir.file(&format!("file-{i}"))).collect();
    for (salt, path) in paths.iter().enumerate() {
        write_pages(path, 2, salt);
    }
    runtime.block_on(move || async move {
        let mut files = Vec::new();
        for (salt, path) in paths.iter().enumerate() {
            let file = open(path).await;
            // The first at each place keeps it.
            for _ in 0..10 {
                assert!(is_right(&file, IoBuf::alloc(PAGE), 0, salt).await.0);
            }
            files.push(file);
        }
        let mut arenas: Vec<IoBuf> = Vec::new();
        for round in 0..30 {
            for (salt, file) in files.iter().enumerate() {
                // Memory comes and goes; some stays for a while.
                let buf = IoBuf::alloc_many(2, PAGE).remove(0);
                let (right, buf) = is_right(file, buf, round % 2, salt).await;
                assert!(right, "file {salt}, round {round}");
                arenas.push(buf);
                if arenas.len() > 40 {
                    arenas.remove(round % 40);
                }
            }
            // Others take the places of those that are closed.
            let closed = round * 7 % files.len();
            files[closed] = open(&paths[closed]).await;
        }
    });
    let stats = stats(&runtime);
    assert_eq!(stats.registration_refused_count, 0);
    // Of 150 files some 64, less those that were closed.
    assert!((800..2500).contains(&stats.registered_file_count), "{stats:?}");
    assert_eq!(stats.registered_buffer_count, 4500, "{stats:?}");
}

#[test]
fn an_arena_of_several_pieces_is_pinned_as_it_is_used() {
    let Some(runtime) = start(1) else { return };
    let dir = TempDir::new();
    let path = dir.file("wide");
    write_pages(&path, 3000, 1);
    runtime.block_on(move || async move {
        let file = open(&path).await;
        // Three pieces of 4 MiB, each pinned at its first use.
        for (n, buf) in IoBuf::alloc_many(2600, PAGE).into_iter().enumerate().step_by(7) {
            assert!(is_right(&file, buf, n, 1).await.0, "page {n}");
        }
        // One transfer that spans pieces goes the ordinary way.
        let big = IoBuf::alloc_many(1, 2600 * PAGE).remove(0);
        let (result, big) = file.read_exact_at(big, 0).await;
        result.unwrap();
        assert_eq!(big.as_slice()[2599 * PAGE], (2599 + 1) as u8);
    });
    assert_eq!(stats(&runtime).registered_buffer_count, 372);
}

/// Takes the right to lock memory beyond the limit from the calling thread and all that it starts.
fn drop_the_right_to_lock_memory() {
    const CAP_IPC_LOCK: u32 = 14;
    // Version 3 of the interface, and the calling thread.
    let header = [0x2008_0522u32, 0];
    let mut sets = [[0u32; 3]; 2];
    // SAFETY: header and sets have the layout that the system calls expect of this version.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, &header, &mut sets), 0);
        sets[0].iter_mut().take(1).for_each(|effective| *effective &= !(1 << CAP_IPC_LOCK));
        assert_eq!(libc::syscall(libc::SYS_capset, &header, &sets), 0);
    }
}

#[test]
fn memory_beyond_the_limit_is_not_pinned_and_served_all_the_same() {
    if let Err(why) = probe::system().io_uring {
        return eprintln!("skipped: {why}");
    }
    let limited = std::thread::spawn(|| {
        drop_the_right_to_lock_memory();
        let limit = libc::rlimit { rlim_cur: 64 << 10, rlim_max: libc::RLIM_INFINITY };
        let mut before = limit;
        // SAFETY: both are valid limits. Threads that keep the right are not bound by it.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut before), 0);
            let limit = libc::rlimit { rlim_max: before.rlim_max, ..limit };
            assert_eq!(libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit), 0);
        }
        let Some(runtime) = start(1) else { return };
        let dir = TempDir::new();
        let path = dir.file("limited");
        write_pages(&path, 100, 0);
        runtime.block_on(move || async move {
            let file = open(&path).await;
            for (n, buf) in IoBuf::alloc_many(100, PAGE).into_iter().enumerate() {
                assert!(is_right(&file, buf, n, 0).await.0, "page {n}");
            }
        });
        let stats = stats(&runtime);
        assert_eq!(stats.registered_buffer_count, 0);
        // Asked once, not a hundred times.
        assert_eq!(stats.registration_refused_count, 1);
    });
    limited.join().unwrap();
}
