//! `dovetail bench exchange`: rows change places between nodes by the exchange of the executor,
//! over the
//! loopback. `bench shuffle` does so with tuples and bare sockets; here they are batches of
//! columns: divided by
//! the hash of their key, gathered, encoded, sent with credit, decoded.
//!
//! Each node is a thread with a runtime of one worker. The ways of sending and receiving run in
//! turns. Each run is checked: as many rows as were made have come, and the sum of their hashes is
//! that of those that were made.

use std::io;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use exec::{Exchange, ExchangeFigures, ExchangeOptions, Output, Route};
use runtime::net::{Address, Listener, Socket, Tuning};
use runtime::time::process_cpu;
use runtime::{Config, RingChoice, Runtime, spawn};
use types::SqlError;

use crate::figure::Figure;

/// Rows that a producer hands over at once, as scans do.
const BATCH_ROWS: u64 = 2048;

/// The subject of a measurement.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Nodes, each a thread; 2 to 6.
    pub nodes: usize,
    /// Rows that each node makes.
    pub rows: u64,
    /// Columns of 8 bytes beside the key.
    pub columns: usize,
    /// Bytes of a buffer.
    pub buffer_bytes: usize,
    /// Buffers that a peer may have sent before their rows are taken.
    pub credits: usize,
    /// Runs of each way.
    pub rounds: usize,
}

/// Ways of sending and receiving, each with what the one before has.
const WAYS: [&str; 3] = ["plain", "zero_copy", "multishot"];

/// Rows, and the sum of the hashes of their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    rows: u64,
    sum: u64,
}

/// The result of a node.
#[derive(Default)]
struct Outcome {
    made: Tally,
    taken: Tally,
    figures: ExchangeFigures,
}

/// One run of one way.
struct Run {
    wall_s: f64,
    cpu_s: f64,
    rows: u64,
    bytes: u64,
    copied_bytes: u64,
    lent_bytes: u64,
}

