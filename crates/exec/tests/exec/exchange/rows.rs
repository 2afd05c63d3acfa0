//! Rows that change places, with all that may befall them.

use std::collections::{HashMap, HashSet};
use std::slice::from_ref;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use exec::{
    Exchange, ExchangeOptions, Governor, Inputs, Route, receive_rows, scan_of_exchange, send_rows,
};
use plan::catalog::TableId;
use runtime::net::Socket;
use runtime::sim::NetworkFaults;
use runtime::sync::Cancel;
use runtime::{spawn, spawn_on, time};
use types::{SqlError, SqlResult};

use super::nodes::{Shape, ended, governor, machine, mesh, seeds, tables, whole};
use crate::build::{expr, plan, scan};
use crate::memory::Memory;
use crate::reference::{Cell, rows};
use crate::rig::{Dice, Kept};

type Rows = Vec<Vec<Cell>>;

const INPUT: TableId = TableId(7);

/// The accident of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fate {
    None,
    /// The network is slow, and calls are short.
    Slow,
    /// Connections are reset.
    Reset,
    /// Connections vanish in silence.
    Vanish,
    /// The tables of one node fail.
    Fail,
    /// The query of one node is cancelled.
    Cancel,
    /// The plan of one node wants few rows.
    Few,
}

const FATES: [Fate; 7] =
    [Fate::None, Fate::Slow, Fate::Reset, Fate::Vanish, Fate::Fail, Fate::Cancel, Fate::Few];

impl Fate {
    fn faults(self) -> NetworkFaults {
        match self {
            Fate::None | Fate::Fail | Fate::Few => NetworkFaults::default(),
            Fate::Slow | Fate::Cancel => NetworkFaults::short_and_late(),
            Fate::Reset => {
                NetworkFaults { reset: 0.2, life_ns: 20_000_000, ..NetworkFaults::short_and_late() }
            }
            Fate::Vanish => NetworkFaults {
                vanish: 0.2,
                life_ns: 20_000_000,
                ..NetworkFaults::short_and_late()
            },
        }
    }

    /// True if all nodes end well.
    fn is_harmless(self) -> bool {
        matches!(self, Fate::None | Fate::Slow | Fate::Few)
    }
}

/// A run of all nodes.
#[derive(Clone)]
struct Setup {
    seed: u64,
    shape: Shape,
    keys: Option<Vec<String>>,
    memories: Vec<Arc<Memory>>,
    fate: Fate,
    governor: Governor,
    /// The node that something befalls.
    chosen: usize,
    moment: Duration,
}

/// The results of a node.
struct Ending {
    sent: SqlResult<()>,
    received: SqlResult<()>,
    rows: Rows,
}

impl Setup {
    fn of(seed: u64) -> Setup {
        let mut dice = Dice(seed);
        let shape = Shape::random(&mut dice);
        let keys = ["c0", "c1", "c2", "c0 + 1", "c4", "c5"];
        let keys = (!dice.chance(25))
            .then(|| (0..1 + dice.roll(3)).map(|_| (*dice.pick(&keys)).to_owned()).collect());
        Setup {
            seed,
            memories: tables(&mut dice, shape.nodes, 300),
            fate: FATES[dice.roll(FATES.len())],
            governor: governor(),
            chosen: dice.roll(shape.nodes),
            moment: Duration::from_micros(dice.roll(20_000) as u64),
            shape,
            keys,
        }
    }

    fn route(&self) -> Route {
        let over = scan("t");
        match &self.keys {
            Some(keys) => Route::Hash(keys.iter().map(|key| expr(key, &over)).collect()),
            None => Route::Broadcast,
        }
    }

    /// The rows that were to be sent.
    fn all(&self) -> Rows {
        let mut all: Rows =
            self.memories.iter().flat_map(|m| rows(&[m.tables["t"].clone()])).collect();
        all.sort();
        all
    }
}

/// Runs all nodes to their ends.
fn run(setup: Setup) -> Vec<Ending> {
    let (seed, workers) = (setup.seed, setup.shape.workers);
    let (disk, runtime) = machine(seed, workers, setup.fate.faults());
    let governor = setup.governor.clone();
    let endings = runtime.block_on(move || async move {
        let streams = mesh(setup.shape.nodes).await;
        let nodes = streams.into_iter().enumerate().map(|(node, streams)| {
            let setup = setup.clone();
            spawn_on(node % workers, move || run_node(setup, node, streams))
        });
        let nodes: Vec<_> = nodes.collect();
        let mut endings = vec![];
        for node in nodes {
            endings.push(ended(node, seed).await);
        }
        // Memory that is lent to a connection which has vanished comes back when the kernel gives
        // up.
        time::sleep(Duration::from_secs(8_000)).await;
        endings
    });
    let network = disk.network();
    assert_eq!((network.socket_count(), network.wait_count()), (0, 0), "seed {seed}");
    assert_eq!(runtime.stats().iter().map(|s| s.inflight_count).sum::<u64>(), 0, "seed {seed}");
    assert_eq!(governor.growth().0, 0, "memory is left: seed {seed}");
    endings
}

