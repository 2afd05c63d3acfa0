//! The beginning of an exchange: memory, lanes, and two coroutines for each peer.

use std::sync::Arc;

use runtime::net::{BufferPool, PoolOptions, Purpose, Socket};
use runtime::{IoBuf, spawn};
use types::{SqlError, SqlResult, SqlState};

use super::arrivals::Arrivals;
use super::control::ExchangeControl;
use super::failure::Failure;
use super::frame::{HEADER_BYTES, Hello};
use super::frames::Frames;
use super::gather::Gather;
use super::incoming::Incoming;
use super::lane::Lane;
use super::options::ExchangeOptions;
use super::outgoing::Outgoing;
use super::route::Router;
use super::shared::{Alive, Shared, Traffic};
use super::wire::Wire;
use super::{receiver, sender};
use crate::memory::Reservation;
use crate::notify::WaitGroup;

/// Bytes of a piece that is received, at most.
const CHUNK_BYTES_MAX: usize = 64 << 10;

/// Pieces that are received and not yet copied to where they belong, for each peer: one that is
/// read and one that the kernel fills, and as many again.
const CHUNKS_PER_PEER: usize = 4;

/// An exchange on one node, with its two ends.
pub struct Exchange {
    /// Where rows go in.
    pub outgoing: Arc<Outgoing>,
    /// Where rows come out.
    pub incoming: Arc<Incoming>,
    /// Its end, and its figures.
    pub control: ExchangeControl,
}

impl Exchange {
    /// Begins an exchange on the current worker, on whose ring its coroutines stay. `peers` has a
    /// connected stream for each other node, at its number, and none at the own number.
    ///
    /// # Errors
    /// 22023: options out of range, or streams that do not fit the numbers of nodes; 53200: there
    /// is no memory
    /// for a buffer in each direction; 58030: the worker can receive nothing.
    ///
    /// # Panics
    /// Outside of a task.
    pub fn begin(options: ExchangeOptions, peers: Vec<Option<Socket>>) -> SqlResult<Exchange> {
        let node_count = peers.len();
        options.check(node_count)?;
        if peers.iter().enumerate().any(|(n, peer)| peer.is_none() != (n == options.node)) {
            let text = "an exchange has a stream for each other node";
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, text));
        }
        let pool = (node_count > 1).then(|| pool(&options, node_count - 1)).transpose()?;
        let shared = Arc::new(shared(options, node_count)?);
        for (node, socket) in peers.into_iter().enumerate() {
            if let (Some(socket), Some(pool)) = (socket, &pool) {
                begin_peer(&shared, node, socket.with_purpose(Purpose::Transfer), pool);
            }
        }
        let outgoing = Arc::new(Outgoing::new(&shared));
        let incoming = Arc::new(Incoming { shared: Arc::clone(&shared) });
        Ok(Exchange { outgoing, incoming, control: ExchangeControl(shared) })
    }
}

/// Memory that an exchange takes from its beginning on.
struct Room {
    reservation: Arc<Reservation>,
    buffers: usize,
    credits: usize,
}

fn begin_peer(shared: &Arc<Shared>, node: usize, socket: Socket, pool: &BufferPool) {
    let frames = Frames::new(socket.receiver(pool), node, shared.buffer_bytes);
    let (sends, receives) = (Alive::new(shared), Alive::new(shared));
    spawn(sender::send(Arc::clone(shared), node, socket, sends));
    spawn(receiver::receive(Arc::clone(shared), node, frames, receives));
}

fn shared(options: ExchangeOptions, node_count: usize) -> SqlResult<Shared> {
    let Room { reservation, buffers, credits } = room(&options, node_count - 1)?;
    let router = Router::new(options.route)?;
    let frame_bytes = HEADER_BYTES + options.buffer_bytes;
    let lane = |node: usize| {
        let bufs = || IoBuf::alloc_many(buffers, frame_bytes);
        (node != options.node).then(|| Lane::new(bufs(), credits as u64))
    };
    Ok(Shared {
        hello: Hello {
            exchange: options.exchange,
            node: options.node as u32,
            node_count: node_count as u32,
        },
        buffer_bytes: options.buffer_bytes,
        patience: options.patience,
        wire: Wire::new(&options.schema)?,
        gathers: (0..router.way_count(node_count)).map(|_| Gather::default()).collect(),
        router,
        lanes: (0..node_count).map(lane).collect(),
        arrivals: Arrivals::new(node_count, credits * options.buffer_bytes),
        failure: Failure::default(),
        memory: reservation,
        alive: WaitGroup::default(),
        traffic: Traffic::default(),
    })
}

/// Takes memory for all buffers that are asked for, or for one in each direction.
fn room(options: &ExchangeOptions, peer_count: usize) -> SqlResult<Room> {
    let reservation = options.memory.reserve("exchange");
    let frame_bytes = HEADER_BYTES + options.buffer_bytes;
    let pool_bytes = CHUNKS_PER_PEER * chunk_bytes(options);
    let bytes = |buffers: usize, credits: usize| {
        peer_count * ((buffers + credits) * frame_bytes + pool_bytes)
    };
    if reservation.try_grow(bytes(options.buffers, options.credits)) {
        return Ok(Room { reservation, buffers: options.buffers, credits: options.credits });
    }
    reservation.grow(bytes(1, 1))?;
    Ok(Room { reservation, buffers: 1, credits: 1 })
}

fn chunk_bytes(options: &ExchangeOptions) -> usize {
    options.buffer_bytes.min(CHUNK_BYTES_MAX)
}

fn pool(options: &ExchangeOptions, peer_count: usize) -> SqlResult<BufferPool> {
    let pool = BufferPool::new(PoolOptions {
        count: CHUNKS_PER_PEER * peer_count,
        bytes: chunk_bytes(options),
        message_bytes: HEADER_BYTES + options.buffer_bytes,
    });
    let failed = |error| {
        let text = format!("an exchange cannot receive on this worker: {error}");
        SqlError::new(SqlState::IO_ERROR, text)
    };
    pool.map_err(failed)
}
