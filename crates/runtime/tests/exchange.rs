//! Data in bulk between peers: receives into buffers of a pool, sends of buffers that come back,
//! with each way of doing so, on each ring and in the simulation.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::time::Duration;

use runtime::net::{
    Address, BufferPool, Chunk, Listener, PoolOptions, Purpose, Receiver, Shutdown, Socket, Tuning,
};
use runtime::sim::{Disk, NetworkFaults};
use runtime::{
    Account, Config, IoBuf, RingChoice, RingKind, Runtime, Sqpoll, random_u64, spawn, spawn_on,
    time, yield_now,
};

/// All that there is; the thresholds are those of the tests.
fn all() -> Tuning {
    Tuning { zero_copy: true, zero_copy_bytes_min: 512, ..Tuning::default() }
}

fn start(ring: RingChoice, sockets: Tuning) -> Runtime {
    let config = Config { workers: 1, ring, pin: false, sockets, ..Config::default() };
    Runtime::start(config).expect("a runtime")
}

/// With a thread of the kernel that submits; `None` where it is refused.
fn polled() -> Option<Runtime> {
    let sqpoll = Some(Sqpoll { idle: Duration::from_millis(1), cpu: None });
    let (ring, sockets) = (RingChoice::Uring, all());
    Runtime::start(Config { workers: 1, ring, sqpoll, pin: false, sockets, ..Config::default() })
        .ok()
}

fn simulated(seed: u64) -> Runtime {
    let disk = Disk::new(seed);
    disk.network().faults(NetworkFaults::short_and_late());
    let config = Config {
        workers: 1,
        ring: RingChoice::Sim(disk),
        sockets: all(),
        seed,
        ..Config::default()
    };
    Runtime::start(config).expect("a runtime")
}

/// Seeds of a test; the environment may ask for more.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("DOVETAIL_SEEDS").ok().and_then(|text| text.parse().ok());
    0..asked.unwrap_or(count).max(count)
}

/// Runs a test with io_uring in several ways, with threads, and in simulations.
fn check<F: Future<Output = ()> + 'static>(test: impl Fn() -> F + Copy + Send + 'static) {
    let ways = [all(), Tuning { bundles: false, ..all() }, Tuning::plain()];
    ways.iter().for_each(|way| start(RingChoice::Auto, *way).block_on(test));
    start(RingChoice::Threads, all()).block_on(test);
    seeds(4).for_each(|seed| simulated(seed).block_on(test));
}

async fn pair() -> (Socket, Socket) {
    try_pair().await.expect("connected")
}

/// The same where connections may end at once.
async fn try_pair() -> io::Result<(Socket, Socket)> {
    let anywhere = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let listener = Listener::bind(&anywhere).expect("a free address");
    let deadline = time::now() + Duration::from_secs(60);
    let client = Socket::connect_until(listener.local_address(), deadline).await;
    let (server, _) = listener.accept().await.expect("accepted");
    Ok((client?, server.with_purpose(Purpose::Transfer)))
}

fn pool(count: usize, bytes: usize) -> BufferPool {
    let options = PoolOptions { count, bytes, message_bytes: bytes.min(4096) };
    BufferPool::new(options).expect("a pool")
}

fn byte(i: usize) -> u8 {
    ((i * 2_654_435_761) >> 11) as u8
}

fn text(range: std::ops::Range<usize>) -> Vec<u8> {
    range.map(byte).collect()
}

/// Sends `count` bytes in pieces of up to `most`, several of them under way; all buffers come back.
async fn send(socket: Socket, count: usize, most: usize) -> Socket {
    let (mut at, mut lent) = (0, vec![]);
    while at < count {
        let len = (1 + random_u64() as usize % most).min(count - at);
        let buf = IoBuf::copy_of(&[&[0xEE; 3], &text(at..at + len)[..], &[0xEE; 5]].concat());
        let (sent, out) = socket.send_buf(buf, 3..3 + len).await;
        sent.expect("sent");
        lent.push((len, out));
        at += len;
    }
    for (len, out) in lent {
        let (buf, report) = out.back().await;
        assert_eq!((buf.len(), report.bytes), (len + 8, len), "the same memory comes back");
        assert!(report.copied_bytes <= report.lent_bytes && report.lent_bytes <= len);
    }
    socket
}