async fn run_node(setup: Setup, node: usize, streams: Vec<Option<Socket>>) -> Ending {
    let (shape, memory) = (&setup.shape, &setup.memories[node]);
    let is_chosen = node == setup.chosen;
    let sends = whole("t");
    let options = ExchangeOptions {
        memory: setup.governor.without_plan(),
        ..shape.options(setup.seed, node, &sends, setup.route())
    };
    let Exchange { outgoing, incoming, control } =
        Exchange::begin(options, streams).expect("an exchange");
    if is_chosen && setup.fate == Fate::Fail {
        let begun = memory.behaviour.begun.load(SeqCst);
        memory.behaviour.fail_at.store(begun + 1 + setup.seed % 40, SeqCst);
    }
    let cancel = Cancel::new();
    if is_chosen && setup.fate == Fate::Cancel {
        let (cancel, moment) = (cancel.clone(), setup.moment);
        spawn(async move {
            time::sleep(moment).await;
            cancel.cancel();
        });
    }
    let query = shape.query(&sends, &cancel);
    let receives = plan(scan_of_exchange(INPUT, &sends.root.schema).expect("types of tables"));
    let sending = spawn(send_rows(sends, Arc::clone(memory) as _, query, outgoing));
    let wanted = if is_chosen && setup.fate == Fate::Few { 5 } else { usize::MAX };
    let kept = Arc::new(Kept { batches: Mutex::default(), wanted });
    let inputs = Inputs::new(Arc::clone(memory) as _, [(INPUT, incoming)]);
    let query = shape.query(&receives, &cancel);
    let received =
        receive_rows(receives, inputs, query, Arc::clone(&kept) as _, from_ref(&control)).await;
    let sent = sending.await.expect("no panic");
    // Errors of other nodes may become known after the rows of this one.
    let ended = control.ended().await;
    assert!(ended.is_err() || (received.is_ok() && sent.is_ok()), "seed {}", setup.seed);
    let rows = rows(&kept.batches.lock().unwrap());
    Ending { sent, received, rows }
}

/// Each row is at one node, and equal keys are at the same.
fn check_exact(setup: &Setup, endings: &[Ending]) {
    let seed = setup.seed;
    let sorted = |rows: &Rows| {
        let mut rows = rows.clone();
        rows.sort();
        rows
    };
    let all = setup.all();
    if setup.keys.is_none() {
        endings.iter().for_each(|e| assert_eq!(sorted(&e.rows), all, "seed {seed}"));
        return;
    }
    let got: Rows = endings.iter().flat_map(|e| e.rows.clone()).collect();
    assert_eq!(sorted(&got), all, "seed {seed}");
    let mut homes: HashMap<Vec<Cell>, usize> = HashMap::new();
    for (node, ending) in endings.iter().enumerate() {
        for row in &ending.rows {
            let home = *homes.entry(key_of(setup, row)).or_insert(node);
            assert_eq!(home, node, "equal keys meet: seed {seed}");
        }
    }
}

fn key_of(setup: &Setup, row: &[Cell]) -> Vec<Cell> {
    let keys = setup.keys.as_ref().expect("rows that are divided");
    let column = |key: &String| row[usize::from(key.as_bytes()[1] - b'0')].clone();
    keys.iter().map(column).collect()
}

/// The errors that a node may end with.
fn check_error(setup: &Setup, error: &SqlError) {
    let known: &[&str] = match setup.fate {
        Fate::Reset | Fate::Vanish => &["08006"],
        Fate::Fail => &["58030", "08006"],
        Fate::Cancel => &["57014", "08006"],
        Fate::None | Fate::Slow | Fate::Few => &[],
    };
    assert!(known.contains(&error.state.0), "{:?}, seed {}: {error:?}", setup.fate, setup.seed);
}

#[test]
fn rows_are_exact_or_all_nodes_end_with_an_error() {
    let mut failed = HashSet::new();
    for seed in seeds(60) {
        let setup = Setup::of(seed);
        let clean = run(Setup { fate: Fate::None, ..setup.clone() });
        clean.iter().for_each(|e| assert_eq!((&e.sent, &e.received), (&Ok(()), &Ok(())), "{seed}"));
        check_exact(&setup, &clean);
        let endings = run(setup.clone());
        for (node, (ending, clean)) in endings.iter().zip(&clean).enumerate() {
            for result in [&ending.sent, &ending.received] {
                let Err(error) = result else { continue };
                assert!(!setup.fate.is_harmless(), "seed {seed}: {error:?}");
                check_error(&setup, error);
                failed.insert(setup.fate);
            }
            let (mut got, mut expected) = (ending.rows.clone(), clean.rows.clone());
            got.sort();
            expected.sort();
            if setup.fate == Fate::Few && node == setup.chosen {
                assert!(got.len() >= expected.len().min(5), "seed {seed}");
            } else if ending.received.is_ok() {
                assert_eq!(got, expected, "node {node}, {:?}, seed {seed}", setup.fate);
            }
        }
    }
    let met = FATES.iter().filter(|fate| !fate.is_harmless()).all(|fate| failed.contains(fate));
    assert!(met || seeds(60).count() < 60, "accidents that nobody noticed: {failed:?}");
}
