//! The nodes of a shuffle as workers of the runtime: a coroutine that scans, and two for each peer.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Barrier};

use runtime::net::{
    Address, BufferPool, Listener, PoolOptions, Purpose, SendReport, Shutdown, Socket, Tuning,
};
use runtime::sync::WaitQueue;
use runtime::{Config, IoBuf, RingChoice, Runtime, spawn, yield_now};

use super::tuples::{Scan, Sink, Table, Tally};
use super::{BATCHES_PER_PEER, MORSEL_TUPLES, Node, Outcome};

/// Batches of one peer, filled and empty.
#[derive(Default)]
struct Lane {
    empty: RefCell<VecDeque<IoBuf>>,
    /// With the bytes that are filled; `None` is the end.
    filled: RefCell<VecDeque<Option<(IoBuf, usize)>>>,
    changed: WaitQueue,
}

impl Lane {
    async fn take_empty(&self) -> IoBuf {
        self.changed.wait(|| self.empty.borrow_mut().pop_front()).await
    }

    async fn take_filled(&self) -> Option<(IoBuf, usize)> {
        self.changed.wait(|| self.filled.borrow_mut().pop_front()).await
    }

    fn give_empty(&self, buf: IoBuf) {
        self.empty.borrow_mut().push_back(buf);
        self.changed.wake_all();
    }

    fn give_filled(&self, batch: Option<(IoBuf, usize)>) {
        self.filled.borrow_mut().push_back(batch);
        self.changed.wake_all();
    }
}

/// Sockets that listen, one for each node.
pub(super) fn listen(nodes: usize) -> io::Result<Vec<Listener>> {
    let anywhere = Address::Tcp(([127, 0, 0, 1], 0).into());
    (0..nodes).map(|_| Listener::bind(&anywhere)).collect()
}

/// A runtime of one worker for each node, before any of them waits for another.
pub(super) fn start(nodes: usize, tuning: Tuning) -> io::Result<Vec<Runtime>> {
    let config = Config {
        workers: 1,
        ring: RingChoice::Uring,
        pin: false,
        attack: false,
        sockets: tuning,
        ..Config::default()
    };
    let start = |_| Runtime::start(config.clone()).map_err(io::Error::other);
    (0..nodes).map(start).collect()
}

/// Runs one node to its end on its runtime.
pub(super) fn run(
    node: Node,
    runtime: &Runtime,
    listeners: Arc<Vec<Listener>>,
    start: Arc<Barrier>,
) -> io::Result<Outcome> {
    let report = runtime.rings()[0].clone();
    let mut outcome = runtime.block_on(move || async move {
        let peers = connect(&node, &listeners).await;
        // All of them, whatever became of it, or the others would wait for ever.
        start.wait();
        shuffle(node, peers?).await
    })?;
    outcome.backend = format!("{}: {}", report.kind, report.reason);
    Ok(outcome)
}

/// A connection with each other node, in their order: the later one connects, and says who it is.
async fn connect(node: &Node, listeners: &[Listener]) -> io::Result<Vec<(usize, Socket)>> {
    let mut peers = vec![];
    for (number, listener) in listeners.iter().enumerate().take(node.number) {
        let socket = Socket::connect(listener.local_address()).await?;
        socket.send_all(&[node.number as u8]).await?;
        peers.push((number, socket));
    }
    for _ in node.number + 1..node.nodes {
        let (socket, _) = listeners[node.number].accept().await?;
        let mut number = [0];
        if socket.recv(&mut number).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        peers.push((usize::from(number[0]), socket));
    }
    Ok(peers.into_iter().map(|(n, s)| (n, s.with_purpose(Purpose::Transfer))).collect())
}

