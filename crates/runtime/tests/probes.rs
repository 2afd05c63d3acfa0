//! The probes tell what is there.

#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/rings.rs"]
mod rings;
#[path = "support/temp_dir.rs"]
mod temp_dir;

use std::time::Duration;

use rings::on_each;
use runtime::fs::{File, OpenOptions};
use runtime::sim::Disk;
use runtime::{Config, IoBuf, RingChoice, RingKind, Runtime, probe};
use temp_dir::TempDir;

#[test]
fn the_system_report_agrees_with_the_runtime() {
    let report = probe::system();
    let kind = rings::start(RingChoice::Auto, 1).unwrap().rings()[0].kind;
    assert_eq!(report.io_uring.is_ok(), kind == RingKind::Uring);
    assert!(report.kernel.contains('.') && report.cpu_count > 0);
    if let Err(reason) = report.io_uring {
        assert!(!reason.is_empty());
    }
}

#[test]
fn a_file_report_names_the_file_system_and_the_way() {
    let dir = TempDir::new();
    let path = dir.file("probed");
    std::fs::write(&path, [0; 8192]).unwrap();
    let report = probe::file(&path).unwrap();
    assert!(!report.file_system.is_empty() && !report.backend.reason.is_empty());
    assert!(report.free_bytes > 0);
    assert!(probe::file(dir.file("missing")).is_err());
}

#[test]
fn the_device_probe_reads_at_the_given_depth() {
    on_each(2, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("device");
        std::fs::write(&path, vec![0; 1 << 20]).unwrap();
        let empty = dir.file("empty");
        std::fs::write(&empty, []).unwrap();
        let report = runtime.block_on(move || async move {
            let refused = probe::device(&empty, 4, Duration::from_millis(1)).await;
            assert!(refused.is_err(), "there is nothing to read");
            probe::device(&path, 5, Duration::from_millis(30)).await.unwrap()
        });
        assert!(report.read_count >= 5 && report.rate() > 0.0);
        assert!(report.latency_median <= report.latency_p99);
        assert!(report.elapsed >= Duration::from_millis(30));
    });
}

#[test]
fn a_profile_reads_alone_many_at_once_and_in_sequence_within_a_second() {
    on_each(2, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("device");
        std::fs::write(&path, vec![1; 4 << 20]).unwrap();
        let begin = std::time::Instant::now();
        let report = runtime.block_on(move || async move {
            // 8 MiB are asked for and 4 MiB are there.
            let report = probe::profile(&path, 8 << 20).await.unwrap();
            let refused = probe::profile(&path, 4096).await;
            assert!(refused.is_err(), "less than a run");
            report
        });
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
        assert_eq!((report.alone.depth, report.many.depth), (1, probe::MANY_DEPTH));
        assert!(report.alone.rate() > 0.0 && report.many.rate() > 0.0);
        assert!(report.bytes_per_s > 0.0);
    });
}

#[test]
fn the_simulated_device_has_a_profile_that_the_seed_decides() {
    let profile = |seed: u64| {
        let config = Config {
            ring: RingChoice::Sim(Disk::new(seed)),
            seed,
            workers: 2,
            ..Config::default()
        };
        let runtime = Runtime::start(Config { pin: false, ..config }).unwrap();
        runtime.block_on(|| async {
            let options = OpenOptions { write: true, create: true, ..OpenOptions::default() };
            let file = File::open("/device", options).await.unwrap();
            file.write_all_at(IoBuf::alloc(1 << 20), 0).await.0.unwrap();
            file.sync_data().await.unwrap();
            probe::profile("/device", 1 << 20).await.unwrap()
        })
    };
    let figures = |seed| {
        let report = profile(seed);
        (report.alone.read_count, report.many.read_count, report.bytes_per_s.to_bits())
    };
    assert_eq!(figures(3), figures(3));
}

/// Denies the three system calls of io_uring to the calling thread and all that it starts, with
/// EPERM: what the default profiles of container runtimes do.
fn deny_io_uring() {
    let statement =
        |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    let mut filter = [
        // The number of the system call is the first word of `seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(equal, libc::SYS_io_uring_setup as u32, 3, 0),
        statement(equal, libc::SYS_io_uring_enter as u32, 2, 0),
        statement(equal, libc::SYS_io_uring_register as u32, 1, 0),
        statement(give, libc::SECCOMP_RET_ALLOW, 0, 0),
        statement(give, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: `program` is a valid filter program that the kernel copies.
    let rc = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
    };
    assert_eq!(rc, 0, "the filter is in force");
}

#[test]
fn where_io_uring_is_denied_threads_take_over_and_say_why() {
    let denied = std::thread::spawn(|| {
        deny_io_uring();
        assert!(Runtime::start(Config { ring: RingChoice::Uring, ..Config::default() }).is_err());
        assert!(probe::system().io_uring.is_err());
        let runtime = rings::start(RingChoice::Auto, 2).unwrap();
        let report = runtime.rings()[1].clone();
        assert_eq!(report.kind, RingKind::Threads);
        assert!(report.reason.contains("seccomp"), "{}", report.reason);
        let path = std::env::current_exe().unwrap();
        let bytes = runtime.block_on(|| runtime::fs::read(path)).unwrap();
        assert_eq!(bytes[..4], *b"\x7fELF");
    });
    denied.join().unwrap();
}
