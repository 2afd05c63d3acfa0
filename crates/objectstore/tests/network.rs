//! Names, addresses, slow servers: in the simulation, where time is counted and not waited for.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/server.rs"]
mod server;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use objectstore::{AllowList, Client, ErrorKind, Limits, Options, S3Options, Store, Style, Usage};
use runtime::sim::{Disk, Link, Network};
use runtime::{Config, IoBuf, RingChoice, Runtime, spawn, time};
use server::{Faults, Server, Speed};

fn simulated<F: Future<Output = T> + 'static, T: Send + 'static>(
    test: impl FnOnce(Network) -> F + Send + 'static,
) -> T {
    let disk = Disk::new(11);
    let network = disk.network();
    // The server's speed is what counts.
    let rate = 10_000_000_000;
    let buffers = (1 << 20, 1 << 20);
    network.link(Link {
        rate,
        send_bytes_max: buffers.0,
        receive_bytes_max: buffers.1,
        segment_bytes_max: 64 << 10,
        ..Link::default()
    });
    let config = Config { workers: 1, ring: RingChoice::Sim(disk), ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(move || test(network))
}

fn open(url: &str, options: Options) -> Store {
    let client = Client::new(options).expect("a client");
    let (bucket, endpoint) = ("bucket".to_owned(), Some(url.to_owned()));
    client
        .s3(S3Options { bucket, endpoint, style: Style::Path, ..S3Options::default() })
        .expect("a store")
}

fn ips(all: &[&str]) -> Vec<IpAddr> {
    all.iter().map(|ip| ip.parse().expect("an address")).collect()
}

#[test]
fn a_name_with_a_dead_address_is_of_use() {
    simulated(|network| async move {
        let (server, _) = Server::start_at("127.0.0.1:9000");
        server.insert("object", vec![1; 100]);
        network.name("store.test", &ips(&["127.0.0.9", "127.0.0.1", "127.0.0.8"]));
        let store = open("http://store.test:9000", Options::default());
        for _ in 0..50 {
            store.get("object").await.expect("one address serves");
            store.close_idle();
        }
        let attempts = store.client_stats().attempt_count;
        assert_eq!(attempts, 50, "what cannot be reached is no attempt");
        network.name("store.test", &[]);
        store.get("object").await.expect("what is known serves");
        let other = open("http://nowhere.test", Options { limits: hasty(), ..Options::default() });
        let error = other.get("object").await.expect_err("there is no such host");
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    });
}

fn hasty() -> Limits {
    Limits { request_timeout: Duration::from_secs(1), ..Limits::default() }
}

#[test]
fn a_name_of_a_metadata_service_is_refused() {
    simulated(|network| async move {
        network.name("store.test", &ips(&["127.0.0.1", "169.254.169.254"]));
        let store = open("http://store.test", Options::default());
        let error = store.get("object").await.expect_err("a forbidden address");
        assert_eq!((error.kind(), error.attempt_count()), (ErrorKind::Forbidden, 1), "{error}");
        let allow = AllowList::only(["*.elsewhere.test"]);
        let client = Client::new(Options { allow, ..Options::default() }).expect("a client");
        assert!(client.http("http://store.test").is_err(), "it is not listed");
        assert!(client.http("http://a.elsewhere.test").is_ok());
        assert!(
            Client::new(Options::default()).expect("one").http("http://169.254.169.254").is_err()
        );
    });
}

#[test]
fn a_silent_store_is_left_in_time() {
    simulated(|_| async {
        let (server, url) = Server::start();
        server.insert("object", vec![1; 100]);
        *server.faults.borrow_mut() = Faults { silent: 1.0, ..Faults::default() };
        let store = open(&url, Options { limits: hasty(), ..Options::default() });
        let begun = time::now();
        let error = store.get("object").await.expect_err("it says nothing");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(begun.elapsed() <= Duration::from_millis(1010), "{:?}", begun.elapsed());
    });
}

const OBJECT: usize = 200_000;

/// Runs gets, so many at once; how long each took, and all.
async fn run(store: &Store, at_once: usize, each: usize) -> (Vec<Duration>, Duration) {
    let begun = time::now();
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let store = store.clone();
            spawn(async move {
                let (mut took, mut buf) = (Vec::new(), IoBuf::alloc(OBJECT));
                for _ in 0..each {
                    let begun = time::now();
                    let got = store.get_into("object", 0..OBJECT as u64, buf, 0).await;
                    assert_eq!(got.0.expect("got").size, OBJECT as u64);
                    assert!(got.1.as_slice().iter().all(|byte| *byte == 5));
                    took.push(begun.elapsed());
                    buf = got.1;
                }
                took
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.expect("ended"));
    }
    all.sort();
    (all, begun.elapsed())
}

/// A store that takes 10 ms and 2 MB/s for each connection.
fn slow_server(straggles: f64) -> (Server, String) {
    let (server, url) = Server::start();
    server.insert("object", vec![5; OBJECT]);
    let latency = Duration::from_millis(10);
    *server.speed.borrow_mut() = Speed { latency, rate: 2_000_000, straggles };
    (server, url)
}

#[test]
fn slow_gets_are_begun_again_elsewhere() {
    let measure = |restart_share| {
        simulated(move |_| async move {
            let (server, url) = slow_server(0.05);
            let limits = Limits { restart_share, ..Limits::default() };
            let store = open(&url, Options { limits, ..Options::default() });
            let (took, _) = run(&store, 8, 150).await;
            (took[took.len() * 99 / 100], server.request_count())
        })
    };
    let (without, requests) = measure(0.0);
    assert_eq!(requests, 1200);
    let (with, requests) = measure(0.05);
    assert!(with.as_secs_f64() < 0.35 * without.as_secs_f64(), "{with:?} {without:?}");
    assert!(requests <= 1200 + 1200 * 6 / 100, "{requests}");
}

#[test]
fn when_all_are_slow_few_are_begun_again_and_none_fails() {
    simulated(|_| async {
        let (server, url) = slow_server(0.0);
        // Nothing may be repeated but what is begun again.
        let limits = Limits { adapts: false, retry_budget: 0, ..Limits::default() };
        let store = open(&url, Options { limits, ..Options::default() });
        run(&store, 64, 2).await;
        let before = (store.client_stats(), server.request_count());
        server.speed.borrow_mut().rate /= 2;
        let usage = Arc::new(Usage::default());
        run(&store.counted_in(usage.clone()), 64, 1).await;
        let after = store.client_stats();
        let restarts = after.restart_count - before.0.restart_count;
        assert!((1..=8).contains(&restarts), "the burst, and no more: {restarts}");
        assert_eq!(after.attempt_count - before.0.attempt_count, 64 + restarts);
        assert_eq!(server.request_count() - before.1, 64 + restarts);
        assert_eq!(usage.restart_count.load(Relaxed), restarts);
        assert_eq!(usage.attempt_count.load(Relaxed), 64 + restarts);
    });
}

#[test]
fn the_number_in_flight_finds_itself() {
    let measure = |adapts| {
        simulated(move |_| async move {
            let (_server, url) = slow_server(0.0);
            let limits = Limits { adapts, restart_share: 0.0, ..Limits::default() };
            let store = open(&url, Options { limits, ..Options::default() });
            run(&store, 48, 10).await;
            let (_, time) = run(&store, 48, 20).await;
            (time, store.requests_allowed())
        })
    };
    let (fixed, _) = measure(false);
    let (adapted, allowed) = measure(true);
    assert!(adapted.as_secs_f64() < 1.1 * fixed.as_secs_f64(), "{adapted:?} {fixed:?}");
    assert!((48..=256).contains(&allowed), "{allowed}");
}
