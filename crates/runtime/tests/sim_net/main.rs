//! The simulated network: one seed one trace, streams that are whole or end with an error, faults.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

mod connections;
mod faults;
mod streams;

use std::io::{self, ErrorKind};
use std::time::Duration;

use runtime::net::{Address, Listener, Shutdown, Socket};
use runtime::sim::{Disk, Link, Network, NetworkFaults};
use runtime::{Config, JoinHandle, RingChoice, Runtime, random_u64, spawn, time};

/// Seeds of a test; the environment may ask for more.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("DOVETAIL_SEEDS").ok().and_then(|text| text.parse().ok());
    0..asked.unwrap_or(count).max(count)
}

fn machine(disk: &Disk, seed: u64, workers: usize) -> Runtime {
    let ring = RingChoice::Sim(disk.clone());
    Runtime::start(Config { ring, seed, workers, ..Config::default() }).expect("a runtime")
}

/// Where all servers here listen.
fn home() -> Address {
    Address::Tcp("127.0.0.1:7000".parse().expect("an address"))
}

/// Buffers of which a test can see the end, and a give-up that comes before the keepalive.
fn small() -> Link {
    Link {
        latency_ns: 200_000,
        rate: 10_000_000,
        send_bytes_max: 4096,
        receive_bytes_max: 8192,
        segment_bytes_max: 1500,
        give_up_ns: 20_000_000_000,
        keepalive_ns: 60_000_000_000,
        ..Link::default()
    }
}

/// Everything that may befall a connection.
fn unkind() -> NetworkFaults {
    NetworkFaults {
        refused: 0.1,
        reset: 0.2,
        vanish: 0.2,
        life_ns: 20_000_000,
        ..NetworkFaults::short_and_late()
    }
}

/// The byte of a stream at a place.
fn byte(stream: u64, place: usize) -> u8 {
    (place as u64 * 31 + stream * 7 + (place as u64 >> 8)) as u8
}

fn text(stream: u64, len: usize) -> Vec<u8> {
    (0..len).map(|place| byte(stream, place)).collect()
}

/// Receives until the end of the stream; how many bytes of `stream` came, all of them right.
async fn receive(socket: &Socket, stream: u64) -> (usize, io::Result<()>) {
    let mut place = 0;
    let mut bytes = vec![0; 3000];
    loop {
        let len = 1 + random_u64() as usize % bytes.len();
        match socket.recv(&mut bytes[..len]).await {
            Ok(0) => return (place, Ok(())),
            Err(error) => return (place, Err(error)),
            Ok(count) => {
                let expected = (place..place + count).map(|place| byte(stream, place));
                assert!(bytes[..count].iter().copied().eq(expected), "bytes come in order");
                place += count;
            }
        }
    }
}

/// Bytes of a whole stream.
fn len_of(stream: u64) -> usize {
    (stream * 7919 % 40_000) as usize
}

/// Sends a stream and says that it has ended.
async fn transmit(socket: Socket, stream: u64) -> io::Result<()> {
    let text = text(stream, len_of(stream));
    match random_u64().is_multiple_of(2) {
        true => socket.send_all(&text).await?,
        false => socket.send_vec(text.clone()).await.0?,
    }
    socket.shutdown(Shutdown::Write)
}

/// A task that ends with whoever has begun it.
struct Bound<T>(JoinHandle<T>);

impl<T> Drop for Bound<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends one stream and receives another at the same time. Where it is well, both are whole.
async fn exchange(socket: Socket, out: u64, back: u64) -> io::Result<()> {
    let mut sending = Bound(spawn(transmit(socket.clone(), out)));
    let (count, received) = receive(&socket, back).await;
    // A reset is told once, as by the kernel: if to the sender, the receiver sees an end.
    (&mut sending.0).await.expect("no panic").and(received)?;
    assert_eq!(count, len_of(back), "a stream that ends without an error is whole");
    Ok(())
}

/// One connection, both of its ends, and its network.
async fn pair() -> (Socket, Socket) {
    let listener = Listener::bind(&home()).expect("a free address");
    let client = Socket::connect(&home()).await.expect("a server");
    let (server, _) = listener.accept().await.expect("accepted");
    (client, server)
}

/// Runs `test` on a connection of each of some seeds.
fn on_pairs<F: Future<Output = ()> + 'static>(
    test: impl Fn(Socket, Socket, Network) -> F + Copy + Send + 'static,
) {
    for seed in 0..10 {
        let disk = Disk::new(seed);
        let network = disk.network();
        network.link(small());
        let theirs = network.clone();
        let left = machine(&disk, seed, 1).block_on(move || async move {
            let (client, server) = pair().await;
            test(client, server, theirs).await;
            time::sleep(Duration::from_secs(1)).await;
            (network.socket_count(), network.wait_count())
        });
        assert_eq!(left, (0, 0), "seed {seed}");
    }
}

async fn whole_of(socket: &Socket, stream: u64) -> usize {
    let (count, ended) = receive(socket, stream).await;
    ended.expect("the end of the stream");
    count
}

fn kind<T>(result: io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}
