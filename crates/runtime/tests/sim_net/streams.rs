//! Clients and a server that exchange streams: traces, whole streams, and what is left of them.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Duration;

use runtime::net::{Listener, Shutdown, Socket};
use runtime::sim::{Disk, NetworkFaults};
use runtime::{random_u64, spawn, spawn_on, time};

use crate::{Bound, exchange, home, kind, len_of, machine, seeds, small, text, unkind};

/// Clients and a server that exchange streams; how many went well and how many did not.
async fn play(count: u64) -> (usize, usize) {
    let listener = Listener::bind(&home()).expect("a free address");
    let server = spawn(async move {
        let mut served = vec![];
        while let Ok((socket, _)) = listener.accept().await {
            served.push(Bound(spawn(async move {
                let mut first = [0; 1];
                if matches!(socket.recv(&mut first).await, Ok(1)) {
                    let client = u64::from(first[0]);
                    return exchange(socket, 1000 + client, client).await;
                }
                Err(ErrorKind::UnexpectedEof.into())
            })));
        }
    });
    let clients = (0..count).map(|client| {
        spawn_on(client as usize % runtime::worker_count(), move || async move {
            time::sleep(Duration::from_micros(random_u64() % 20_000)).await;
            let socket = Socket::connect(&home()).await?;
            socket.send_all(&[client as u8]).await?;
            exchange(socket, client, 1000 + client).await
        })
    });
    let clients: Vec<_> = clients.collect();
    let (mut good, mut bad) = (0, 0);
    for client in clients {
        match client.await.expect("no panic") {
            Ok(()) => good += 1,
            Err(_) => bad += 1,
        }
    }
    server.abort();
    drop(server.await);
    (good, bad)
}

fn run(seed: u64, faults: NetworkFaults) -> ((usize, usize), u64) {
    let disk = Disk::new(seed);
    disk.network().link(small());
    disk.network().faults(faults);
    let played = machine(&disk, seed, 1 + seed as usize % 3).block_on(|| play(12));
    (played, disk.trace_hash())
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in seeds(10) {
        assert_eq!(run(seed, unkind()), run(seed, unkind()), "seed {seed}");
    }
    let hashes: BTreeSet<u64> = (0..10).map(|seed| run(seed, unkind()).1).collect();
    assert_eq!(hashes.len(), 10, "different seeds give different runs");
}

#[test]
fn without_faults_every_stream_is_whole() {
    for seed in seeds(20) {
        let ((good, bad), _) = run(seed, NetworkFaults::short_and_late());
        assert_eq!((good, bad), (12, 0), "seed {seed}");
    }
}

#[test]
fn with_faults_streams_end_with_errors_and_not_early() {
    let (mut good, mut bad) = (0, 0);
    for seed in seeds(60) {
        let played = run(seed, unkind()).0;
        (good, bad) = (good + played.0, bad + played.1);
    }
    assert!(good > 100 && bad > 100, "{good} good, {bad} bad");
}

/// A client or server task that does something, and is dropped at any moment.
async fn restless(listener: Rc<Listener>) {
    loop {
        match random_u64() % 3 {
            0 => {
                let patience = Duration::from_micros(random_u64() % 2000);
                let _ = time::timeout(patience, listener.accept()).await;
            }
            1 => {
                let Ok((socket, _)) = listener.accept().await else { continue };
                let patience = Duration::from_micros(random_u64() % 5000);
                let _ = time::timeout(patience, exchange(socket, 1, 9)).await;
            }
            _ => {
                let Ok(socket) = Socket::connect(&home()).await else { continue };
                let hung = socket.clone();
                let _watching = Bound(spawn(async move { hung.hung_up().await }));
                let _ = socket.send_vec(text(9, len_of(9))).await;
            }
        }
    }
}

#[test]
fn nothing_is_left_of_tasks_that_are_dropped_anywhere() {
    for seed in seeds(20) {
        let disk = Disk::new(seed);
        let network = disk.network();
        network.link(small());
        network.faults(unkind());
        let runtime = machine(&disk, seed, 1);
        runtime.block_on(|| async {
            let listener = Rc::new(Listener::bind(&home()).expect("a free address"));
            for _ in 0..10 {
                let tasks: Vec<_> = (0..20).map(|_| spawn(restless(listener.clone()))).collect();
                for task in tasks {
                    time::sleep(Duration::from_micros(random_u64() % 1000)).await;
                    task.abort();
                }
            }
            drop(listener);
            // Who tells of a connection that vanished does so by then, and what was begun is done.
            time::sleep(Duration::from_secs(600)).await;
        });
        assert_eq!((network.socket_count(), network.wait_count()), (0, 0), "seed {seed}");
        let stats = &runtime.stats()[0];
        assert_eq!(stats.inflight_count, 0, "seed {seed}");
        // The task of `block_on` itself may not be counted off yet.
        assert!(stats.live_task_count <= 1, "seed {seed}: {} tasks", stats.live_task_count);
    }
}

#[test]
fn a_runtime_that_stops_leaves_no_socket() {
    for seed in 0..10 {
        let disk = Disk::new(seed);
        let network = disk.network();
        network.faults(unkind());
        let runtime = machine(&disk, seed, 2);
        let kept = runtime.block_on(|| async {
            let listener = Listener::bind(&home()).expect("a free address");
            drop(spawn(async move {
                while let Ok((socket, _)) = listener.accept().await {
                    drop(spawn(async move { exchange(socket, 1, 2).await }));
                }
            }));
            for _ in 0..5 {
                drop(spawn(async { Socket::connect(&home()).await?.recv(&mut [0; 8]).await }));
            }
            time::sleep(Duration::from_millis(2)).await;
            Socket::connect(&home()).await
        });
        drop(runtime);
        assert_eq!((network.socket_count(), network.wait_count()), (0, 0), "seed {seed}");
        if let Ok(socket) = kept {
            assert_eq!(kind(socket.shutdown(Shutdown::Both)), Some(ErrorKind::NotConnected));
        }
    }
}
