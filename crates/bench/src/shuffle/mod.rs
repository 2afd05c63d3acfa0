//! `dovetail bench shuffle`: each node sends its rows to those that they belong to, all to all over
//! the loopback ("io_uring for High-Performance DBMSs", section 4).
//!
//! Rungs of one binary, each with the batches, buffers and threads of the others: coroutines over
//! io_uring with plain sends and receives; with sends of lent memory; with receives that go on; and
//! a control that asks epoll. They run in turns, so that what the machine does besides falls on all
//! of them. Each run is checked: the bytes and tuples that were sent are those that were received.

mod epoll;
mod ring;
mod tuples;

use std::io;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use runtime::net::{SendReport, Tuning};
use runtime::time::process_cpu;

use crate::figure::Figure;
use tuples::{Table, Tally};

/// Batches of a peer: one is filled while others are sent or still read.
const BATCHES_PER_PEER: usize = 4;
/// Tuples that a node cuts into batches before it looks at its sockets.
const MORSEL_TUPLES: u64 = 1024;
/// Memory of a node for what it receives, so that senders are held up and not buffered without end.
const RECEIVE_BYTES: usize = 4 << 20;

/// The subject of a measurement.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Nodes, each a thread; 2 to 64.
    pub nodes: usize,
    /// Bytes that each node scans.
    pub bytes: u64,
    /// Bytes of a tuple, 8 to the size of a batch.
    pub tuples: Vec<usize>,
    /// Bytes of a batch: what is sent at a time.
    pub batch_bytes: usize,
    /// Bytes of a buffer that is received into.
    pub receive_bytes: usize,
    /// True if keys go into a hash table, as those of a join.
    pub table: bool,
    /// Runs of each rung.
    pub rounds: usize,
    /// The thresholds; what each rung switches on or off is its own.
    pub tuning: Tuning,
}

/// The task of one node.
#[derive(Clone, Debug)]
struct Node {
    number: usize,
    nodes: usize,
    tuples: u64,
    tuple_bytes: usize,
    batch_bytes: usize,
    receive_bytes: usize,
    message_bytes: usize,
    has_table: bool,
}

/// The result of one node.
#[derive(Debug, Default)]
struct Outcome {
    backend: String,
    own: Tally,
    sent: Tally,
    received: Tally,
    received_bytes: u64,
    wrong: u64,
    report: SendReport,
    is_multishot: bool,
}

/// A way of doing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    Epoll,
    Ring,
    ZeroCopy,
    Multishot,
}

/// The control first: the others are set against it.
const RUNGS: [Rung; 4] = [Rung::Epoll, Rung::Ring, Rung::ZeroCopy, Rung::Multishot];

impl Rung {
    fn name(self) -> &'static str {
        match self {
            Rung::Epoll => "epoll",
            Rung::Ring => "ring",
            Rung::ZeroCopy => "zero_copy",
            Rung::Multishot => "multishot",
        }
    }

    /// Each has what the one before has.
    fn tuning(self, wish: &Wish) -> Tuning {
        let plain = Tuning { zero_copy: false, multishot: false, ..wish.tuning };
        match self {
            Rung::Epoll | Rung::Ring => plain,
            Rung::ZeroCopy => Tuning { zero_copy: true, ..plain },
            Rung::Multishot => Tuning { zero_copy: true, multishot: true, ..plain },
        }
    }
}

impl Node {
    fn receive_count(&self) -> usize {
        (RECEIVE_BYTES / self.receive_bytes).clamp(self.nodes, 32_768)
    }

    fn table(&self) -> Option<Table> {
        self.has_table.then(|| Table::new(self.tuples))
    }
}

/// One run of one rung.
struct Run {
    wall_s: f64,
    cpu_s: f64,
    bytes: u64,
    outcomes: Vec<Outcome>,
}

/// Measures; whether what was sent was received in every run.
///
/// # Errors
/// Wishes out of range; io_uring or a socket is not to be had.
pub fn run(wish: &Wish, mut emit: impl FnMut(Figure)) -> io::Result<bool> {
    check(wish)?;
    wish.tuning.explain().iter().for_each(|line| eprintln!("{line}"));
    let mut is_right = true;
    for tuple_bytes in &wish.tuples {
        let mut runs: [Vec<Run>; RUNGS.len()] = Default::default();
        for round in 0..wish.rounds {
            for turn in 0..RUNGS.len() {
                let at = (round + turn) % RUNGS.len();
                let run = once(wish, RUNGS[at], *tuple_bytes)?;
                is_right &= run.is_right(RUNGS[at], *tuple_bytes);
                runs[at].push(run);
            }
        }
        report(wish, *tuple_bytes, &runs, &mut emit);
    }
    Ok(is_right)
}

fn check(wish: &Wish) -> io::Result<()> {
    let bad = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    if !(2..=64).contains(&wish.nodes) {
        return bad(format!("a shuffle has 2 to 64 nodes, not {}", wish.nodes));
    }
    if wish.rounds == 0 || wish.tuples.is_empty() {
        return bad("there is nothing to run".to_owned());
    }
    if let Some(bytes) = wish.tuples.iter().find(|bytes| **bytes < 8 || **bytes > wish.batch_bytes)
    {
        return bad(format!("a tuple has 8 bytes to those of a batch, not {bytes}"));
    }
    if wish.receive_bytes == 0 || wish.batch_bytes > 1 << 30 || wish.receive_bytes > 1 << 30 {
        return bad("buffers have 1 byte to 1 GiB".to_owned());
    }
    Ok(())
}