/// Receives to the end of the stream; all bytes are right.
async fn receive(receiver: &mut Receiver) -> usize {
    let mut at = 0;
    while let Some(chunk) = receiver.next().await.expect("received") {
        assert!(!chunk.is_empty(), "a chunk has bytes");
        assert!(chunk.iter().enumerate().all(|(i, b)| *b == byte(at + i)), "bytes come in order");
        at += chunk.len();
    }
    at
}

#[test]
fn streams_arrive_whole_in_small_and_large_pieces() {
    check(|| async {
        for (count, most, buffers, bytes) in [
            (200_000, 60, 8, 100),
            (300_000, 3_000, 16, 4096),
            (400_000, 200_000, 4, 1 << 16),
            (20_000, 9_000, 1, 700),
        ] {
            let (client, server) = pair().await;
            let sender = spawn(async move {
                let server = send(server, count, most).await;
                server.shutdown(Shutdown::Write).expect("open");
            });
            let pool = pool(buffers, bytes);
            let mut receiver = client.receiver(&pool);
            assert_eq!(receive(&mut receiver).await, count);
            assert!(receiver.next().await.expect("over").is_none(), "the end stays the end");
            sender.await.expect("sent");
            drop(receiver);
            assert_eq!(pool.held_count(), 0, "every buffer is back");
        }
    });
}

#[test]
fn a_thread_of_the_kernel_submits_all_of_it() {
    let Some(runtime) = polled() else { return };
    runtime.block_on(|| async {
        let (client, server) = pair().await;
        let sender = spawn(async move {
            let server = send(server, 40_000, 3_000).await;
            server.shutdown(Shutdown::Write).expect("open");
        });
        let pool = pool(3, 1_000);
        assert_eq!(receive(&mut client.receiver(&pool)).await, 40_000);
        sender.await.expect("sent");
    });
}

#[test]
fn both_directions_and_many_peers_share_a_pool() {
    check(|| async {
        let pool = pool(6, 2048);
        let tasks = (0..5).map(|_| {
            let pool = pool.clone();
            spawn(async move {
                let (client, server) = pair().await;
                let ends = [client, server].map(|socket| {
                    let (pool, sender) = (pool.clone(), socket.clone());
                    let sending = spawn(async move {
                        let socket = send(sender, 60_000, 5_000).await;
                        socket.shutdown(Shutdown::Write).expect("open");
                    });
                    spawn(async move {
                        let count = receive(&mut socket.receiver(&pool)).await;
                        sending.await.expect("sent");
                        count
                    })
                });
                for end in ends {
                    assert_eq!(end.await.expect("received"), 60_000);
                }
            })
        });
        let tasks: Vec<_> = tasks.collect();
        for task in tasks {
            task.await.expect("done");
        }
        assert_eq!(pool.held_count(), 0);
    });
}

#[test]
fn a_receiver_without_buffers_waits_for_one() {
    check(|| async {
        let (client, server) = pair().await;
        let sender = spawn(async move { send(server, 10_000, 1_000).await });
        let pool = pool(3, 100);
        let mut receiver = client.receiver(&pool);
        let mut kept: Vec<Chunk> = vec![];
        while kept.len() < 3 {
            kept.push(receiver.next().await.expect("received").expect("more"));
        }
        assert_eq!(pool.held_count(), 3);
        let none = time::timeout(Duration::from_millis(20), receiver.next()).await;
        assert!(none.is_err(), "there is no buffer for more");
        let got: usize = kept.iter().map(|chunk| chunk.len()).sum();
        assert_eq!(kept.iter().flat_map(|c| c.to_vec()).collect::<Vec<_>>(), text(0..got));
        let waits = spawn(async move {
            let mut at = got;
            while at < 10_000 {
                let chunk = receiver.next().await.expect("received").expect("more");
                assert_eq!(chunk.to_vec(), text(at..at + chunk.len()));
                at += chunk.len();
            }
        });
        yield_now().await;
        drop(kept);
        waits.await.expect("received");
        drop(sender.await.expect("sent"));
        assert_eq!(pool.held_count(), 0);
    });
}

