//! The control: the same nodes, batches and buffers, with one thread a node that asks epoll.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Barrier};

use super::tuples::{Scan, Sink, Table};
use super::{BATCHES_PER_PEER, MORSEL_TUPLES, Node, Outcome};

/// Events taken from the kernel at once.
const EVENT_COUNT: usize = 64;
/// Receives in a row of one peer, so that others have their turn.
const RECEIVE_COUNT: usize = 16;

/// Memory of a batch, and how much of it is filled.
struct Batch {
    bytes: Vec<u8>,
    len: usize,
}

/// The state that a node keeps of a peer.
struct Peer {
    socket: TcpStream,
    sink: Sink,
    /// The batch that is being filled, if there is one free.
    filling: Option<Batch>,
    /// Batches to be sent, of the first of which so many bytes are.
    filled: VecDeque<Batch>,
    sent: usize,
    empty: Vec<Batch>,
    is_writable: bool,
    is_done: bool,
    is_ended: bool,
}

/// Sockets that listen, one for each node.
pub(super) fn listen(nodes: usize) -> io::Result<Vec<TcpListener>> {
    (0..nodes).map(|_| TcpListener::bind("127.0.0.1:0")).collect()
}

/// Runs one node to its end in the calling thread.
pub(super) fn run(
    node: &Node,
    listeners: &[TcpListener],
    start: &Arc<Barrier>,
) -> io::Result<Outcome> {
    let sockets = connect(node, listeners);
    start.wait();
    let mut control = Control::new(node, sockets?)?;
    control.run(node)?;
    Ok(control.finish())
}

fn connect(node: &Node, listeners: &[TcpListener]) -> io::Result<Vec<(usize, TcpStream)>> {
    let mut peers = vec![];
    for (number, listener) in listeners.iter().enumerate().take(node.number) {
        let mut socket = TcpStream::connect(listener.local_addr()?)?;
        socket.write_all(&[node.number as u8])?;
        peers.push((number, socket));
    }
    for _ in node.number + 1..node.nodes {
        let (mut socket, _) = listeners[node.number].accept()?;
        let mut number = [0];
        socket.read_exact(&mut number)?;
        peers.push((usize::from(number[0]), socket));
    }
    for (_, socket) in &peers {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
    }
    Ok(peers)
}

struct Control {
    epoll: OwnedFd,
    peers: Vec<Option<Peer>>,
    table: Option<Table>,
    memory: Vec<u8>,
    outcome: Outcome,
}

impl Control {
    fn new(node: &Node, sockets: Vec<(usize, TcpStream)>) -> io::Result<Control> {
        // SAFETY: a plain call.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut peers: Vec<Option<Peer>> = vec![];
        peers.resize_with(node.nodes, || None);
        for (number, socket) in sockets {
            let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
            let mut event =
                libc::epoll_event { events: events.cast_unsigned(), u64: number as u64 };
            let (what, of) = (libc::EPOLL_CTL_ADD, socket.as_raw_fd());
            // SAFETY: both descriptors are open; the event is read only.
            if unsafe { libc::epoll_ctl(epoll.as_raw_fd(), what, of, &raw mut event) } != 0 {
                return Err(io::Error::last_os_error());
            }
            let batch = || Batch { bytes: vec![0; node.batch_bytes], len: 0 };
            peers[number] = Some(Peer {
                socket,
                sink: Sink::new(node.tuple_bytes),
                filling: Some(batch()),
                filled: VecDeque::new(),
                sent: 0,
                empty: (1..BATCHES_PER_PEER).map(|_| batch()).collect(),
                is_writable: true,
                is_done: false,
                is_ended: false,
            });
        }
        let (memory, outcome) = (vec![0; node.receive_bytes], Outcome::default());
        Ok(Control { epoll, peers, table: node.table(), memory, outcome })
    }

    fn run(&mut self, node: &Node) -> io::Result<()> {
        let mut rows = Some(Scan::new(node.number, node.nodes, node.tuples, node.tuple_bytes));
        let mut readable: Vec<usize> = vec![];
        while rows.is_some() || self.peers.iter().flatten().any(|p| !p.is_done || !p.is_ended) {
            let has_room = self.peers.iter().flatten().all(Peer::has_room);
            if has_room && !self.scan(node, &mut rows) {
                self.peers.iter_mut().flatten().for_each(Peer::close_batch);
            }
            for peer in self.peers.iter_mut().flatten() {
                peer.send(rows.is_none())?;
            }
            let goes_on = rows.is_some() && self.peers.iter().flatten().all(Peer::has_room);
            self.wait(&mut readable, goes_on)?;
            for number in std::mem::take(&mut readable) {
                if self.receive(number)? {
                    readable.push(number);
                }
            }
        }
        Ok(())
    }