fn once(wish: &Wish, rung: Rung, tuple_bytes: usize) -> io::Result<Run> {
    let node = |number| Node {
        number,
        nodes: wish.nodes,
        tuples: wish.bytes / tuple_bytes as u64,
        tuple_bytes,
        batch_bytes: wish.batch_bytes,
        receive_bytes: wish.receive_bytes,
        message_bytes: wish.batch_bytes,
        has_table: wish.table,
    };
    let start = Arc::new(Barrier::new(wish.nodes + 1));
    let nodes = (0..wish.nodes).map(node);
    match rung {
        Rung::Epoll => {
            let listeners = epoll::listen(wish.nodes)?;
            let node = |node: Node| epoll::run(&node, &listeners, &start);
            timed(nodes.collect(), node, &start)
        }
        Rung::Ring | Rung::ZeroCopy | Rung::Multishot => {
            let runtimes = ring::start(wish.nodes, rung.tuning(wish))?;
            let listeners = Arc::new(ring::listen(wish.nodes)?);
            let node = |node: Node| {
                let runtime = &runtimes[node.number];
                ring::run(node, runtime, listeners.clone(), start.clone())
            };
            timed(nodes.collect(), node, &start)
        }
    }
}

/// Runs all nodes beside each other, from the moment on at which all are connected.
fn timed(
    nodes: Vec<Node>,
    node: impl Fn(Node) -> io::Result<Outcome> + Sync,
    start: &Barrier,
) -> io::Result<Run> {
    let node = &node;
    thread::scope(|scope| {
        let running: Vec<_> = nodes.into_iter().map(|n| scope.spawn(move || node(n))).collect();
        start.wait();
        let (begin, cpu) = (Instant::now(), process_cpu());
        let ended: Vec<_> = running.into_iter().map(|thread| thread.join()).collect();
        let (wall_s, cpu_s) = (begin.elapsed().as_secs_f64(), (process_cpu() - cpu).as_secs_f64());
        let outcomes = ended.into_iter().map(|ended| ended.expect("a node does not panic"));
        let outcomes: Vec<Outcome> = outcomes.collect::<io::Result<_>>()?;
        let bytes = outcomes.iter().map(|outcome| outcome.received_bytes).sum();
        Ok(Run { wall_s, cpu_s, bytes, outcomes })
    })
}

impl Run {
    /// True if what was sent was received; says what is wrong.
    fn is_right(&self, rung: Rung, tuple_bytes: usize) -> bool {
        let (mut sent, mut received) = (Tally::default(), Tally::default());
        self.outcomes.iter().for_each(|outcome| sent.merge(outcome.sent));
        self.outcomes.iter().for_each(|outcome| received.merge(outcome.received));
        let wrong: u64 = self.outcomes.iter().map(|outcome| outcome.wrong).sum();
        let bytes = sent.count * tuple_bytes as u64;
        let handed = self.sum(|report| report.bytes);
        let is_right = sent == received && wrong == 0 && [self.bytes, handed] == [bytes, bytes];
        if !is_right {
            eprintln!(
                "FAILED: {} with tuples of {tuple_bytes}: {sent:?} sent, {received:?} received, {wrong} \
                 wrong; {bytes} bytes made, {handed} sent, {} received",
                rung.name(),
                self.bytes
            );
        }
        is_right
    }

    fn sum(&self, of: impl Fn(&SendReport) -> usize) -> u64 {
        self.outcomes.iter().map(|outcome| of(&outcome.report) as u64).sum()
    }

    fn cpu_s_per_gb(&self) -> f64 {
        self.cpu_s / (self.bytes as f64 / 1e9)
    }

    /// Of a core that a node may have: there may be fewer than nodes.
    fn gb_s_core(&self, nodes: usize) -> f64 {
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get()).min(nodes);
        self.bytes as f64 / 1e9 / self.wall_s / cores as f64
    }

    /// The ways that ran, and the copies that the kernel has told of.
    fn describe(&self) -> String {
        let share = |of: u64| 100.0 * of as f64 / self.bytes.max(1) as f64;
        let own: u64 = self.outcomes.iter().map(|outcome| outcome.own.count).sum();
        let way = if self.outcomes.iter().all(|outcome| outcome.is_multishot) {
            "multishot receives"
        } else {
            "single receives"
        };
        format!(
            "{}; {way}; lent {:.0} % of {} bytes, copied all the same {:.0} %; {own} tuples stayed",
            self.outcomes[0].backend,
            share(self.sum(|report| report.lent_bytes)),
            self.bytes,
            share(self.sum(|report| report.copied_bytes)),
        )
    }
}

fn report(wish: &Wish, tuple_bytes: usize, runs: &[Vec<Run>], emit: &mut impl FnMut(Figure)) {
    let costs: Vec<Vec<f64>> =
        runs.iter().map(|runs| runs.iter().map(Run::cpu_s_per_gb).collect()).collect();
    for (at, rung) in RUNGS.iter().enumerate() {
        let name = |what: &str| format!("shuffle.{tuple_bytes}.{}.{what}", rung.name());
        let rates: Vec<f64> = runs[at].iter().map(|run| run.gb_s_core(wish.nodes)).collect();
        let detail = runs[at].last().map_or_else(String::new, Run::describe);
        emit(Figure::of(name("gb_s_core"), "GB/s", &rates).with_detail(detail));
        emit(Figure::of(name("cpu_s_gb"), "s/GB", &costs[at]));
        if *rung != Rung::Epoll {
            // Of the same round: what slows the machine down slows both down.
            let pairs: Vec<f64> = costs[at].iter().zip(&costs[0]).map(|(of, to)| of / to).collect();
            emit(
                Figure::of(name("over_epoll"), "x", &pairs).with_detail("processor time, in pairs"),
            );
        }
    }
}
