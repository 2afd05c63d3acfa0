//! The simulation: determinism, virtual time, crashes, faults.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use runtime::fs::{self, File, OpenOptions};
use runtime::sim::{Disk, FaultPlan};
use runtime::sync::{Event, Semaphore};
use runtime::{Config, IoBuf, RingChoice, RingKind, Runtime, spawn, spawn_on, time, yield_now};

fn machine(disk: &Disk, seed: u64, workers: usize) -> Runtime {
    let ring = RingChoice::Sim(disk.clone());
    Runtime::start(Config { ring, seed, workers, ..Config::default() }).unwrap()
}

fn writable() -> OpenOptions {
    OpenOptions { read: true, write: true, create: true, ..OpenOptions::default() }
}

fn block(fill: u8, len: usize) -> IoBuf {
    let mut buf = IoBuf::alloc(len);
    buf.as_mut_slice().fill(fill);
    buf
}

/// Some work with every kind of nondeterminism that a runtime has.
async fn busy_work() -> u64 {
    let semaphore = Semaphore::new(3);
    let file = File::open("/db", writable()).await.unwrap();
    let tasks: Vec<_> = (0..60usize)
        .map(|i| {
            let (file, semaphore) = (file.clone(), semaphore.clone());
            spawn_on(i % 3, move || async move {
                let _turn = semaphore.acquire().await;
                let fill = runtime::random_u64() as u8;
                file.write_all_at(block(fill, 2048), i as u64 * 1024).await.0.unwrap();
                time::sleep(Duration::from_micros(runtime::random_u64() % 500)).await;
                yield_now().await;
                let (result, buf) = file.read_exact_at(IoBuf::alloc(512), i as u64 * 512).await;
                result.unwrap();
                u64::from(buf.as_slice()[0])
            })
        })
        .collect();
    let mut sum = 0u64;
    for task in tasks {
        sum = sum.wrapping_mul(31).wrapping_add(task.await.unwrap());
    }
    file.sync_data().await.unwrap();
    sum
}

fn run_busy_work(seed: u64) -> (u64, u64) {
    let disk = Disk::new(seed);
    disk.faults(FaultPlan::short_and_late());
    let sum = machine(&disk, seed, 3).block_on(busy_work);
    (sum, disk.trace_hash())
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..10 {
        assert_eq!(run_busy_work(seed), run_busy_work(seed), "seed {seed}");
    }
    let hashes: std::collections::BTreeSet<u64> = (0..10).map(|s| run_busy_work(s).1).collect();
    assert_eq!(hashes.len(), 10, "different seeds give different runs");
}

#[test]
fn time_is_virtual() {
    let disk = Disk::new(1);
    let runtime = machine(&disk, 1, 2);
    assert_eq!(runtime.rings()[1].kind, RingKind::Sim);
    let real = Instant::now();
    let slept = runtime.block_on(|| async {
        let begin = time::now();
        time::sleep(Duration::from_secs(3600)).await;
        begin.elapsed()
    });
    assert!(slept >= Duration::from_secs(3600) && slept < Duration::from_secs(3601));
    assert!(real.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_deadlock_is_reported_with_the_seed() {
    let disk = Disk::new(5);
    let runtime = machine(&disk, 77, 2);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(|| async { Event::new().wait().await });
    }));
    let message = caught.unwrap_err().downcast_ref::<String>().unwrap().clone();
    assert!(message.contains("deadlock") && message.contains("77"), "{message}");
}

#[test]
fn a_panic_reaches_the_caller() {
    let runtime = machine(&Disk::new(1), 1, 2);
    let caught = catch_unwind(AssertUnwindSafe(|| runtime.block_on(|| async { panic!("no") })));
    assert_eq!(caught.unwrap_err().downcast_ref::<String>().unwrap(), "no");
    assert_eq!(runtime.block_on(|| async { 3 }), 3);
}

