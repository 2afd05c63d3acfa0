//! Connections that hold a place and do nothing with it: silent ones, and those that send a byte a
//! second. Whoever is hung up on comes back at once.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::client::{Client, startup};

/// Each tick serves a tenth of the connections, so that each has its turn once a second.
const TICK: Duration = Duration::from_millis(100);
const TICK_COUNT: usize = 10;

/// How a connection wastes its place.
#[derive(Clone, Copy)]
enum Kind {
    /// It says nothing at all.
    Silent,
    /// A byte of the start-up message a second.
    Start,
    /// It has logged in, and sends a byte of a query a second.
    Query,
}

const KINDS: [Kind; 3] = [Kind::Silent, Kind::Start, Kind::Query];

struct Slow {
    kind: Kind,
    stream: TcpStream,
    /// What it has to say; a byte a second.
    text: Vec<u8>,
    sent: usize,
}

/// The slow connections, driven by a thread until dropped.
pub(super) struct Crowd {
    over: Arc<AtomicBool>,
    returned: Arc<AtomicU64>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Slow {
    fn connect(address: SocketAddr, kind: Kind) -> io::Result<Slow> {
        let (stream, text) = match kind {
            Kind::Silent => (TcpStream::connect(address)?, vec![]),
            Kind::Start => (TcpStream::connect(address)?, startup()),
            Kind::Query => {
                let query = format!("select {}1", "0+".repeat(200));
                let mut text = vec![b'Q'];
                text.extend_from_slice(&(query.len() as u32 + 5).to_be_bytes());
                text.extend_from_slice(query.as_bytes());
                (Client::connect(address)?.into_stream(), text)
            }
        };
        stream.set_nonblocking(true)?;
        Ok(Slow { kind, stream, text, sent: 0 })
    }

    /// Sends its byte; false when the server has hung up.
    fn turn(&mut self) -> bool {
        match self.stream.read(&mut [0; 512]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(count) if count > 0 => {}
            _ => return false,
        }
        // The last byte is never sent: it would end what the slowness is about.
        let Some(byte) = self.text.get(self.sent).filter(|_| self.sent + 1 < self.text.len())
        else {
            return true;
        };
        self.sent += 1;
        self.stream.write_all(&[*byte]).is_ok()
    }
}

impl Crowd {
    /// Connects `count` of them, a third of each kind.
    pub fn start(address: SocketAddr, count: usize) -> io::Result<Crowd> {
        let connect = |at: usize| Slow::connect(address, KINDS[at % KINDS.len()]);
        let all = (0..count).map(connect).collect::<io::Result<Vec<_>>>()?;
        let (over, returned) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (ends, counts) = (over.clone(), returned.clone());
        let thread = thread::spawn(move || drive(address, all, &ends, &counts));
        Ok(Crowd { over, returned, thread: Some(thread) })
    }

    /// How often one came back.
    pub fn returned(&self) -> u64 {
        self.returned.load(Relaxed)
    }

    /// Hangs up on the server.
    ///
    /// # Errors
    /// A connection could not come back.
    pub fn end(mut self) -> io::Result<()> {
        self.over.store(true, Relaxed);
        let thread = self.thread.take().expect("ended once");
        thread.join().map_err(|_| io::Error::other("the slow connections' thread panicked"))?
    }
}

fn drive(
    address: SocketAddr,
    mut all: Vec<Slow>,
    over: &AtomicBool,
    returned: &AtomicU64,
) -> io::Result<()> {
    let begun = Instant::now();
    for tick in 0.. {
        for slow in all.iter_mut().skip(tick % TICK_COUNT).step_by(TICK_COUNT) {
            if !slow.turn() {
                *slow = Slow::connect(address, slow.kind)?;
                returned.fetch_add(1, Relaxed);
            }
        }
        if over.load(Relaxed) {
            break;
        }
        thread::sleep((TICK * (tick as u32 + 1)).saturating_sub(begun.elapsed()));
    }
    Ok(())
}
