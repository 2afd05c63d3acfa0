//! Connections that are reset, vanish, are refused, or find no descriptor.

use std::io::ErrorKind;
use std::time::Duration;

use runtime::fs::{self, File, OpenOptions};
use runtime::net::{Address, Listener, Socket};
use runtime::sim::{Disk, FaultPlan, NetworkFaults};
use runtime::{IoBuf, random_u64, spawn, time, yield_now};

use crate::{home, kind, machine, on_pairs, pair, small};

#[test]
fn a_reset_wakes_both_ends() {
    on_pairs(|client, server, network| async move {
        let waiting = spawn(async move { server.recv(&mut [0; 8]).await });
        yield_now().await;
        network.reset_all();
        assert_eq!(kind(client.recv(&mut [0; 8]).await), Some(ErrorKind::ConnectionReset));
        let told = waiting.await.expect("no panic");
        assert_eq!(kind(told), Some(ErrorKind::ConnectionReset));
    });
}

#[test]
fn a_peer_that_vanishes_is_noticed_in_time() {
    on_pairs(|client, server, network| async move {
        let begin = time::now();
        network.vanish_all();
        client.send_all(b"anybody?").await.expect("taken");
        assert_eq!(kind(client.recv(&mut [0; 8]).await), Some(ErrorKind::TimedOut));
        let gave_up = begin.elapsed();
        assert_eq!(kind(server.recv(&mut [0; 8]).await), Some(ErrorKind::TimedOut));
        let noticed = begin.elapsed();
        let near = |took: Duration, seconds| took.as_secs_f64() - seconds < 1.0;
        assert!(near(gave_up, 20.0) && gave_up >= Duration::from_secs(20), "{gave_up:?}");
        assert!(near(noticed, 60.0) && noticed >= Duration::from_secs(60), "{noticed:?}");
    });
}

#[test]
fn attempts_are_refused_or_given_up() {
    let disk = Disk::new(1);
    let network = disk.network();
    let theirs = network.clone();
    machine(&disk, 1, 1).block_on(move || async move {
        let refused = Socket::connect(&home()).await.map(drop);
        assert_eq!(kind(refused), Some(ErrorKind::ConnectionRefused));
        let listener = Listener::bind(&home()).expect("a free address");
        theirs.faults(NetworkFaults { refused: 1.0, ..NetworkFaults::default() });
        let refused = Socket::connect(&home()).await.map(drop);
        assert_eq!(kind(refused), Some(ErrorKind::ConnectionRefused));
        theirs.faults(NetworkFaults { lost: 1.0, ..NetworkFaults::default() });
        let begin = time::now();
        assert_eq!(kind(Socket::connect(&home()).await.map(drop)), Some(ErrorKind::TimedOut));
        assert!(begin.elapsed() > Duration::from_secs(10), "it was tried again and again");
        theirs.faults(NetworkFaults::default());
        // Nobody accepts: the connection is there all the same, until the listener goes.
        let client = Socket::connect(&home()).await.expect("in the line");
        drop(listener);
        assert_eq!(kind(client.recv(&mut [0; 8]).await), Some(ErrorKind::ConnectionReset));
    });
    assert_eq!((network.socket_count(), network.wait_count()), (0, 0));
}

#[test]
fn an_attempt_that_is_dropped_leaves_a_reset_behind() {
    let disk = Disk::new(2);
    machine(&disk, 2, 1).block_on(|| async {
        let listener = Listener::bind(&home()).expect("a free address");
        for _ in 0..20 {
            let patience = Duration::from_micros(random_u64() % 250);
            let connected = time::timeout(patience, Socket::connect(&home())).await;
            if connected.is_ok() {
                drop(listener.accept().await.expect("accepted"));
                continue;
            }
            time::sleep(Duration::from_millis(5)).await;
            let arrived = time::timeout(Duration::from_millis(5), listener.accept()).await;
            if let Ok(accepted) = arrived {
                let (socket, _) = accepted.expect("accepted");
                let end = socket.recv(&mut [0; 8]).await;
                assert!(matches!(end, Ok(0)) || kind(end) == Some(ErrorKind::ConnectionReset));
            }
        }
    });
}

#[test]
fn addresses_are_those_of_the_machine() {
    let disk = Disk::new(3);
    machine(&disk, 3, 1).block_on(|| async {
        let any = Address::Tcp("0.0.0.0:0".parse().expect("an address"));
        let listener = Listener::bind(&any).expect("a free port");
        let Address::Tcp(chosen) = listener.local_address().clone() else { panic!("not TCP") };
        assert!(chosen.port() > 0);
        let local = format!("127.0.0.1:{}", chosen.port()).parse().expect("an address");
        let taken = Listener::bind(&Address::Tcp(local)).map(drop);
        assert_eq!(kind(taken), Some(ErrorKind::AddrInUse));
        let _client = Socket::connect(&Address::Tcp(local)).await.expect("a server");
        let (_server, peer) = listener.accept().await.expect("accepted");
        let Address::Tcp(peer) = peer else { panic!("not TCP") };
        assert!(peer.ip().is_loopback() && peer.port() > 0);
        let unix = Address::Unix("/socket".into());
        let _listener = Listener::bind(&unix).expect("a free path");
        let _client = Socket::connect(&unix).await.expect("a server");
    });
}

#[test]
fn a_listener_without_descriptors_says_so() {
    const EMFILE: i32 = 24;
    let disk = Disk::new(4);
    let network = disk.network();
    network.faults(NetworkFaults { descriptor_count_max: Some(3), ..NetworkFaults::default() });
    machine(&disk, 4, 1).block_on(|| async {
        let listener = Listener::bind(&home()).expect("a free address");
        let spare = listener.spare().expect("one more");
        let _clients =
            [Socket::connect(&home()).await, Socket::connect(&home()).await].map(Result::unwrap);
        let first = listener.accept().await.expect("room for one");
        let full = listener.accept().await.map(drop).expect_err("full");
        assert_eq!(full.raw_os_error(), Some(EMFILE));
        drop(spare);
        let _second = listener.accept().await.expect("the spare one's place");
        assert!(listener.spare().is_err());
        drop(first);
        listener.spare().expect("a place again");
    });
}

#[test]
fn when_the_machine_dies_nothing_passes_any_more() {
    let disk = Disk::new(5);
    disk.network().link(small());
    disk.faults(FaultPlan { crash_at_op: Some(2), ..FaultPlan::default() });
    machine(&disk, 5, 2).block_on(|| async {
        let (client, server) = pair().await;
        let options = OpenOptions { write: true, create: true, ..Default::default() };
        let file = File::open("/f", options).await.expect("alive");
        assert!(
            file.write_all_at(IoBuf::alloc(512), 0).await.0.is_err()
                || fs::sync_dir("/").await.is_err()
        );
        server.send_all(b"from the dead").await.expect("taken");
        assert_eq!(kind(client.recv(&mut [0; 8]).await), Some(ErrorKind::TimedOut));
        assert_eq!(kind(Socket::connect(&home()).await.map(drop)), Some(ErrorKind::TimedOut));
    });
    let after = disk.crash(1);
    machine(&after, 6, 1).block_on(|| async {
        let (client, server) = pair().await;
        client.send_all(b"alive").await.expect("sent");
        assert_eq!(server.recv(&mut [0; 8]).await.expect("received"), 5);
    });
}