#[test]
fn detached_tasks_go_on_in_the_next_block_on() {
    let runtime = machine(&Disk::new(1), 1, 1);
    let (sender, receiver) = std::sync::mpsc::channel();
    runtime.block_on(|| async move {
        drop(spawn(async move {
            time::sleep(Duration::from_secs(5)).await;
            sender.send(()).unwrap();
        }));
    });
    assert!(receiver.try_recv().is_err());
    runtime.block_on(|| time::sleep(Duration::from_secs(6)));
    assert!(receiver.try_recv().is_ok());
}

/// Writes `old` durably, then `new` without a sync, and returns the disk.
fn half_synced(seed: u64) -> Disk {
    let disk = Disk::new(seed);
    machine(&disk, seed, 1).block_on(|| async {
        fs::create_dir("/d").await.unwrap();
        let file = File::open("/d/file", writable()).await.unwrap();
        file.write_all_at(block(1, 8192), 0).await.0.unwrap();
        file.sync_data().await.unwrap();
        fs::sync_dir("/d").await.unwrap();
        file.write_all_at(block(2, 8192), 4096).await.0.unwrap();
    });
    disk
}

#[test]
fn synced_bytes_survive_and_unsynced_sectors_may_vanish_or_tear() {
    let disk = half_synced(3);
    let (mut torn, mut all, mut none, mut cut) = (0, 0, 0, 0);
    for seed in 0..200 {
        let bytes = disk.crash(seed).contents("/d/file").expect("a synced name survives");
        assert!(bytes[..4096].iter().all(|&b| b == 1), "synced bytes survive");
        assert!([8192, 12_288].contains(&bytes.len()) || bytes.len().is_multiple_of(512));
        let sectors: Vec<u8> = bytes[4096..8192].chunks(512).map(|s| s[0]).collect();
        for sector in bytes[4096..8192].chunks(512) {
            assert!(sector.iter().all(|&b| b == sector[0]), "a sector is whole");
        }
        assert!(sectors.iter().all(|&s| s == 1 || s == 2), "old or new, nothing else");
        let new = sectors.iter().filter(|&&s| s == 2).count();
        torn += usize::from(new > 0 && new < 8);
        all += usize::from(new == 8);
        none += usize::from(new == 0);
        cut += usize::from(bytes.len() == 8192);
    }
    assert!(torn > 20 && all > 5 && none > 5 && cut > 5, "{torn} {all} {none} {cut}");
}

#[test]
fn names_survive_after_a_sync_of_their_directory_only() {
    let disk = Disk::new(4);
    machine(&disk, 4, 1).block_on(|| async {
        let file = File::open("/d/tmp", writable()).await.unwrap();
        file.write_all_at(block(7, 512), 0).await.0.unwrap();
        file.sync_data().await.unwrap();
        fs::sync_dir("/d").await.unwrap();
        fs::rename("/d/tmp", "/d/final").await.unwrap();
    });
    let crashed: Vec<Disk> = (0..50).map(|seed| disk.crash(seed)).collect();
    let renamed = crashed.iter().filter(|disk| disk.contents("/d/final").is_some()).count();
    assert!((5..45).contains(&renamed), "{renamed}");
    for disk in &crashed {
        let names = ["/d/tmp", "/d/final"];
        let content: Vec<_> = names.iter().filter_map(|name| disk.contents(name)).collect();
        assert_eq!(content, [vec![7; 512]], "one name or the other, and the synced bytes");
    }
}

