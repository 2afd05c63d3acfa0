//! SQPOLL and IOPOLL: had as asked for, or refused with a reason.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/temp_dir.rs"]
mod temp_dir;

use std::io::ErrorKind;
use std::time::Duration;

use runtime::fs::{self, File, OpenOptions};
use runtime::sim::Disk;
use runtime::{Config, IoBuf, RingChoice, Runtime, Sqpoll, StartError, probe};
use temp_dir::TempDir;

const SQPOLL: Sqpoll = Sqpoll { idle: Duration::from_millis(5), cpu: Some(0) };

fn refused(config: Config) -> String {
    match Runtime::start(config) {
        Err(error @ (StartError::Config(_) | StartError::Ring(_))) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(runtime) => panic!("started: {:?}", runtime.rings()),
    }
}

#[test]
fn sqpoll_is_reported_with_its_thread() {
    if let Err(why) = probe::system().io_uring {
        return eprintln!("skipped: {why}");
    }
    for ring in [RingChoice::Auto, RingChoice::Uring] {
        let config = Config { ring, workers: 2, sqpoll: Some(SQPOLL), ..Config::default() };
        let runtime = Runtime::start(config).unwrap();
        for report in runtime.rings() {
            assert!(report.reason.contains("SQPOLL"), "{}", report.reason);
            assert!(report.reason.contains("core 0, asleep after 5 ms"), "{}", report.reason);
        }
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let names =
            threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")));
        let kernel =
            names.filter(|name| name.as_ref().is_ok_and(|name| name.starts_with("iou-sqp")));
        assert!(kernel.count() > 0, "no thread of the kernel submits");
    }
}

#[test]
fn a_thread_that_has_fallen_asleep_is_woken() {
    if let Err(why) = probe::system().io_uring {
        return eprintln!("skipped: {why}");
    }
    let sqpoll = Some(Sqpoll { idle: Duration::from_millis(1), cpu: None });
    let config = Config { ring: RingChoice::Uring, workers: 1, sqpoll, ..Config::default() };
    let runtime = Runtime::start(config).unwrap();
    let path = std::env::current_exe().unwrap();
    for _ in 0..20 {
        let path = path.clone();
        std::thread::sleep(Duration::from_millis(4));
        let bytes = runtime.block_on(|| async move {
            let read = OpenOptions { read: true, ..Default::default() };
            let file = File::open(path, read).await.unwrap();
            runtime::time::sleep(Duration::from_millis(4)).await;
            file.read_exact_at(IoBuf::alloc(4), 0).await.1
        });
        assert_eq!(bytes.as_slice(), b"\x7fELF");
    }
}

#[test]
fn what_cannot_be_had_is_refused_at_the_start() {
    let sqpoll = Some(SQPOLL);
    for ring in [RingChoice::Threads, RingChoice::Sim(Disk::new(1))] {
        let config = Config { ring: ring.clone(), sqpoll, ..Config::default() };
        assert!(refused(config).contains("must be `uring`"));
        let config = Config { ring, iopoll: true, ..Config::default() };
        assert!(refused(config).contains("must be `uring`"));
    }
    for ring in [RingChoice::Threads, RingChoice::Sim(Disk::new(1))] {
        let config = Config { ring, passthrough: true, ..Config::default() };
        assert!(refused(config).contains("passthrough is an option of io_uring"));
    }
    let config = Config { sqpoll, iopoll: true, ..Config::default() };
    assert!(refused(config).contains("cannot be combined"));
    for idle in [Duration::ZERO, Duration::from_secs(61)] {
        let sqpoll = Some(Sqpoll { idle, cpu: None });
        assert!(refused(Config { sqpoll, ..Config::default() }).contains("1 ms to 60 s"));
    }
    // `Auto` does not fall back when something is asked of io_uring.
    let sqpoll = Some(Sqpoll { cpu: Some(100_000), ..SQPOLL });
    let reason = refused(Config { ring: RingChoice::Auto, sqpoll, ..Config::default() });
    assert!(reason.contains("100000") || probe::system().io_uring.is_err(), "{reason}");
}

#[test]
fn a_polled_file_is_polled_or_refused() {
    if let Err(why) = probe::system().io_uring {
        return eprintln!("skipped: {why}");
    }
    let config = Config { workers: 2, iopoll: true, ..Config::default() };
    let runtime = Runtime::start(config).unwrap();
    assert!(runtime.rings().iter().all(|report| report.reason.contains("IOPOLL")));
    let dir = TempDir::new();
    let (path, text) = (dir.file("data"), dir.file("text"));
    std::fs::write(&path, [7; 8192]).unwrap();
    std::fs::write(&text, "whatever").unwrap();
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    runtime.block_on(|| async move {
        // Files that are not direct travel as ever.
        assert_eq!(fs::read(text).await.unwrap(), b"whatever");
        let direct = OpenOptions { read: true, direct: true, ..Default::default() };
        match File::open(&path, direct).await {
            Ok(file) => {
                assert!(file.backend().polled, "{:?}", file.backend());
                let (result, buf) = file.read_exact_at(IoBuf::alloc(4096), 4096).await;
                result.unwrap();
                assert_eq!(buf.as_slice(), [7; 4096]);
            }
            Err(error) => {
                let is_promised = std::env::var_os("DOVETAIL_POLLED").is_some();
                assert!(!is_promised, "this device can be polled: {error}");
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                assert!(error.to_string().contains("cannot be polled: "), "{error}");
            }
        }
        let shm = std::path::Path::new("/dev/shm/dovetail-polling");
        let create = OpenOptions { write: true, create: true, ..direct };
        match File::open(shm, create).await {
            Err(error) => assert!(error.to_string().contains("tmpfs"), "{error}"),
            Ok(file) => panic!("{:?}", file.backend()),
        }
        let _ = fs::remove(shm).await;
    });
}
