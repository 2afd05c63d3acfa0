//! A process without descriptors: sockets that are open are waited for all the same, on both real rings.
//! The limit is the process's, so this is a test program of its own with one test.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

use std::fs::File;
use std::io;

use runtime::net::{Address, Listener, Socket, prepare};
use runtime::{Config, RingChoice, Runtime, spawn};

/// More than fit between two sockets: whoever sends them waits for room.
const BYTES: usize = 16 << 20;

/// Descriptors that the process may have: more than a runtime with its sockets takes.
const DESCRIPTORS: u64 = 256;

fn limit_descriptors() {
    let limit = libc::rlimit { rlim_cur: DESCRIPTORS, rlim_max: DESCRIPTORS };
    // SAFETY: a plain call, and the limit is a local of ours.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
}

/// All descriptors that are left.
fn exhausted() -> Vec<File> {
    let mut held = vec![];
    while let Ok(file) = File::open("/dev/null") {
        held.push(file);
    }
    let more = File::open("/dev/null").expect_err("no descriptor is left");
    assert_eq!(more.raw_os_error(), Some(libc::EMFILE));
    held
}

async fn pair(listener: &Listener) -> (Socket, Socket) {
    let connected = Socket::connect(listener.local_address()).await.expect("a listener");
    let (accepted, _) = listener.accept().await.expect("a connection");
    (connected, accepted)
}

async fn received(socket: &Socket, count: usize) -> usize {
    let (mut total, mut bytes) = (0, vec![0; 1 << 16]);
    while total < count {
        match socket.recv(&mut bytes).await.expect("the socket is waited for") {
            0 => break,
            some => total += some,
        }
    }
    total
}

/// One socket that is read and written at the same time, while nobody can open anything.
async fn both_ways() {
    let address = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let listener = Listener::bind(&address).expect("a free port");
    let (here, there) = pair(&listener).await;
    prepare().expect("descriptors are left");
    let held = exhausted();
    let (reader, writer) = (here.clone(), here.clone());
    let reading = spawn(async move { received(&reader, 1).await });
    let writing = spawn(async move { writer.send_all(&vec![7; BYTES]).await });
    // One waits for a byte and the other for room, since nobody takes what it has sent.
    there.readable().await.expect("the socket is waited for");
    there.send_all(&[1]).await.expect("the reader's end is open");
    assert_eq!(reading.await.expect("the reader ended"), 1);
    assert_eq!(received(&there, BYTES).await, BYTES);
    writing.await.expect("the writer ended").expect("the socket is waited for");
    let refused = listener.spare().err().and_then(|error: io::Error| error.raw_os_error());
    assert_eq!(refused, Some(libc::EMFILE), "all of it without a descriptor");
    drop(held);
}

#[test]
fn open_sockets_are_waited_for_without_descriptors() {
    limit_descriptors();
    for ring in [RingChoice::Threads, RingChoice::Auto] {
        let config = Config { workers: 1, ring, pin: false, ..Config::default() };
        Runtime::start(config).expect("a runtime").block_on(both_ways);
    }
}