async fn shuffle(node: Node, peers: Vec<(usize, Socket)>) -> io::Result<Outcome> {
    let pool = BufferPool::new(PoolOptions {
        count: node.receive_count(),
        bytes: node.receive_bytes,
        message_bytes: node.message_bytes,
    })?;
    let table = Rc::new(RefCell::new(node.table()));
    // One arena for all: the ring pins it once.
    let mut bufs = IoBuf::alloc_many(peers.len() * BATCHES_PER_PEER, node.batch_bytes).into_iter();
    let (mut lanes, mut senders, mut receivers) = (vec![], vec![], vec![]);
    lanes.resize_with(node.nodes, || None);
    for (number, socket) in peers {
        let lane = Rc::new(Lane::default());
        bufs.by_ref().take(BATCHES_PER_PEER).for_each(|buf| lane.give_empty(buf));
        lanes[number] = Some(lane.clone());
        let receiver = socket.receiver(&pool);
        receivers.push(spawn(receive(receiver, Sink::new(node.tuple_bytes), table.clone())));
        senders.push(spawn(send(socket, lane)));
    }
    let mut outcome = scan(&node, &lanes, &table).await;
    for sender in senders {
        let report = sender.await.map_err(io::Error::other)??;
        outcome.report.bytes += report.bytes;
        outcome.report.lent_bytes += report.lent_bytes;
        outcome.report.copied_bytes += report.copied_bytes;
    }
    for receiver in receivers {
        let (sink, bytes) = receiver.await.map_err(io::Error::other)??;
        outcome.received.merge(sink.tally);
        outcome.wrong += sink.wrong + u64::from(!sink.is_whole());
        outcome.received_bytes += bytes;
    }
    outcome.is_multishot = pool.is_multishot();
    Ok(outcome)
}

/// Cuts the node's rows into batches for its peers; its own it keeps.
async fn scan(
    node: &Node,
    lanes: &[Option<Rc<Lane>>],
    table: &Rc<RefCell<Option<Table>>>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut rows = Scan::new(node.number, node.nodes, node.tuples, node.tuple_bytes);
    let mut batches: Vec<Option<(IoBuf, usize)>> = vec![];
    batches.resize_with(node.nodes, || None);
    let (mut own, mut scanned) = (Tally::default(), 0u64);
    while let Some((key, to)) = rows.next() {
        scanned += 1;
        match &lanes[to] {
            None => {
                rows.write(key, &mut vec![0; node.tuple_bytes], &mut own);
                table.borrow_mut().iter_mut().for_each(|table| table.insert(key));
            }
            Some(lane) => {
                let (mut buf, filled) = match batches[to].take() {
                    Some(batch) => batch,
                    None => (lane.take_empty().await, 0),
                };
                rows.write(key, &mut buf.as_mut_slice()[filled..], &mut outcome.sent);
                let filled = filled + node.tuple_bytes;
                match filled + node.tuple_bytes > node.batch_bytes {
                    true => lane.give_filled(Some((buf, filled))),
                    false => batches[to] = Some((buf, filled)),
                }
            }
        }
        if scanned.is_multiple_of(MORSEL_TUPLES) {
            yield_now().await;
        }
    }
    for (batch, lane) in batches.into_iter().zip(lanes) {
        let Some(lane) = lane else { continue };
        batch.into_iter().for_each(|batch| lane.give_filled(Some(batch)));
        lane.give_filled(None);
    }
    outcome.own = own;
    outcome
}

/// Sends the batches of a lane; a batch that the kernel still reads comes back later.
async fn send(socket: Socket, lane: Rc<Lane>) -> io::Result<SendReport> {
    let total = Rc::new(RefCell::new(SendReport::default()));
    let mut returning = VecDeque::new();
    while let Some((buf, filled)) = lane.take_filled().await {
        let (sent, lent) = socket.send_buf(buf, 0..filled).await;
        let (lane, total) = (lane.clone(), total.clone());
        returning.push_back(spawn(async move {
            let (buf, report) = lent.back().await;
            let mut total = total.borrow_mut();
            total.bytes += report.bytes;
            total.lent_bytes += report.lent_bytes;
            total.copied_bytes += report.copied_bytes;
            drop(total);
            lane.give_empty(buf);
        }));
        sent?;
        while returning.len() > BATCHES_PER_PEER {
            let oldest = returning.pop_front().expect("there are some");
            oldest.await.map_err(io::Error::other)?;
        }
    }
    for back in returning {
        back.await.map_err(io::Error::other)?;
    }
    socket.shutdown(Shutdown::Write)?;
    let report = *total.borrow();
    Ok(report)
}

async fn receive(
    mut receiver: runtime::net::Receiver,
    mut sink: Sink,
    table: Rc<RefCell<Option<Table>>>,
) -> io::Result<(Sink, u64)> {
    let mut bytes = 0;
    while let Some(chunk) = receiver.next().await? {
        bytes += chunk.len() as u64;
        sink.take(&chunk, &mut table.borrow_mut());
    }
    Ok((sink, bytes))
}
