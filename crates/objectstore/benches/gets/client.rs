//! The client that is measured: a process of its own, on one core.

use std::fmt;
use std::time::Instant;

use objectstore::{
    ChunkPlace, Client, DataKey, FileOwner, Limits, Opener, Options, Sealer, Store, Trust,
};
use runtime::{Config, IoBuf, Runtime};

use crate::{OBJECT_BYTES, argument, number};

/// What so many gets have taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    pub seconds: f64,
    /// Of the client's process.
    pub cpu_s: f64,
    pub gets: usize,
    /// Requests sent for them.
    pub attempts: f64,
    /// Times of single gets; 0 where they are not known.
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Requests that the endpoint would be sent at once in the end.
    pub allowed: f64,
}

impl Measured {
    fn gb(&self) -> f64 {
        (self.gets * OBJECT_BYTES) as f64 / 1e9
    }

    pub fn gb_s(&self) -> f64 {
        self.gb() / self.seconds
    }

    pub fn cpu_s_gb(&self) -> f64 {
        self.cpu_s / self.gb()
    }

    /// What `Display` has written.
    pub fn parse(text: &str) -> Option<Measured> {
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [seconds, cpu_s, gets, attempts, p50_ms, p99_ms, allowed] = numbers.as_slice() else {
            return None;
        };
        let (gets, allowed) = (*gets as usize, *allowed);
        let (attempts, p50_ms, p99_ms) = (*attempts, *p50_ms, *p99_ms);
        Some(Measured { seconds: *seconds, cpu_s: *cpu_s, gets, attempts, p50_ms, p99_ms, allowed })
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { seconds, cpu_s, gets, attempts, p50_ms, p99_ms, allowed } = self;
        write!(f, "{seconds} {cpu_s} {gets} {attempts} {p50_ms} {p99_ms} {allowed}")
    }
}

/// Processor time of this process in seconds, summed over its threads.
fn used_s() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("the system tells of its threads");
    let on_core_ns = threads.filter_map(|thread| {
        let path = thread.ok()?.path().join("schedstat");
        std::fs::read_to_string(path).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    });
    on_core_ns.sum::<f64>() / 1e9
}

fn open(url: &str) -> Store {
    let mut limits = Limits { idle_connections_max: 512, ..Limits::default() };
    limits.requests_max = number("requests", 512);
    limits.wake_bytes = number("wake", limits.wake_bytes);
    limits.adapts = number("adapts", 1) == 1;
    limits.restart_share = number("restarts", limits.restart_share);
    let trust = match argument("trust") {
        Some(path) => Trust::only_pem(std::fs::read(path).expect("a certificate")),
        None => Trust::default(),
    };
    let client = Client::new(Options { limits, trust, ..Options::default() }).expect("a client");
    client.http(url).expect("a store")
}

/// Makes gets, so many at once, each into memory that is used again.
pub fn measure(url: &str) -> Measured {
    let (in_flight, gets) = (number("in-flight", 16), number("gets", 128));
    let store = open(url);
    start().block_on(move || async move {
        let bufs: Vec<IoBuf> = (0..in_flight).map(|_| IoBuf::alloc(OBJECT_BYTES)).collect();
        // The first gets make the connections, touch the memory, and show how slow the store is.
        let (bufs, _) = get_all(&store, bufs, in_flight * number("warm", 1)).await;
        let attempts = store.client_stats().attempt_count;
        let (begun, used) = (Instant::now(), used_s());
        // The memory is given back afterwards: for 4 GiB that takes the system its time.
        let (_bufs, mut took_ms) = get_all(&store, bufs, gets).await;
        let (seconds, cpu_s) = (begun.elapsed().as_secs_f64(), used_s() - used);
        took_ms.sort_by(f64::total_cmp);
        let attempts = (store.client_stats().attempt_count - attempts) as f64;
        let (p50_ms, p99_ms) = (took_ms[gets / 2], took_ms[gets * 99 / 100]);
        let allowed = store.requests_allowed() as f64;
        Measured { seconds, cpu_s, gets, attempts, p50_ms, p99_ms, allowed }
    })
}

fn start() -> Runtime {
    let config = Config { workers: 1, pin: false, ..Config::default() };
    Runtime::start(config).expect("a runtime")
}

/// Gives the memory back, and how long each get has taken.
async fn get_all(store: &Store, bufs: Vec<IoBuf>, count: usize) -> (Vec<IoBuf>, Vec<f64>) {
    let in_flight = bufs.len();
    let tasks = bufs.into_iter().enumerate().map(|(i, mut buf)| {
        let store = store.clone();
        let turns = count / in_flight + usize::from(i < count % in_flight);
        runtime::spawn(async move {
            let mut took_ms = Vec::with_capacity(turns);
            for _ in 0..turns {
                let begun = Instant::now();
                let got = store.get_into("object", 0..OBJECT_BYTES as u64, buf, 0).await;
                buf = got.1;
                got.0.expect("got");
                took_ms.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            (buf, took_ms)
        })
    });
    let (mut bufs, mut took_ms) = (Vec::new(), Vec::new());
    for task in tasks.collect::<Vec<_>>() {
        let (buf, took) = task.await.expect("ended");
        bufs.push(buf);
        took_ms.extend(took);
    }
    (bufs, took_ms)
}

/// Seals and opens chunks of 1 MiB, as many bytes as gets would have.
pub fn seal() -> Measured {
    let gets = number("gets", 128);
    start().block_on(move || async move {
        let (key, _) = DataKey::draw();
        let owner = FileOwner { database: [1; 16], table: 1 };
        let mut sealer = Sealer::new(&key, owner);
        let opener = Opener::new(&key, owner, sealer.file_id());
        let plain = vec![42; 1 << 20];
        let (begun, used) = (Instant::now(), used_s());
        for ordinal in 0..(gets * (OBJECT_BYTES >> 20)) as u32 {
            let place = ChunkPlace { ordinal, ..ChunkPlace::default() };
            let sealed = sealer.seal(place, &plain).await.expect("sealed");
            assert_eq!(opener.open(place, &sealed).await.expect("opened").len(), plain.len());
        }
        let (seconds, cpu_s) = (begun.elapsed().as_secs_f64(), used_s() - used);
        Measured { seconds, cpu_s, gets, ..Measured::default() }
    })
}
