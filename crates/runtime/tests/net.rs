//! Sockets on both real rings, and in the simulation where nothing is asked of the system: streams,
//! waits that are dropped, silent connections.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/temp_dir.rs"]
mod temp_dir;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use runtime::fs::{File, OpenOptions};
use runtime::net::{Address, Listener, Shutdown, Socket};
use runtime::sim::{Disk, NetworkFaults};
use runtime::{Config, IoBuf, RingChoice, Runtime, spawn, spawn_on, time};
use temp_dir::TempDir;

fn runtimes() -> Vec<Runtime> {
    let start = |ring| {
        let config = Config { workers: 2, ring, pin: false, ..Config::default() };
        Runtime::start(config).expect("a runtime")
    };
    vec![start(RingChoice::Auto), start(RingChoice::Threads)]
}

/// The real rings, and simulated machines whose network makes calls short and segments late.
fn all_runtimes() -> Vec<Runtime> {
    let simulated = |seed| {
        let disk = Disk::new(seed);
        disk.network().faults(NetworkFaults::short_and_late());
        let ring = RingChoice::Sim(disk);
        let config = Config { workers: 2, ring, seed, ..Config::default() };
        Runtime::start(config).expect("a runtime")
    };
    runtimes().into_iter().chain((0..3).map(simulated)).collect()
}

fn anywhere() -> Address {
    Address::Tcp("127.0.0.1:0".parse().expect("an address"))
}

async fn echo(socket: Socket) {
    let mut bytes = vec![0; 1000];
    loop {
        match socket.recv(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(count) => socket.send_all(&bytes[..count]).await.expect("the peer listens"),
        }
    }
}

async fn serve(listener: Listener) {
    for turn in 0.. {
        let Ok((socket, _)) = listener.accept().await else { return };
        drop(spawn_on(turn % 2, move || echo(socket)));
    }
}

async fn ask(address: Address, text: Vec<u8>) -> Vec<u8> {
    let socket = Socket::connect(&address).await.expect("a server");
    let sender = socket.clone();
    let sent = spawn(async move {
        sender.send_all(&text).await.expect("sent");
        sender.shutdown(Shutdown::Write).expect("open");
    });
    let (mut all, mut bytes) = (vec![], vec![0; 4096]);
    loop {
        match socket.recv(&mut bytes).await.expect("an answer") {
            0 => break,
            count => all.extend_from_slice(&bytes[..count]),
        }
    }
    sent.await.expect("the sender ended");
    all
}

fn echoes(runtime: &Runtime, address: Address) {
    runtime.block_on(move || async move {
        let listener = Listener::bind(&address).expect("a free address");
        let address = listener.local_address().clone();
        let server = spawn(serve(listener));
        let text = |client: u8| vec![client; 300_000];
        let asked: Vec<_> =
            (0..20).map(|client| spawn(ask(address.clone(), text(client)))).collect();
        for (client, answer) in asked.into_iter().enumerate() {
            assert!(answer.await.expect("answered") == text(client as u8), "client {client}");
        }
        server.abort();
    });
}

/// Answers with memory that it lends to the kernel and gets back.
async fn echo_lent(socket: Socket) {
    let mut answer = vec![];
    loop {
        socket.readable().await.expect("waited");
        answer.resize(100_000, 0);
        match socket.recv(&mut answer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => answer.truncate(count),
        }
        let place = answer.as_ptr();
        let (sent, back) = socket.send_vec(answer).await;
        sent.expect("the peer listens");
        assert_eq!(back.as_ptr(), place, "the memory comes back");
        answer = back;
    }
}

#[test]
fn bytes_that_are_lent_arrive_in_order() {
    for runtime in all_runtimes() {
        runtime.block_on(move || async move {
            let listener = Listener::bind(&anywhere()).expect("a free address");
            let address = listener.local_address().clone();
            let server = spawn(async move {
                for _ in 0..8 {
                    let (socket, _) = listener.accept().await.expect("accepted");
                    drop(spawn(echo_lent(socket)));
                }
            });
            let text = |client: u32| -> Vec<u8> {
                (0..2_000_000u32).map(|i| (i.wrapping_mul(client + 7) >> 5) as u8).collect()
            };
            let asked: Vec<_> =
                (0..8).map(|client| spawn(ask(address.clone(), text(client)))).collect();
            for (client, answer) in asked.into_iter().enumerate() {
                assert!(answer.await.expect("answered") == text(client as u32), "client {client}");
            }
            server.await.expect("served");
        });
    }
}

#[test]
fn a_send_that_is_dropped_keeps_its_memory_and_harms_nobody() {
    for runtime in all_runtimes() {
        runtime.block_on(|| async {
            let listener = Listener::bind(&anywhere()).expect("a free address");
            let address = listener.local_address().clone();
            let client = Socket::connect(&address).await.expect("a server");
            let (server, _) = listener.accept().await.expect("accepted");
            for _ in 0..50 {
                let bytes = vec![1; 1 << 20];
                // The client reads nothing: after the first ones there is no room.
                let sent = time::timeout(Duration::from_millis(1), server.send_vec(bytes)).await;
                drop(sent);
            }
            drop(client);
            let (sent, _) = server.send_vec(vec![1; 64 << 20]).await;
            assert!(sent.is_err(), "the peer is gone");
        });
    }
}

#[test]
fn many_streams_carry_their_bytes_both_ways() {
    for runtime in all_runtimes() {
        echoes(&runtime, anywhere());
    }
}

