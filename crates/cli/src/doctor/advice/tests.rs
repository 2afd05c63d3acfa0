//! Advice over machines that are made up: what is told follows from what was measured.

use runtime::probe::{DurableReport, QueueReport};

use super::*;

fn report(read_count: u64, kernel_workers: usize, cpu_ms: u64) -> DeviceReport {
    DeviceReport {
        read_count,
        elapsed: Duration::from_secs(1),
        cpu: Duration::from_millis(cpu_ms),
        depth: 8,
        latency_median: Duration::from_micros(100),
        latency_p99: Duration::from_micros(200),
        kind: RingKind::Uring,
        direct: true,
        kernel_workers,
    }
}

/// A server with fast SSDs whose queue holds 127 requests, as the paper's virtual machine.
fn server() -> Measured {
    let queue = QueueReport {
        device: "nvme0n1".to_owned(),
        requests_max: Some(127),
        hardware_bytes_max: Some(128 << 10),
        is_cache_volatile: Some(false),
        can_poll: Some(true),
        ..QueueReport::default()
    };
    let us = Duration::from_micros;
    Measured {
        queue: Some(queue),
        cores: 64,
        steps: vec![
            ((4 << 10, 64), report(500_000, 0, 1000)),
            ((4 << 10, 1024), report(480_000, 12, 1500)),
            ((64 << 10, 16), report(95_000, 0, 400)),
            ((256 << 10, 8), report(25_000, 3, 300)),
        ],
        polled: Some(report(700_000, 0, 2000)),
        durable: DurableReport { plain: us(20), synced: us(30), dsync: Some(us(40)), direct: true },
    }
}

fn told(measured: &Measured, topic: &str) -> (String, String) {
    let found = advise(measured).into_iter().find(|advice| advice.topic == topic);
    found.map(|advice| (advice.what, advice.why)).expect("there is such advice")
}

#[test]
fn sizes_and_depths_that_threads_of_the_kernel_served_are_named() {
    let (_, why) = told(&server(), "fall-back");
    assert!(why.contains("4 KiB with 1024 in flight: 12"), "{why}");
    assert!(why.contains("256 KiB with 8 in flight: 3"), "{why}");
    // The largest throughput that needed none of them.
    let (what, why) = told(&server(), "block size");
    assert_eq!(what, "scans read 64 KiB at a time");
    assert!(why.contains("max_hw_sectors_kb: 128 KiB"), "{why}");
    let (what, why) = told(&server(), "depth");
    assert_eq!(what, "at most 127 requests in flight");
    assert!(why.contains("500000 reads of 4 KiB a second with 64 in flight"), "{why}");
}

#[test]
fn a_core_is_given_away_only_where_there_are_many_and_it_pays() {
    assert!(told(&server(), "SQPOLL").0.starts_with("worth a trial"));
    assert_eq!(told(&Measured { cores: 2, ..server() }, "SQPOLL").0, "no");
    assert_eq!(
        told(&Measured { polled: Some(report(500_000, 0, 1)), ..server() }, "SQPOLL").0,
        "no"
    );
    assert_eq!(told(&Measured { polled: None, ..server() }, "SQPOLL").0, "no");
}

#[test]
fn commits_are_told_what_the_cache_does_and_which_way_is_faster() {
    let told = |measured| (told(&measured, "write cache").0, told(&measured, "durable writes").0);
    let (cache, way) = told(server());
    assert!(cache.contains("power-loss protection"), "{cache}");
    assert_eq!(way, "worth a trial: wal_sync_method = fdatasync");
    let ms = Duration::from_millis;
    let durable = DurableReport { plain: ms(1), synced: ms(9), dsync: Some(ms(5)), direct: true };
    let queue = QueueReport { is_cache_volatile: Some(true), ..QueueReport::default() };
    let (cache, way) = told(Measured { queue: Some(queue), durable, ..server() });
    assert_eq!(cache, "volatile: a commit has to flush it");
    assert_eq!(way, "one write with RWF_DSYNC");
    let (cache, way) = told(Measured {
        queue: None,
        durable: DurableReport { dsync: None, ..durable },
        ..server()
    });
    assert_eq!(
        (cache.as_str(), way.as_str()),
        ("unknown: commits flush it", "write, then fdatasync")
    );
}

#[test]
fn without_io_uring_there_is_nothing_to_fall_back_from() {
    let mut threads = server();
    threads.steps.iter_mut().for_each(|(_, report)| report.kind = RingKind::Threads);
    assert_eq!(told(&threads, "fall-back").0, "none: there is no io_uring");
}

#[test]
fn passthrough_is_possible_where_the_namespace_has_a_generic_device() {
    let mut measured = server();
    assert_eq!(told(&measured, "passthrough").0, "no");
    let queue = measured.queue.as_mut().expect("a server has a queue");
    queue.passthrough = Some("/dev/ng0n1".into());
    assert_eq!(told(&measured, "passthrough").0, "possible, at /dev/ng0n1");
}