#[test]
fn a_crash_at_the_nth_write_freezes_the_disk() {
    for n in 1..=6u64 {
        let disk = Disk::new(n);
        disk.faults(FaultPlan { crash_at_write: Some(n), ..FaultPlan::default() });
        let done = machine(&disk, n, 1).block_on(|| async {
            let file = File::open("/f", writable()).await.unwrap();
            fs::sync_dir("/").await.unwrap();
            for i in 0..6u64 {
                let (result, _) = file.write_all_at(block(i as u8 + 1, 4096), i * 4096).await;
                if result.is_err() || file.sync_data().await.is_err() {
                    return i;
                }
            }
            6
        });
        assert_eq!((done, disk.is_crashed()), (n - 1, true));
        let mut torn = 0;
        for seed in 0..40 {
            let bytes = disk.crash(seed).contents("/f").unwrap();
            let synced = (n as usize - 1) * 4096;
            let expected = (0..n - 1).flat_map(|i| vec![i as u8 + 1; 4096]);
            assert!(bytes[..synced].iter().copied().eq(expected));
            torn += usize::from(bytes.len() > synced && bytes.len() < synced + 4096);
        }
        assert!(torn > 0, "the write under way may be torn");
    }
}

#[test]
fn after_a_failed_sync_the_bytes_can_be_read_but_not_saved() {
    let disk = Disk::new(9);
    machine(&disk, 9, 1).block_on({
        let disk = disk.clone();
        || async move {
            let file = File::open("/f", writable()).await.unwrap();
            fs::sync_dir("/").await.unwrap();
            file.write_all_at(block(5, 64 * 512), 0).await.0.unwrap();
            disk.faults(FaultPlan { sync_error: 1.0, ..FaultPlan::default() });
            file.sync_data().await.unwrap_err();
            disk.faults(FaultPlan::default());
            file.sync_data().await.unwrap();
            let (result, buf) = file.read_exact_at(IoBuf::alloc(64 * 512), 0).await;
            result.unwrap();
            assert!(buf.as_slice().iter().all(|&b| b == 5));
        }
    });
    let bytes = disk.crash(1).contents("/f").unwrap();
    assert!(bytes.len() < 64 * 512 || bytes.contains(&0), "the retried sync saved nothing");
}

#[test]
fn faults_strike_where_the_plan_says() {
    let disk = Disk::new(2);
    machine(&disk, 2, 1).block_on({
        let disk = disk.clone();
        || async move {
            let file = File::open("/f", writable()).await.unwrap();
            let next = disk.op_count() + 1;
            disk.faults(FaultPlan { fail_op: Some((next, libc::ENOSPC)), ..Default::default() });
            let error = file.write_at(block(1, 512), 0).await.0.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
            disk.faults(FaultPlan { short: 1.0, ..FaultPlan::default() });
            let shorts = Rc::new(Cell::new(0));
            for _ in 0..50 {
                let count = file.write_at(block(1, 8192), 0).await.0.unwrap();
                shorts.set(shorts.get() + usize::from(count < 8192));
                file.write_all_at(block(1, 8192), 0).await.0.unwrap();
            }
            assert!(shorts.get() > 20);
            disk.faults(FaultPlan { read_error: 1.0, ..FaultPlan::default() });
            file.read_at(IoBuf::alloc(512), 0).await.0.unwrap_err();
        }
    });
    assert!(disk.rot("/f", 100, 0x80));
    assert_eq!(disk.contents("/f").unwrap()[100], 1 ^ 0x80);
}

#[test]
fn direct_files_demand_alignment_and_locks_exclude() {
    let disk = Disk::new(2);
    machine(&disk, 2, 1).block_on(|| async {
        let options = OpenOptions { direct: true, lock: true, ..writable() };
        let file = File::open("/f", options).await.unwrap();
        let error = file.write_at(block(1, 100), 0).await.0.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        let error = file.write_at(block(1, 512), 7).await.0.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        let locked = File::open("/f", options).await.unwrap_err();
        assert_eq!(locked.kind(), io::ErrorKind::WouldBlock);
        drop(file);
        File::open("/f", options).await.unwrap();
    });
}

