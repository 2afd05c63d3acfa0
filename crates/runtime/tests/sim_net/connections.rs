//! What the two ends of one connection see of each other.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::time::Duration;

use runtime::net::{Shutdown, Socket};
use runtime::sim::{Disk, Link};
use runtime::{spawn, time};

use crate::{byte, kind, machine, on_pairs, pair, small, text, whole_of};

#[test]
fn a_half_closed_stream_still_carries_the_other_way() {
    on_pairs(|client, server, _| async move {
        client.send_all(&text(1, 3000)).await.expect("sent");
        client.shutdown(Shutdown::Write).expect("open");
        assert_eq!(kind(client.send(b"more").await), Some(ErrorKind::BrokenPipe));
        // What was sent before the end is still there when the hang-up is known.
        server.hung_up().await.expect("waited");
        assert_eq!(whole_of(&server, 1).await, 3000);
        assert_eq!(server.recv(&mut [0; 8]).await.expect("still the end"), 0);
        let sending = spawn(async move { server.send_all(&text(2, 30_000)).await });
        assert_eq!(whole_of_first(&client, 2, 30_000).await, 30_000);
        sending.await.expect("no panic").expect("sent");
        assert_eq!(client.recv(&mut [0; 8]).await.expect("the end"), 0);
    });
}

/// Receives exactly so many bytes of a stream.
async fn whole_of_first(socket: &Socket, stream: u64, len: usize) -> usize {
    let (mut place, mut bytes) = (0, vec![0; 700]);
    while place < len {
        let count = socket.recv(&mut bytes).await.expect("received");
        assert!(count > 0, "{place} of {len} bytes came");
        assert!((0..count).all(|at| bytes[at] == byte(stream, place + at)));
        place += count;
    }
    place
}

#[test]
fn whoever_stops_to_receive_takes_what_has_come() {
    on_pairs(|client, server, _| async move {
        client.send_all(b"before").await.expect("sent");
        server.readable().await.expect("there");
        server.shutdown(Shutdown::Read).expect("open");
        let mut bytes = [0; 20];
        assert_eq!(server.recv(&mut bytes).await.expect("received"), 6);
        assert_eq!(server.recv(&mut bytes).await.expect("the end"), 0);
        server.send_all(b"after").await.expect("the other half is open");
        assert_eq!(client.recv(&mut bytes).await.expect("received"), 5);
    });
}

#[test]
fn a_sender_waits_while_nobody_receives() {
    on_pairs(|client, server, _| async move {
        let link = small();
        let most = link.send_bytes_max + link.receive_bytes_max;
        let mut sent = 0;
        let all = text(3, 100_000);
        while let Ok(count) = time::timeout(Duration::from_secs(5), client.send(&all[sent..])).await
        {
            sent += count.expect("sent");
        }
        assert!((most / 2..=most).contains(&sent), "{sent} bytes went into a silent peer");
        let rest = all[sent..].to_vec();
        let sending = spawn(async move {
            client.send_all(&rest).await.expect("sent");
            client.shutdown(Shutdown::Write).expect("open");
        });
        assert_eq!(whole_of(&server, 3).await, 100_000);
        sending.await.expect("no panic");
    });
}

#[test]
fn a_stream_takes_as_long_as_its_rate_and_latency_say() {
    let link = Link { latency_ns: 10_000_000, rate: 1_000_000, ..Link::default() };
    let mut times = BTreeSet::new();
    for seed in 0..10 {
        let disk = Disk::new(seed);
        disk.network().link(link);
        let took = machine(&disk, seed, 1).block_on(move || async move {
            let (client, server) = pair().await;
            let begin = time::now();
            let sending = spawn(transmit_all(client, 1_000_000));
            assert_eq!(whole_of(&server, 4).await, 1_000_000);
            sending.await.expect("no panic");
            begin.elapsed()
        });
        // The rate is between half and twice a megabyte a second; the window adds a little.
        assert!(took > Duration::from_millis(490), "seed {seed}: {took:?}");
        assert!(took < Duration::from_millis(2800), "seed {seed}: {took:?}");
        times.insert(took);
    }
    assert_eq!(times.len(), 10, "each connection has figures of its own");
}

async fn transmit_all(socket: Socket, len: usize) {
    socket.send_all(&text(4, len)).await.expect("sent");
    socket.shutdown(Shutdown::Write).expect("open");
}

#[test]
fn a_peer_that_closes_without_receiving_resets() {
    on_pairs(|client, server, _| async move {
        client.send_all(b"unread").await.expect("sent");
        server.readable().await.expect("there");
        drop(server);
        assert_eq!(kind(client.recv(&mut [0; 8]).await), Some(ErrorKind::ConnectionReset));
        assert_eq!(client.recv(&mut [0; 8]).await.expect("told once"), 0);
        assert_eq!(kind(client.send(b"x").await), Some(ErrorKind::BrokenPipe));
        assert_eq!(kind(client.shutdown(Shutdown::Both)), Some(ErrorKind::NotConnected));
    });
}

#[test]
fn what_is_sent_to_a_closed_peer_comes_back_as_a_reset() {
    on_pairs(|client, server, _| async move {
        drop(server);
        assert_eq!(client.recv(&mut [0; 8]).await.expect("the end"), 0);
        client.send_all(b"to nobody").await.expect("taken");
        client.hung_up().await.expect("waited");
        time::sleep(Duration::from_millis(10)).await;
        assert_eq!(kind(client.send(b"x").await), Some(ErrorKind::ConnectionReset));
    });
}