    /// Cuts a morsel of rows into batches; false when there are no more.
    fn scan(&mut self, node: &Node, rows: &mut Option<Scan>) -> bool {
        let Some(scan) = rows else { return false };
        for _ in 0..MORSEL_TUPLES {
            let Some((key, to)) = scan.next() else {
                *rows = None;
                return false;
            };
            let Some(peer) = &mut self.peers[to] else {
                scan.write(key, &mut vec![0; node.tuple_bytes], &mut self.outcome.own);
                self.table.iter_mut().for_each(|table| table.insert(key));
                continue;
            };
            let batch = peer.filling.as_mut().expect("a morsel begins with room for a tuple");
            scan.write(key, &mut batch.bytes[batch.len..], &mut self.outcome.sent);
            batch.len += node.tuple_bytes;
            if batch.len + node.tuple_bytes > node.batch_bytes {
                peer.close_batch();
                if !peer.has_room() {
                    break;
                }
            }
        }
        true
    }

    /// Notes who can be received from and sent to; waits when there is nothing else to do.
    fn wait(&mut self, readable: &mut Vec<usize>, goes_on: bool) -> io::Result<()> {
        let is_over = self.peers.iter().flatten().all(|peer| peer.is_done && peer.is_ended);
        let timeout = if goes_on || is_over || !readable.is_empty() { 0 } else { -1 };
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENT_COUNT];
        let (epoll, place) = (self.epoll.as_raw_fd(), events.as_mut_ptr());
        // SAFETY: room for as many events as are asked for.
        let count = unsafe { libc::epoll_wait(epoll, place, EVENT_COUNT as i32, timeout) };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        for event in &events[..count as usize] {
            let (number, bits) = (event.u64 as usize, event.events.cast_signed());
            let Some(peer) = &mut self.peers[number] else { continue };
            peer.is_writable |= bits & (libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP) != 0;
            if bits & !libc::EPOLLOUT != 0 && !readable.contains(&number) {
                readable.push(number);
            }
        }
        Ok(())
    }

    /// Receives from a peer; true when there may be more.
    fn receive(&mut self, number: usize) -> io::Result<bool> {
        let Some(peer) = &mut self.peers[number] else { return Ok(false) };
        for _ in 0..RECEIVE_COUNT {
            match peer.socket.read(&mut self.memory) {
                Ok(0) => {
                    peer.is_ended = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.outcome.received_bytes += count as u64;
                    peer.sink.take(&self.memory[..count], &mut self.table);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn finish(mut self) -> Outcome {
        for peer in self.peers.iter().flatten() {
            self.outcome.received.merge(peer.sink.tally);
            self.outcome.wrong += peer.sink.wrong + u64::from(!peer.sink.is_whole());
        }
        self.outcome.backend = "epoll".to_owned();
        let sent = self.outcome.sent.count as usize;
        let tuple_bytes = self.peers.iter().flatten().next().map_or(0, |p| p.sink.tuple_bytes());
        self.outcome.report.bytes = sent * tuple_bytes;
        self.outcome
    }
}

impl Peer {
    /// True if there is a batch to fill.
    fn has_room(&self) -> bool {
        self.filling.is_some()
    }

    /// Puts the batch that is being filled into the line.
    fn close_batch(&mut self) {
        if let Some(batch) = self.filling.take_if(|batch| batch.len > 0) {
            self.filled.push_back(batch);
            self.filling = self.empty.pop();
        }
    }

    /// Sends what there is room for, and the end of the stream behind the last batch.
    fn send(&mut self, is_last: bool) -> io::Result<()> {
        while self.is_writable && !self.filled.is_empty() {
            match self.socket.write(&self.filled[0].bytes[self.sent..self.filled[0].len]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.is_writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.sent == self.filled[0].len {
                self.sent = 0;
                let mut batch = self.filled.pop_front().expect("it was sent");
                batch.len = 0;
                match self.filling {
                    None => self.filling = Some(batch),
                    Some(_) => self.empty.push(batch),
                }
            }
        }
        if is_last && self.filled.is_empty() && !self.is_done {
            self.socket.shutdown(Shutdown::Write)?;
            self.is_done = true;
        }
        Ok(())
    }
}