/// Measures; whether all rows have come in every run.
///
/// # Errors
/// Wishes out of range; io_uring or a socket is not to be had; an exchange fails.
pub fn run(wish: &Wish, mut emit: impl FnMut(Figure)) -> io::Result<bool> {
    if !(2..=6).contains(&wish.nodes) || wish.rounds == 0 || wish.rows == 0 {
        let text = "an exchange has 2 to 6 nodes, rows and runs";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut is_right = true;
    let mut runs: [Vec<Run>; WAYS.len()] = Default::default();
    for round in 0..wish.rounds {
        for turn in 0..WAYS.len() {
            let way = (round + turn) % WAYS.len();
            let (run, is_whole) = once(wish, way)?;
            is_right &= is_whole;
            runs[way].push(run);
        }
    }
    WAYS.iter().zip(&runs).for_each(|(way, runs)| report(wish, way, runs, &mut emit));
    Ok(is_right)
}

fn tuning(way: usize, wish: &Wish) -> Tuning {
    Tuning {
        zero_copy: way > 0,
        multishot: way > 1,
        // Longer than what is sent at once, so that the switch alone decides.
        multishot_bytes_max: 2 * wish.buffer_bytes,
        ..Tuning::plain()
    }
}

fn once(wish: &Wish, way: usize) -> io::Result<(Run, bool)> {
    let anywhere = Address::Tcp(([127, 0, 0, 1], 0).into());
    let listeners = (0..wish.nodes).map(|_| Listener::bind(&anywhere));
    let listeners = Arc::new(listeners.collect::<io::Result<Vec<_>>>()?);
    let config = Config {
        workers: 1,
        ring: RingChoice::Uring,
        pin: false,
        attack: false,
        sockets: tuning(way, wish),
        ..Config::default()
    };
    let runtimes = (0..wish.nodes).map(|_| Runtime::start(config.clone()));
    let runtimes = runtimes.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    let start = Arc::new(Barrier::new(wish.nodes + 1));
    let nodes = thread::scope(|scope| {
        let node = |(number, runtime): (usize, &'_ Runtime)| {
            let (wish, listeners, start) = (wish.clone(), listeners.clone(), start.clone());
            let handle = runtime.handle();
            scope.spawn(move || handle.block_on(move || node(wish, number, listeners, start)))
        };
        let running: Vec<_> = runtimes.iter().enumerate().map(node).collect();
        start.wait();
        let (begin, cpu) = (Instant::now(), process_cpu());
        let ended: Vec<_> = running.into_iter().map(|thread| thread.join()).collect();
        let (wall_s, cpu_s) = (begin.elapsed().as_secs_f64(), (process_cpu() - cpu).as_secs_f64());
        let ended = ended.into_iter().map(|ended| ended.expect("a node does not panic"));
        ended.collect::<io::Result<Vec<Outcome>>>().map(|outcomes| (wall_s, cpu_s, outcomes))
    });
    let (wall_s, cpu_s, outcomes) = nodes?;
    Ok(summed(wall_s, cpu_s, &outcomes))
}

fn summed(wall_s: f64, cpu_s: f64, outcomes: &[Outcome]) -> (Run, bool) {
    let (mut made, mut taken) = (Tally::default(), Tally::default());
    outcomes.iter().for_each(|outcome| made.merge(outcome.made));
    outcomes.iter().for_each(|outcome| taken.merge(outcome.taken));
    if made != taken {
        eprintln!("FAILED: {made:?} made, {taken:?} taken");
    }
    let sum = |of: fn(&ExchangeFigures) -> u64| outcomes.iter().map(|o| of(&o.figures)).sum();
    let run = Run {
        wall_s,
        cpu_s,
        rows: taken.rows,
        bytes: sum(|figures| figures.sent_bytes),
        lent_bytes: sum(|figures| figures.lent_bytes),
        copied_bytes: sum(|figures| figures.copied_bytes),
    };
    (run, made == taken)
}

fn report(wish: &Wish, way: &str, runs: &[Run], emit: &mut impl FnMut(Figure)) {
    let name = |what: &str| format!("exchange.{}.{way}.{what}", wish.nodes);
    let of = |of: fn(&Run) -> f64| runs.iter().map(of).collect::<Vec<_>>();
    let share = |of: fn(&Run) -> u64| {
        let all: u64 = runs.iter().map(|run| run.bytes).sum();
        100.0 * runs.iter().map(of).sum::<u64>() as f64 / all.max(1) as f64
    };
    let (lent, copied) = (share(|run| run.lent_bytes), share(|run| run.copied_bytes));
    let detail = format!("lent {lent:.0} % of the bytes, copied all the same {copied:.0} %");
    emit(Figure::of(name("rows_s"), "1/s", &of(|r| r.rows as f64 / r.wall_s)).with_detail(detail));
    emit(Figure::of(name("gb_s"), "GB/s", &of(|r| r.bytes as f64 / 1e9 / r.wall_s)));
    emit(Figure::of(name("cpu_s_gb"), "s/GB", &of(|r| r.cpu_s / (r.bytes as f64 / 1e9))));
}

/// Connects, waits for the others, and lets the rows change places.
async fn node(
    wish: Wish,
    number: usize,
    listeners: Arc<Vec<Listener>>,
    start: Arc<Barrier>,
) -> io::Result<Outcome> {
    let peers = connect(number, &listeners).await;
    // All of them, whatever became of it, or the others would wait for ever.
    start.wait();
    let failed = |error: SqlError| io::Error::other(error.to_string());
    let schema = schema(&wish);
    let key = sql::parse_expr("c0", &schema).map_err(failed)?;
    let options = ExchangeOptions {
        buffer_bytes: wish.buffer_bytes,
        credits: wish.credits,
        ..ExchangeOptions::new(1, number, schema.clone(), Route::Hash(vec![key]))
    };
    let Exchange { outgoing, incoming, control } =
        Exchange::begin(options, peers?).map_err(failed)?;
    let making = spawn(async move {
        let mut made = Tally::default();
        for batch in 0..wish.rows.div_ceil(BATCH_ROWS) {
            let rows = rows(&wish, &schema, number, batch);
            made.add(&rows);
            outgoing.push(rows).await?;
        }
        outgoing.finish().await.map(|()| made)
    });
    let mut taken = Tally::default();
    while let Some(rows) = incoming.next().await.map_err(failed)? {
        taken.add(&rows);
    }
    let made = making.await.map_err(io::Error::other)?.map_err(failed)?;
    control.ended().await.map_err(failed)?;
    Ok(Outcome { made, taken, figures: control.figures() })
}

/// A stream with each other node: the later one connects, and says who it is.
async fn connect(number: usize, listeners: &[Listener]) -> io::Result<Vec<Option<Socket>>> {
    let mut peers: Vec<Option<Socket>> = listeners.iter().map(|_| None).collect();
    for (peer, listener) in listeners.iter().enumerate().take(number) {
        let socket = Socket::connect(listener.local_address()).await?;
        socket.send_all(&[number as u8]).await?;
        peers[peer] = Some(socket);
    }
    for _ in number + 1..listeners.len() {
        let (socket, _) = listeners[number].accept().await?;
        let mut peer = [0];
        if socket.recv(&mut peer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        peers[usize::from(peer[0])] = Some(socket);
    }
    Ok(peers)
}

fn schema(wish: &Wish) -> SchemaRef {
    let column = |i: usize| Field::new(format!("c{i}"), DataType::Int64, true);
    Arc::new(Schema::new((0..=wish.columns).map(column).collect::<Vec<_>>()))
}

/// The rows of a batch: keys that no other node has, and columns beside them.
fn rows(wish: &Wish, schema: &SchemaRef, node: usize, batch: u64) -> RecordBatch {
    let first = batch * BATCH_ROWS;
    let keys = first..(first + BATCH_ROWS).min(wish.rows);
    let column = |i: usize| {
        let value = |key: u64| (key * wish.nodes as u64 + node as u64) as i64 + i as i64;
        Arc::new(Int64Array::from_iter_values(keys.clone().map(value))) as ArrayRef
    };
    let columns = (0..=wish.columns).map(column).collect();
    RecordBatch::try_new(schema.clone(), columns).expect("columns of one length")
}

impl Tally {
    fn add(&mut self, rows: &RecordBatch) {
        let keys = rows.column(0).as_primitive::<Int64Type>().values();
        let hash = |key: &i64| (*key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        self.rows += keys.len() as u64;
        self.sum = keys.iter().fold(self.sum, |sum, key| sum.wrapping_add(hash(key)));
    }

    fn merge(&mut self, other: Tally) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}