#[test]
fn what_is_received_outlives_its_receiver_and_its_socket() {
    check(|| async {
        let (client, server) = pair().await;
        let pool = pool(4, 64);
        let sender = spawn(async move { send(server, 64, 64).await });
        let mut receiver = client.receiver(&pool);
        let chunk = receiver.next().await.expect("received").expect("more");
        drop((receiver, client, pool));
        assert_eq!(chunk.to_vec(), text(0..chunk.len()));
        drop(sender);
        yield_now().await;
        drop(chunk);
    });
}

#[test]
fn receivers_that_are_dropped_give_everything_back() {
    check(|| async {
        let pool = pool(8, 512);
        for round in 0..20 {
            let (client, server) = pair().await;
            let sender = spawn(async move {
                let buf = IoBuf::copy_of(&text(0..30_000));
                let (_, lent) = server.send_buf(buf, 0..30_000).await;
                drop(lent);
            });
            let patience = Duration::from_micros(random_u64() % 2_000);
            let mut receiver = client.receiver(&pool);
            let taken = time::timeout(patience, async {
                for _ in 0..round {
                    receiver.next().await.expect("received").expect("more");
                }
            });
            let _ = taken.await;
            drop((receiver, client));
            sender.abort();
            let _ = sender.await;
        }
        while pool.held_count() > 0 {
            time::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn sends_that_are_dropped_free_their_memory_when_nobody_reads_it() {
    check(|| async {
        for round in 0..20u64 {
            let (client, server) = pair().await;
            let counted = Rc::new(());
            let held = counted.clone();
            let sender = spawn(async move {
                let _held = held;
                let mut lent = vec![];
                loop {
                    let buf = IoBuf::copy_of(&text(0..100_000));
                    let (sent, out) = server.send_buf(buf, 0..100_000).await;
                    lent.push(out);
                    if sent.is_err() {
                        return;
                    }
                }
            });
            time::sleep(Duration::from_micros(round * 100)).await;
            if round % 2 == 0 {
                // The peer takes some, and goes.
                let pool = pool(2, 3_000);
                let mut receiver = client.receiver(&pool);
                for _ in 0..round {
                    receiver.next().await.expect("received").expect("more");
                }
            }
            sender.abort();
            let _ = sender.await;
            assert_eq!(Rc::strong_count(&counted), 1, "the task is gone");
            drop(client);
        }
    });
}

#[test]
fn memory_that_nobody_waits_for_is_not_used_again_before_it_was_read() {
    check(|| async {
        let (client, server) = pair().await;
        let sender = spawn(async move {
            for i in 0..60 {
                let at = i * 9_000;
                let buf = IoBuf::copy_of(&text(at..at + 9_000));
                let (sent, lent) = server.send_buf(buf, 0..9_000).await;
                sent.expect("sent");
                drop(lent);
                // Memory of the same size, as the allocator would give it out again.
                for _ in 0..4 {
                    drop(IoBuf::copy_of(&[0xFF; 9_000]));
                }
            }
            server.shutdown(Shutdown::Write).expect("open");
        });
        // Meanwhile what was sent lies in the sender's memory.
        time::sleep(Duration::from_millis(20)).await;
        let pool = pool(4, 4096);
        assert_eq!(receive(&mut client.receiver(&pool)).await, 540_000);
        sender.await.expect("sent");
    });
}

#[test]
fn a_peer_that_is_gone_is_an_error_and_the_buffer_comes_back() {
    check(|| async {
        let (client, server) = pair().await;
        drop(client);
        let mut failed = None;
        for _ in 0..200 {
            let (sent, lent) = server.send_buf(IoBuf::alloc(50_000), 0..50_000).await;
            assert_eq!(lent.back().await.0.len(), 50_000);
            if let Err(error) = sent {
                failed = Some(error.kind());
                break;
            }
            time::sleep(Duration::from_millis(5)).await;
        }
        let kind = failed.expect("the peer is gone");
        let expected = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset, ErrorKind::TimedOut];
        assert!(expected.contains(&kind), "{kind:?}");
    });
}

#[test]
fn a_half_closed_peer_is_served_to_the_end() {
    check(|| async {
        let (client, server) = pair().await;
        client.shutdown(Shutdown::Write).expect("open");
        let pool = pool(4, 1000);
        let served = spawn(async move {
            let pool = self::pool(2, 10);
            let mut requests = server.receiver(&pool);
            assert!(requests.next().await.expect("the end").is_none());
            let server = send(server, 40_000, 9_000).await;
            server.shutdown(Shutdown::Write).expect("open");
        });
        assert_eq!(receive(&mut client.receiver(&pool)).await, 40_000);
        served.await.expect("served");
    });
}

#[test]
fn a_runtime_that_stops_waits_for_no_peer() {
    for sockets in [all(), Tuning::plain()] {
        for ring in [RingChoice::Auto, RingChoice::Threads, RingChoice::Sim(Disk::new(3))] {
            let runtime = start(ring, sockets);
            let (_client, listener) = runtime.block_on(|| async {
                let anywhere = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
                let listener = Listener::bind(&anywhere).expect("a free address");
                let client = Socket::connect(listener.local_address()).await.expect("a server");
                let (server, _) = listener.accept().await.expect("accepted");
                drop(spawn(async move {
                    let mut lent = vec![];
                    loop {
                        let (sent, out) = server.send_buf(IoBuf::alloc(100_000), 0..100_000).await;
                        lent.push(out);
                        sent.expect("sent");
                    }
                }));
                time::sleep(Duration::from_millis(50)).await;
                (client, listener)
            });
            let begun = std::time::Instant::now();
            drop(runtime);
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
            drop(listener);
        }
    }
}

#[test]
fn what_was_used_is_counted() {
    let runtime = start(RingChoice::Auto, all());
    let is_uring = runtime.rings()[0].kind == RingKind::Uring;
    let knows = |what: &str| is_uring && !runtime.rings()[0].reason.contains(what);
    let (lends, shoots) = (knows("no zero-copy sends"), knows("no multishot receives"));
    let account = Account::new();
    let theirs = account.clone();
    runtime.block_on(move || async move {
        let (client, server) = pair().await;
        let pool = pool(4, 1000);
        assert!(pool.is_multishot() || !shoots);
        let mut receiver = client.receiver(&pool);
        let (sent, lent) = theirs.enter(server.send_buf(IoBuf::alloc(3000), 0..3000)).await;
        sent.expect("sent");
        let mut rest = 3000;
        while rest > 0 {
            rest -= theirs.enter(receiver.next()).await.expect("received").expect("more").len();
        }
        let (_, report) = lent.back().await;
        assert_eq!(report.bytes, 3000);
        assert_eq!(report.lent_bytes, if lends { 3000 } else { 0 });
        if lends {
            assert_eq!(report.copied_bytes, 3000, "the loopback copies, and the kernel says so");
        }
        drop(receiver);
        let (sent, lent) = server.send_buf(IoBuf::alloc(100), 0..100).await;
        sent.expect("sent");
        assert_eq!(lent.back().await.1.lent_bytes, 0, "short sends are copied");
    });
    let stats = runtime.stats()[0];
    assert_eq!((stats.lent_send_count, stats.copied_send_count), (lends.into(), lends.into()));
    assert_eq!(stats.multishot_part_count > 0, shoots);
    let snapshot = account.snapshot();
    assert_eq!((snapshot.received_bytes, snapshot.sent_bytes), (3000, 3000));
    assert_eq!(snapshot.inflight, 0);
}

#[test]
fn unix_sockets_lend_nothing_and_say_so() {
    let runtime = start(RingChoice::Auto, all());
    runtime.block_on(|| async {
        let path = std::env::temp_dir().join(format!("exchange-{}", std::process::id()));
        let address = Address::Unix(path);
        let listener = Listener::bind(&address).expect("a free address");
        let client = Socket::connect(&address).await.expect("a server");
        let (server, _) = listener.accept().await.expect("accepted");
        let (sent, lent) = server.send_buf(IoBuf::alloc(3000), 0..3000).await;
        sent.expect("sent");
        assert_eq!(lent.back().await.1.lent_bytes, 0);
        let pool = pool(2, 4096);
        let chunk = client.receiver(&pool).next().await.expect("received").expect("more");
        assert_eq!(chunk.len(), 3000);
    });
}

#[test]
fn pools_that_cannot_be_are_refused() {
    check(|| async {
        for (count, bytes) in [(0, 10), (10, 0), (32_769, 1), (2, usize::MAX)] {
            let options = PoolOptions { count, bytes, message_bytes: 1 };
            let refused = BufferPool::new(options).expect_err("no pool");
            assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        }
    });
}

#[test]
fn one_seed_is_one_run() {
    let run = |seed| {
        let disk = Disk::new(seed);
        disk.network().faults(NetworkFaults::short_and_late());
        start(RingChoice::Sim(disk.clone()), all()).block_on(|| async {
            let (client, server) = pair().await;
            let sender = spawn(async move {
                let server = send(server, 50_000, 4_000).await;
                server.shutdown(Shutdown::Write).expect("open");
            });
            let pool = pool(5, 700);
            assert_eq!(receive(&mut client.receiver(&pool)).await, 50_000);
            sender.await.expect("sent");
        });
        disk.trace_hash()
    };
    for seed in seeds(4) {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
    assert_ne!(run(1), run(2));
}

/// Peers that are reset, vanish, send more or less, and tasks that are dropped anywhere: what comes
/// is right, and nothing is left.
#[test]
fn nothing_is_left_of_exchanges_that_end_anywhere() {
    for seed in seeds(20) {
        let disk = Disk::new(seed);
        let network = disk.network();
        network.faults(NetworkFaults {
            reset: 0.2,
            vanish: 0.2,
            life_ns: 5_000_000,
            ..NetworkFaults::short_and_late()
        });
        let runtime = start(RingChoice::Sim(disk), all());
        runtime.block_on(|| async {
            let pool = pool(6, 900);
            for _ in 0..15 {
                let Ok((client, server)) = try_pair().await else { continue };
                let sender = spawn(async move {
                    let mut at = 0;
                    while at < 100_000 {
                        let len = 1 + random_u64() as usize % 6_000;
                        let buf = IoBuf::copy_of(&text(at..at + len));
                        let (sent, lent) = server.send_buf(buf, 0..len).await;
                        if random_u64().is_multiple_of(2) {
                            assert_eq!(lent.back().await.0.as_slice(), text(at..at + len));
                        }
                        if sent.is_err() {
                            return;
                        }
                        at += len;
                    }
                });
                let patience = Duration::from_micros(random_u64() % 20_000);
                let mut receiver = client.receiver(&pool);
                let _ = time::timeout(patience, async {
                    let mut at = 0;
                    while let Ok(Some(chunk)) = receiver.next().await {
                        assert_eq!(chunk.to_vec(), text(at..at + chunk.len()));
                        at += chunk.len();
                    }
                })
                .await;
                sender.abort();
            }
            // A kernel that tells of a connection that vanished does so by then.
            time::sleep(Duration::from_secs(8_000)).await;
            assert_eq!(pool.held_count(), 0);
        });
        assert_eq!((network.socket_count(), network.wait_count()), (0, 0), "seed {seed}");
        assert_eq!(runtime.stats()[0].inflight_count, 0, "seed {seed}");
    }
}

/// Tasks on two workers that wake each other again and again, by messages of their rings or by
/// calls.
#[test]
fn workers_wake_each_other_by_messages_of_their_rings() {
    for ring_messages in [true, false] {
        let sockets = Tuning { ring_messages, ..Tuning::default() };
        let config = Config { workers: 3, pin: false, sockets, ..Config::default() };
        let runtime = Runtime::start(config).expect("a runtime");
        let report = &runtime.rings()[0];
        let delivers =
            report.kind == RingKind::Uring && !report.reason.contains("no ring messages");
        runtime.block_on(|| async {
            for round in 0..300u64 {
                let there = (0..3).map(|worker| {
                    spawn_on(worker, move || async move {
                        if round % 3 == 0 {
                            time::sleep(Duration::from_micros(50)).await;
                        }
                        round + worker as u64
                    })
                });
                let there: Vec<_> = there.collect();
                for (worker, task) in there.into_iter().enumerate() {
                    assert_eq!(task.await.expect("ended"), round + worker as u64);
                }
            }
        });
        let sent: u64 = runtime.stats().iter().map(|stats| stats.ring_message_count).sum();
        assert_eq!(sent > 0, ring_messages && delivers, "{sent} messages");
    }
}
