//! A store in trouble, in the simulation: what is asked ends in time, with the right bytes or with an
//! error, and nothing that was acknowledged is lost, by the interface of S3 and by Google's. `DOVETAIL_SEEDS` sets how many seeds run, and
//! `DOVETAIL_SEED` the first.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/server.rs"]
mod server;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use objectstore::{Client, Condition, ErrorKind, Limits, Options, Store};
use runtime::sim::{Disk, NetworkFaults};
use runtime::{Config, RingChoice, Runtime, spawn, time};
use server::{Faults, Server};

/// All requests end by then, and a little for what is under way in the worker.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_millis(100);

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// The interfaces that are asked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    S3,
    Google,
}

/// A client whose patience fits a simulated day.
fn store(url: &str, kind: Kind) -> Store {
    let limits = Limits {
        request_timeout: REQUEST_TIMEOUT,
        attempt_timeout: Duration::from_secs(5),
        first_byte_timeout: Duration::from_secs(2),
        stall_timeout: Duration::from_secs(1),
        retry_budget: 100_000,
        ..Limits::default()
    };
    let client = Client::new(Options { limits, ..Options::default() }).expect("a client");
    match kind {
        Kind::S3 => server::bucket(&client, url),
        Kind::Google => server::google(&client, url),
    }
}

/// What a version of an object holds: its length and all bytes follow from the name and the version.
fn content(key: &str, version: u64) -> Vec<u8> {
    let mut seed = key.bytes().fold(version + 1, |hash, byte| hash * 31 + u64::from(byte));
    let count = seed % 3 * 30_000 + seed % 977;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    let mut bytes = version.to_le_bytes().to_vec();
    bytes.extend((0..count).map(|_| next()));
    bytes
}

fn version(key: &str, bytes: &[u8], context: &str) -> u64 {
    let version = u64::from_le_bytes(bytes[..8].try_into().expect("a version"));
    assert!(bytes == content(key, version), "{context}: wrong bytes of {key}, {}", bytes.len());
    version
}

/// Runs a request and sees that it ends in time.
async fn in_time<T>(request: impl Future<Output = T>) -> T {
    let begun = time::now();
    let done = request.await;
    assert!(begun.elapsed() <= REQUEST_TIMEOUT + GRACE, "it took {:?}", begun.elapsed());
    done
}

#[derive(Default)]
struct Tally {
    done: u64,
    failed: u64,
    unknown: u64,
    /// Puts in place of a known version that were done.
    swapped: u64,
    /// Lists that came.
    listed: u64,
}