#[test]
fn a_killed_process_leaves_its_finished_writes() {
    let disk = half_synced(6);
    let after = disk.kill(1);
    assert_eq!(after.contents("/d/file"), disk.contents("/d/file"));
    machine(&after, 1, 1).block_on(|| async {
        let file = File::open("/d/file", writable()).await.unwrap();
        file.sync_data().await.unwrap();
    });
    assert_eq!(after.crash(3).contents("/d/file"), disk.contents("/d/file"));
}

#[test]
fn an_account_learns_how_long_the_workers_stood_still_for_it() {
    let disk = Disk::new(8);
    let account = runtime::Account::new();
    let query = account.clone();
    machine(&disk, 8, 2).block_on(|| async move {
        let file = File::open("/f", writable()).await.unwrap();
        file.write_all_at(block(1, 4096), 0).await.0.unwrap();
        let reads = async {
            for _ in 0..10 {
                file.read_exact_at(IoBuf::alloc(4096), 0).await.0.unwrap();
            }
        };
        query.enter(reads).await;
        // Nothing of the account is in flight: this is not its stall.
        time::sleep(Duration::from_secs(1)).await;
    });
    let sum = account.snapshot();
    assert_eq!(sum.reads, 10);
    // A read takes 45 to 180 microseconds, and nothing else runs meanwhile.
    assert!((450_000..1_800_000).contains(&sum.stall_ns), "{} ns", sum.stall_ns);
}

#[test]
fn a_file_of_another_disk_is_refused() {
    let (disk, other) = (Disk::new(1), Disk::new(2));
    let file = machine(&disk, 1, 1).block_on(|| File::open("/f", writable())).unwrap();
    machine(&other, 1, 1).block_on(|| async move {
        let error = file.read_at(IoBuf::alloc(512), 0).await.0.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        assert!(file.sync_data().await.is_err() && file.len().await.is_err());
        assert!(file.write_all_at(block(1, 512), 0).await.0.is_err());
    });
}

/// What a sector may hold after a crash: the synced value, and what was written since.
type Allowed = Vec<Vec<u8>>;

/// Random writes and syncs of one file, one value per write; returns what each sector may hold.
fn scribble(disk: &Disk, seed: u64) -> Allowed {
    const SECTORS: u64 = 40;
    machine(disk, seed, 1).block_on(|| async {
        let file = File::open("/f", writable()).await.unwrap();
        fs::sync_dir("/").await.unwrap();
        file.write_all_at(block(0, (SECTORS * 512) as usize), 0).await.0.unwrap();
        file.sync_data().await.unwrap();
        let mut allowed: Allowed = vec![vec![0]; SECTORS as usize];
        for value in 1..60u8 {
            if runtime::random_u64().is_multiple_of(6) {
                file.sync_data().await.unwrap();
                for sector in &mut allowed {
                    *sector = sector.split_off(sector.len() - 1);
                }
                continue;
            }
            let begin = runtime::random_u64() % SECTORS;
            let count = 1 + runtime::random_u64() % (SECTORS - begin).min(9);
            let buf = block(value, (count * 512) as usize);
            file.write_all_at(buf, begin * 512).await.0.unwrap();
            (begin..begin + count).for_each(|at| allowed[at as usize].push(value));
        }
        allowed
    })
}

#[test]
fn crash_images_hold_what_was_written_and_nothing_else() {
    let mut old_values = 0;
    for seed in 0..30 {
        let disk = Disk::new(seed);
        disk.faults(FaultPlan::short_and_late());
        let allowed = scribble(&disk, seed);
        for crash in 0..10 {
            let bytes = disk.crash(crash).contents("/f").unwrap();
            for (at, sector) in bytes.chunks(512).enumerate() {
                let value = sector[0];
                assert!(sector.iter().all(|&b| b == value), "seed {seed}: a torn sector");
                assert!(allowed[at].contains(&value), "seed {seed}, sector {at}: {value}");
                old_values += usize::from(Some(&value) != allowed[at].last());
            }
        }
    }
    assert!(old_values > 1000, "crashes do lose writes");
}
