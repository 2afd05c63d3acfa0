//! A node and a peer that says what it likes: bad bytes, bad manners, silence.

mod both;
mod mutated;
mod peers;

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Decimal128Array, Int32Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use runtime::net::{Address, Listener, Shutdown, Socket};
use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime, spawn, time};
use types::{SqlError, SqlResult};

use super::frame::{Hello, Kind, frame};
use super::wire::Wire;
use super::{Exchange, ExchangeOptions, Route};
use crate::memory::Governor;

const BUFFER_BYTES: usize = 4096;
const CREDITS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(5);
const EXCHANGE: u64 = 77;

/// Seeds of a test; the environment may ask for more.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("DOVETAIL_SEEDS").ok().and_then(|text| text.parse().ok());
    0..asked.unwrap_or(count).max(count)
}

fn machine(seed: u64) -> Runtime {
    let ring = RingChoice::Sim(Disk::new(seed));
    Runtime::start(Config { workers: 1, ring, seed, ..Config::default() }).expect("a simulation")
}

fn schema() -> SchemaRef {
    let field = |name, ty| Field::new(name, ty, true);
    Arc::new(Schema::new(vec![
        field("k", DataType::Int32),
        field("s", DataType::Utf8View),
        field("d", DataType::Decimal128(20, 2)),
    ]))
}

fn batch(row_count: usize) -> RecordBatch {
    let numbers = 0..row_count as i32;
    let text = |i: i32| (i % 5 != 0).then(|| format!("a text that is long enough, {i}"));
    let decimal = |i: i32| (i % 7 != 0).then(|| i128::from(i) * 1000);
    let decimals: Decimal128Array = numbers.clone().map(decimal).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(numbers.clone())),
        Arc::new(numbers.map(text).collect::<StringViewArray>()),
        Arc::new(decimals.with_precision_and_scale(20, 2).expect("they fit")),
    ];
    RecordBatch::try_new(schema(), columns).expect("a batch")
}

fn encoded(row_count: usize) -> Vec<u8> {
    Wire::new(&schema()).and_then(|wire| wire.encode(&batch(row_count))).expect("encoded")
}

fn hello() -> Vec<u8> {
    Hello { exchange: EXCHANGE, node: 1, node_count: 2 }.frame()
}

fn credit(count: u32) -> Vec<u8> {
    frame(Kind::Credit, &count.to_le_bytes())
}

fn end(batch_count: u64) -> Vec<u8> {
    frame(Kind::End, &batch_count.to_le_bytes())
}

/// The manners of a peer that has sent all that it has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// It stays, and says no more.
    Silent,
    /// It closes its half.
    Half,
    /// It goes.
    Gone,
}

async fn pair() -> (Socket, Socket) {
    let anywhere = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let listener = Listener::bind(&anywhere).expect("a free address");
    let client = Socket::connect(listener.local_address()).await.expect("connected");
    (client, listener.accept().await.expect("accepted").0)
}

/// The end of an exchange with such a peer, as the node sees it.
struct Heard {
    row_count: usize,
    result: SqlResult<()>,
    memory_bytes_max: usize,
}

/// A node without rows of its own hears `bytes`, so many at a time with such pauses.
async fn hear(bytes: Vec<u8>, at_once: usize, pause: Duration, after: After) -> Heard {
    let (node, peer) = pair().await;
    let governor = Governor::new(1 << 30);
    let options = ExchangeOptions {
        memory: governor.without_plan(),
        buffer_bytes: BUFFER_BYTES,
        credits: CREDITS,
        patience: PATIENCE,
        ..ExchangeOptions::new(EXCHANGE, 0, schema(), Route::Broadcast)
    };
    let exchange = Exchange::begin(options, vec![None, Some(node)]).expect("an exchange");
    let talking = spawn(talk(peer, bytes, at_once, pause, after));
    let finished = exchange.outgoing.finish().await;
    let mut row_count = 0;
    let result = loop {
        match exchange.incoming.next().await {
            Ok(Some(rows)) => row_count += rows.num_rows(),
            Ok(None) => break finished,
            Err(error) => break Err(error),
        }
    };
    drop(exchange.incoming);
    drop(exchange.outgoing);
    let ended = exchange.control.ended().await;
    drop(exchange.control);
    talking.abort();
    assert_eq!(governor.growth().0, 0, "memory is left");
    Heard { row_count, result: result.and(ended), memory_bytes_max: governor.growth().1 }
}

async fn talk(peer: Socket, bytes: Vec<u8>, at_once: usize, pause: Duration, after: After) {
    let listening = peer.clone();
    let listener = spawn(async move {
        let mut sink = [0; 1024];
        while listening.recv(&mut sink).await.is_ok_and(|count| count > 0) {}
    });
    for piece in bytes.chunks(at_once) {
        if peer.send_all(piece).await.is_err() {
            return;
        }
        time::sleep(pause).await;
    }
    match after {
        After::Silent => {}
        After::Half => peer.shutdown(Shutdown::Write).unwrap_or_default(),
        After::Gone => {
            listener.abort();
            return;
        }
    }
    let _ = listener.await;
}

/// The error of an exchange with a peer that sends these frames and does that then.
fn error_of(frames: &[Vec<u8>], after: After) -> SqlError {
    let bytes = frames.concat();
    let heard = machine(1).block_on(move || hear(bytes, 1 << 16, Duration::ZERO, after));
    heard.result.expect_err("the peer was heard to the end")
}