/// One writer of one name, which also reads it, wholly and in part.
async fn write_and_read(store: Store, server: Server, key: String, tally: Rc<RefCell<Tally>>) {
    // The newest version that may be there, and the newest that must be.
    let (mut tried, mut acknowledged) = (0, 0);
    for turn in 0..12u64 {
        tried += 1;
        let body = content(&key, tried);
        // Nobody else writes here: what is there is what is to be replaced.
        let there = server.object(&key).filter(|_| turn % 3 == 2);
        let put = match &there {
            Some(there) => {
                let condition = Condition::Matches(there.tag.clone());
                in_time(store.put_if(&key, &body, &condition)).await
            }
            None => in_time(store.put(&key, &body)).await,
        };
        let is_put = put.is_ok();
        if is_put {
            acknowledged = tried;
        }
        if there.is_some() {
            let stored = server.object(&key).map(|object| version(&key, &object.bytes, "swapped"));
            match put.as_ref().map_err(|error| error.kind()) {
                Ok(_) => assert_eq!(stored, Some(tried), "{key}: acknowledged and not there"),
                Err(ErrorKind::OutcomeUnknown) => tally.borrow_mut().unknown += 1,
                Err(kind) => assert_ne!(stored, Some(tried), "{key}: {kind:?}, and it was stored"),
            }
            tally.borrow_mut().swapped += u64::from(is_put);
        }
        let got = in_time(store.get(&key)).await;
        match &got {
            Ok(object) => {
                let found = version(&key, object.body.as_slice(), "get");
                assert!(
                    (acknowledged..=tried).contains(&found),
                    "{key}: {acknowledged} {found} {tried}"
                );
                assert_eq!(object.info.size, object.body.len() as u64);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                assert_eq!(acknowledged, 0, "lost")
            }
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
        let stored = server.object(&key).map(|object| version(&key, &object.bytes, "stored"));
        assert!(stored.unwrap_or(0) >= acknowledged, "{key}: an acknowledged write is lost");
        if let Some(object) = server.object(&key) {
            let (from, to) = (object.bytes.len() / 3, object.bytes.len());
            let part = in_time(store.get_range(&key, from as u64..to as u64)).await;
            // A part has no checksum: only the server's flips can be in it, one for each answer that
            // it was put together from.
            if let Ok(part) = &part {
                let wrong = part.body.as_slice().iter().zip(&object.bytes[from..]);
                let wrong: u32 = wrong.map(|(a, b)| (a ^ b).count_ones()).sum();
                assert!(part.body.len() == to - from && wrong <= 3, "{key}: {wrong} wrong bits");
            }
        }
        let mut tally = tally.borrow_mut();
        tally.done += u64::from(is_put) + u64::from(got.is_ok());
        tally.failed += u64::from(!is_put) + u64::from(got.is_err());
    }
}

/// Several writers want one name that nobody has: one gets it.
async fn race(store: Store, server: Server, key: String, tally: Rc<RefCell<Tally>>) {
    let writers = (1..=3u64).map(|writer| {
        let (store, key) = (store.clone(), key.clone());
        spawn(async move {
            let body = content(&key, writer);
            in_time(store.put_if(&key, &body, &Condition::Absent))
                .await
                .map_err(|error| error.kind())
        })
    });
    let mut ends = BTreeMap::new();
    for (handle, writer) in writers.collect::<Vec<_>>().into_iter().zip(1u64..) {
        ends.insert(writer, handle.await.expect("ended"));
    }
    let winner = server.object(&key).map(|object| version(&key, &object.bytes, "race"));
    for (writer, end) in &ends {
        match end {
            Ok(_) => assert_eq!(winner, Some(*writer), "{key}: {ends:?}"),
            Err(ErrorKind::Precondition) => assert_ne!(winner, Some(*writer), "{key}: {ends:?}"),
            Err(ErrorKind::OutcomeUnknown) => tally.borrow_mut().unknown += 1,
            Err(_) => assert_ne!(winner, Some(*writer), "{key}: {ends:?}"),
        }
    }
}

/// An object in parts that replaces another one, on condition that nobody else has.
async fn replace(store: Store, server: Server, key: String) {
    server.insert(&key, content(&key, 1));
    let tag = server.object(&key).expect("it was inserted").tag;
    let mut body = content(&key, 2);
    body.resize(11 << 20, 7);
    let condition = Condition::Matches(tag);
    let put = in_parts(store.put_parts(&key, &body, 5 << 20, &condition)).await;
    let stored = server.object(&key).expect("something is there").bytes;
    match put.map_err(|error| error.kind()) {
        Ok(_) => assert!(*stored == body, "{key}: acknowledged and lost"),
        Err(ErrorKind::OutcomeUnknown) => assert!(*stored == body || stored.len() < body.len()),
        Err(kind) => assert!(*stored == content(&key, 1), "{key}: {kind:?}, and it was stored"),
    }
}

/// An upload is three requests, one after the other, and one to give it up.
async fn in_parts<T>(request: impl Future<Output = T>) -> T {
    let begun = time::now();
    let done = request.await;
    assert!(begun.elapsed() <= (REQUEST_TIMEOUT + GRACE) * 4, "it took {:?}", begun.elapsed());
    done
}

fn run(seed: u64, kind: Kind) -> (u64, u64, Tally) {
    let disk = Disk::new(seed);
    let network = NetworkFaults {
        reset: 0.05,
        vanish: 0.02,
        refused: 0.05,
        life_ns: 3_000_000_000,
        ..NetworkFaults::short_and_late()
    };
    disk.network().faults(network);
    let config = Config { workers: 1, ring: RingChoice::Sim(disk), seed, ..Config::default() };
    let runtime = Runtime::start(config).expect("a runtime");
    runtime.block_on(move || async move {
        let (server, url) = Server::start();
        let server = if kind == Kind::Google { server.of_google() } else { server };
        *server.faults.borrow_mut() = Faults::quarter();
        let (store, tally) = (store(&url, kind), Rc::new(RefCell::new(Tally::default())));
        let mut tasks: Vec<_> = (0..8)
            .map(|n| {
                spawn(write_and_read(
                    store.clone(),
                    server.clone(),
                    format!("key {n}"),
                    tally.clone(),
                ))
            })
            .collect();
        tasks.extend((0..4).map(|n| {
            spawn(race(store.clone(), server.clone(), format!("race {n}"), tally.clone()))
        }));
        tasks.push(spawn(replace(store.clone(), server.clone(), "parts".to_owned())));
        for task in tasks {
            task.await.expect("no task panics");
        }
        // With the store well again all that was acknowledged can be got, and lists are whole.
        *server.faults.borrow_mut() = Faults::default();
        let listed = store.list_all("key", 100).await.map(|objects| objects.len());
        // The network is no better than it was.
        if let Ok(listed) = listed {
            tally.borrow_mut().listed += 1;
            let there = (0..8).filter(|n| server.object(&format!("key {n}")).is_some()).count();
            assert_eq!(listed, there);
        }
        store.close_idle();
        let counts = (server.request_count(), server.fault_count());
        (counts.0, counts.1, tally.take())
    })
}

#[test]
fn nothing_is_wrong_or_lost_in_a_store_in_trouble() {
    let (first, count) = (number("DOVETAIL_SEED", 1), number("DOVETAIL_SEEDS", 12));
    let (mut requests, mut faults, mut all) = (0, 0, Tally::default());
    let runs = (first..first + count).flat_map(|seed| [(seed, Kind::S3), (seed, Kind::Google)]);
    for (seed, kind) in runs {
        let ran = std::panic::catch_unwind(|| run(seed, kind));
        let Ok((asked, struck, tally)) = ran else {
            panic!(
                "seed {seed}, {kind:?}: DOVETAIL_SEED={seed} DOVETAIL_SEEDS=1 cargo test -p objectstore --test faults"
            );
        };
        (requests, faults) = (requests + asked, faults + struck);
        all.done += tally.done;
        all.failed += tally.failed;
        all.unknown += tally.unknown;
        all.swapped += tally.swapped;
        all.listed += tally.listed;
    }
    println!(
        "{requests} requests, {faults} faulty; {} done, {} failed, {} of unknown outcome",
        all.done, all.failed, all.unknown
    );
    assert!(faults * 6 > requests, "about a quarter is faulty");
    assert!(all.done > all.failed * 20, "most requests succeed in the end");
    assert!(all.swapped > count * 16, "most swaps are done: {}", all.swapped);
    assert!(all.listed > count, "most lists come: {}", all.listed);
}

#[test]
fn the_same_seed_runs_the_same_way() {
    for kind in [Kind::S3, Kind::Google] {
        let (one, two) = (run(5, kind), run(5, kind));
        assert_eq!((one.0, one.1, one.2.done), (two.0, two.1, two.2.done));
    }
}