#[test]
fn a_unix_socket_works_and_a_stale_one_is_replaced() {
    let path = std::env::temp_dir().join(format!("dovetail-net-{}", std::process::id()));
    for runtime in all_runtimes() {
        // The second runtime finds the first one's file.
        echoes(&runtime, Address::Unix(path.clone()));
    }
    let runtime = runtimes().remove(0);
    runtime
        .block_on(move || async move { runtime::fs::remove(&path).await })
        .expect("the socket's file");
}

#[test]
fn an_address_in_use_and_one_without_server_are_refused() {
    for runtime in all_runtimes() {
        runtime.block_on(|| async {
            let listener = Listener::bind(&anywhere()).expect("a free address");
            let address = listener.local_address().clone();
            let second = Listener::bind(&address).map(drop).expect_err("in use");
            assert_eq!(second.kind(), std::io::ErrorKind::AddrInUse);
            drop(listener);
            let refused = Socket::connect(&address).await.map(drop).expect_err("nobody is there");
            assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        });
    }
}

#[test]
fn a_dropped_wait_leaves_nothing_behind_and_loses_nothing() {
    for runtime in all_runtimes() {
        runtime.block_on(|| async {
            let listener = Rc::new(Listener::bind(&anywhere()).expect("a free address"));
            for _ in 0..50 {
                let waits = listener.clone();
                let waiting = spawn(async move { waits.accept().await.map(drop) });
                time::sleep(Duration::from_micros(300)).await;
                waiting.abort();
                assert!(waiting.await.is_err(), "nobody has connected");
            }
            let client = Socket::connect(listener.local_address()).await.expect("a server");
            let (server, _) = listener.accept().await.expect("the client is still there");
            client.send_all(b"x").await.expect("open");
            assert_eq!(server.recv(&mut [0; 8]).await.expect("a byte"), 1);
            // The last cancelled waits are collected meanwhile.
            time::sleep(Duration::from_millis(20)).await;
        });
        let busy: Vec<_> = runtime.stats().iter().map(|w| w.inflight_count).collect();
        assert!(busy.iter().all(|inflight| *inflight == 0), "operations left: {busy:?}");
    }
}

#[test]
fn a_runtime_stops_while_tasks_wait_for_sockets() {
    for runtime in all_runtimes() {
        runtime.block_on(|| async {
            let listener = Listener::bind(&anywhere()).expect("a free address");
            let client = Socket::connect(listener.local_address()).await.expect("a server");
            drop(spawn(serve(listener)));
            drop(spawn(async move { client.recv(&mut [0; 8]).await.map(drop) }));
            time::sleep(Duration::from_millis(5)).await;
        });
        drop(runtime);
    }
}

/// Work that never runs out, as a query that computes.
async fn compute() {
    loop {
        while !runtime::need_preempt() {
            std::hint::black_box(0);
        }
        runtime::yield_now().await;
    }
}

#[test]
fn silent_connections_and_a_busy_worker_do_not_starve_a_client() {
    use std::io::{Read, Write};
    for runtime in runtimes() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let handle = runtime.handle();
        for worker in 0..2 {
            drop(handle.spawn_on(worker, compute));
        }
        drop(handle.spawn_on(0, move || async move {
            let listener = Listener::bind(&anywhere()).expect("a free address");
            sender.send(listener.local_address().clone()).expect("the test waits");
            serve(listener).await;
        }));
        let Ok(Address::Tcp(address)) = receiver.recv() else { panic!("no address") };
        let mut silent = vec![];
        for round in 0..60u8 {
            let mut client = std::net::TcpStream::connect(address).expect("a server");
            client.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
            client.write_all(&[round]).expect("sent");
            let mut answer = [0];
            client.read_exact(&mut answer).expect("an answer while others are silent");
            assert_eq!(answer, [round]);
            silent.push(client);
        }
    }
}

/// So many silent connections that one completion queue (256 places) does not hold their ends.
const SILENT_COUNT: usize = 300;

#[test]
fn silent_connections_take_no_places_of_the_disk_and_all_wake() {
    for ring in [RingChoice::Auto, RingChoice::Threads] {
        let config = Config { workers: 1, ring, depth: 4, pin: false, ..Config::default() };
        let runtime = Runtime::start(config).expect("a runtime");
        let folder = TempDir::new();
        let path = folder.file("page");
        let done = runtime.block_on(move || {
            time::timeout(Duration::from_secs(60), async move {
                let listener = Listener::bind(&anywhere()).expect("a free address");
                let woken = Rc::new(Cell::new(0));
                let (mut peers, mut waiting) = (vec![], vec![]);
                for _ in 0..SILENT_COUNT {
                    peers.push(Socket::connect(listener.local_address()).await.expect("a server"));
                    let (socket, _) = listener.accept().await.expect("a client");
                    let woken = woken.clone();
                    waiting.push(spawn(async move {
                        let count = socket.recv(&mut [0; 8]).await.expect("a byte");
                        woken.set(woken.get() + count);
                    }));
                }
                let options =
                    OpenOptions { read: true, write: true, create: true, ..Default::default() };
                let file = File::open(&path, options).await.expect("a file");
                file.write_all_at(IoBuf::alloc(4096), 0).await.0.expect("written");
                assert_eq!(file.read_at(IoBuf::alloc(4096), 0).await.0.expect("read"), 4096);
                // All become ready while nobody looks.
                for peer in &peers {
                    peer.send_all(b"x").await.expect("sent");
                }
                for waits in waiting {
                    waits.await.expect("woken");
                }
                woken.get()
            })
        });
        assert_eq!(done.ok(), Some(SILENT_COUNT));
    }
}
