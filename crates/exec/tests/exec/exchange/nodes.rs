//! Nodes of a cluster as tasks of one simulated machine, each with its tables and streams to all
//! others.

use std::sync::Arc;
use std::time::Duration;

use exec::{ExchangeOptions, Governor, Progress, Query, Route};
use plan::Plan;
use runtime::net::{Address, Listener, Purpose, Socket, Tuning};
use runtime::sim::{Disk, NetworkFaults};
use runtime::sync::{Cancel, Permits};
use runtime::{Config, RemoteHandle, RingChoice, Runtime, time};

use crate::build::{plan, scan};
use crate::memory::{Behaviour, Memory};
use crate::rig::{Dice, WAYS, Way, random_rows};

/// A node of which no frame came for so long is lost.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Nodes that have not ended after so long wait for each other: pings go on for ever.
const PATIENCE_OF_TESTS: Duration = Duration::from_secs(2_000);

/// Seeds of a test. The environment may ask for more (`DOVETAIL_SEEDS`), or for one
/// (`DOVETAIL_SEED`).
pub fn seeds(count: u64) -> std::ops::Range<u64> {
    let asked = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match asked("DOVETAIL_SEED") {
        Some(one) => one..one + 1,
        None => 0..asked("DOVETAIL_SEEDS").unwrap_or(count).max(count),
    }
}

/// The result of a node, which ends.
pub async fn ended<T>(node: RemoteHandle<T>, seed: u64) -> T {
    let ended = time::timeout(PATIENCE_OF_TESTS, node).await;
    let replay = format!("DOVETAIL_SEED={seed} cargo test -p exec exchange");
    ended.unwrap_or_else(|_| panic!("a node hangs: {replay}")).expect("a node does not panic")
}

/// A simulated machine with its network.
pub fn machine(seed: u64, workers: usize, faults: NetworkFaults) -> (Disk, Runtime) {
    let disk = Disk::new(seed);
    disk.network().faults(faults);
    let sockets =
        Tuning { zero_copy: seed.is_multiple_of(2), zero_copy_bytes_min: 512, ..Tuning::default() };
    let ring = RingChoice::Sim(disk.clone());
    let runtime = Runtime::start(Config { workers, ring, seed, sockets, ..Config::default() });
    (disk, runtime.expect("a simulation starts"))
}

/// A stream between each two of `count` nodes: for each node its streams by the numbers of the
/// others.
pub async fn mesh(count: usize) -> Vec<Vec<Option<Socket>>> {
    let mut streams: Vec<Vec<Option<Socket>>> = vec![];
    streams.resize_with(count, || (0..count).map(|_| None).collect());
    for (one, other) in (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))) {
        let (client, server) = pair().await;
        streams[one][other] = Some(client);
        streams[other][one] = Some(server);
    }
    streams
}

/// The two ends of a stream; one that ends at once is made again.
pub async fn pair() -> (Socket, Socket) {
    loop {
        let anywhere = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let listener = Listener::bind(&anywhere).expect("a free address");
        let deadline = time::now() + Duration::from_secs(60);
        let client = Socket::connect_until(listener.local_address(), deadline).await;
        let Ok(Ok((server, _))) = time::timeout(PATIENCE, listener.accept()).await else {
            continue;
        };
        if let Ok(client) = client {
            return (client, server.with_purpose(Purpose::Transfer));
        }
    }
}

/// A run by its seed: how many nodes, how they work, and how narrow everything is.
#[derive(Clone)]
pub struct Shape {
    pub nodes: usize,
    pub workers: usize,
    pub way: Way,
    pub buffer_bytes: usize,
    pub buffers: usize,
    pub credits: usize,
}

impl Shape {
    pub fn random(dice: &mut Dice) -> Shape {
        Shape {
            nodes: 2 + dice.roll(5),
            workers: 1 + dice.roll(3),
            way: WAYS[dice.roll(WAYS.len())],
            buffer_bytes: [300, 1000, 4096, 1 << 20][dice.roll(4)],
            buffers: 1 + dice.roll(3),
            credits: 1 + dice.roll(3),
        }
    }

    pub fn options(&self, exchange: u64, node: usize, of: &Plan, route: Route) -> ExchangeOptions {
        ExchangeOptions {
            buffer_bytes: self.buffer_bytes,
            buffers: self.buffers,
            credits: self.credits,
            patience: PATIENCE,
            ..ExchangeOptions::new(exchange, node, Arc::clone(&of.root.schema), route)
        }
    }

    /// A query of a node, with odd batch sizes.
    pub fn query(&self, plan: &Plan, cancel: &Cancel) -> Arc<Query> {
        let progress = Arc::new(Progress::new(plan.node_count, self.workers));
        let query =
            Query::new(self.way.mode, Permits::new(self.way.permits), cancel.clone(), progress);
        Arc::new(Query { lookup_batch_rows: 3, batch_rows: 7, parts_per_worker: 3, ..query })
    }
}

/// The tables of each node, of up to `row_count` rows.
pub fn tables(dice: &mut Dice, nodes: usize, row_count: usize) -> Vec<Arc<Memory>> {
    let node = |_| {
        let rows = |dice: &mut Dice| {
            let count = if dice.chance(15) { 0 } else { dice.roll(row_count + 1) };
            random_rows(dice, count)
        };
        let tables = [("t".to_owned(), rows(dice)), ("u".to_owned(), rows(dice))].into();
        let behaviour = Arc::new(Behaviour { waits: 2, sleep_us_max: 300, ..Behaviour::default() });
        Arc::new(Memory { tables, behaviour, leaf_rows: 1 + dice.roll(9) })
    };
    (0..nodes).map(node).collect()
}

/// A plan that reads a whole table.
pub fn whole(table: &str) -> Arc<Plan> {
    plan(scan(table))
}

/// Memory of all nodes of a run, of which nothing may be left.
pub fn governor() -> Governor {
    Governor::new(1 << 40)
}
