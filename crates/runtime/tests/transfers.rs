//! Data in bulk over sockets, into memory that belongs to the operation: on both real rings and in the
//! simulation.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;

use runtime::net::{Address, Listener, Purpose, Shutdown, Socket};
use runtime::sim::{Disk, NetworkFaults};
use runtime::time::{self, Instant};
use runtime::{Account, Config, IoBuf, RingChoice, Runtime, spawn};

fn runtimes() -> Vec<Runtime> {
    let start = |ring| {
        let config = Config { workers: 1, ring, pin: false, ..Config::default() };
        Runtime::start(config).expect("a runtime")
    };
    let simulated = |seed| {
        let disk = Disk::new(seed);
        disk.network().faults(NetworkFaults::short_and_late());
        start(RingChoice::Sim(disk))
    };
    let real = [start(RingChoice::Auto), start(RingChoice::Threads)];
    real.into_iter().chain((0..3).map(simulated)).collect()
}

fn later() -> Instant {
    time::now() + Duration::from_secs(60)
}

fn byte(i: usize) -> u8 {
    ((i * 2_654_435_761) >> 11) as u8
}

/// A connected pair: the end for transfers and its peer.
async fn pair() -> (Socket, Socket) {
    let anywhere = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let listener = Listener::bind(&anywhere).expect("a free address");
    let client = Socket::connect_until(listener.local_address(), later()).await.expect("a server");
    let (server, _) = listener.accept().await.expect("accepted");
    (client, server)
}

fn check<F: Future<Output = ()> + 'static>(test: impl Fn() -> F + Copy + Send + 'static) {
    for runtime in runtimes() {
        runtime.block_on(test);
    }
}

#[test]
fn bytes_land_where_they_are_to_be() {
    check(|| async {
        let (client, server) = pair().await;
        const COUNT: usize = 3_000_000;
        let sender = spawn(async move {
            let bytes: Vec<u8> = (0..COUNT).map(byte).collect();
            server.send_all(&bytes).await.expect("sent");
            server
        });
        let (mut buf, mut filled) = (IoBuf::alloc(COUNT + 20), 10);
        let place = buf.as_slice().as_ptr();
        while filled < COUNT + 10 {
            client.wake_at(100_000.min(COUNT + 10 - filled)).expect("set");
            let end = (filled + 700_000).min(COUNT + 10);
            let (count, back) = client.recv_into(buf, filled..end, later()).await;
            (buf, filled) = (back, filled + count.expect("received"));
            assert!(filled <= end, "no more than was asked for comes");
        }
        assert_eq!(buf.as_slice().as_ptr(), place, "the same memory comes back");
        assert!(buf.as_slice()[10..COUNT + 10].iter().enumerate().all(|(i, b)| *b == byte(i)));
        let outside = [&buf.as_slice()[..10], &buf.as_slice()[COUNT + 10..]].concat();
        assert_eq!(outside, [0; 20], "nothing outside of the range is touched");
        drop(sender.await.expect("sent"));
    });
}

/// What the client sees of segments after two megabytes from a server that sends none larger than `most`.
fn segments(most: Option<i32>) -> Option<usize> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free address");
    if let Some(most) = most {
        let (fd, len) = (listener.as_raw_fd(), size_of::<i32>() as libc::socklen_t);
        let (place, level) = ((&raw const most).cast(), libc::IPPROTO_TCP);
        // SAFETY: a readable integer and its size.
        let set = unsafe { libc::setsockopt(fd, level, libc::TCP_MAXSEG, place, len) };
        assert_eq!(set, 0, "the size of segments can be set");
    }
    let address = Address::Tcp(listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client");
        socket.write_all(&vec![7; 2 << 20]).expect("sent");
    });
    let config = Config { workers: 1, pin: false, ..Config::default() };
    let seen = Runtime::start(config).expect("a runtime").block_on(move || async move {
        let client = Socket::connect_until(&address, later()).await.expect("a server");
        let mut chunk = vec![0; 64 << 10];
        while client.recv(&mut chunk).await.expect("received") > 0 {}
        client.segment_bytes()
    });
    server.join().expect("sent");
    seen
}

#[test]
fn the_size_of_segments_is_seen() {
    let (all, small) = (segments(None).expect("seen"), segments(Some(1400)).expect("seen"));
    assert!(all > 10_000, "this machine's own are large: {all}");
    assert!((500..=1400).contains(&small), "{small}");
    let config = Config { workers: 1, ring: RingChoice::Sim(Disk::new(1)), ..Config::default() };
    let simulated = Runtime::start(config).expect("a runtime");
    let seen = simulated.block_on(|| async { pair().await.0.segment_bytes() });
    assert_eq!(seen, None, "there are none in a simulation");
}

#[test]
fn the_end_of_the_stream_is_told() {
    check(|| async {
        let (client, server) = pair().await;
        server.send_all(&[7; 1000]).await.expect("sent");
        server.shutdown(Shutdown::Write).expect("open");
        let (mut buf, mut filled) = (IoBuf::alloc(5000), 0);
        loop {
            let (count, back) = client.recv_into(buf, filled..5000, later()).await;
            buf = back;
            match count.expect("received") {
                0 => break,
                count => filled += count,
            }
        }
        assert_eq!(filled, 1000);
    });
}

#[test]
fn what_has_come_is_taken_without_waiting() {
    check(|| async {
        let (client, server) = pair().await;
        let mut bytes = [0; 4];
        let nothing = client.recv_now(&mut bytes).expect_err("nothing was sent");
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        server.send_all(&[7; 2]).await.expect("sent");
        client.readable().await.expect("something has come");
        assert!((1..=2).contains(&client.recv_now(&mut bytes).expect("received")));
        drop(server);
        while client.recv(&mut bytes).await.is_ok_and(|count| count > 0) {}
        assert_eq!(client.recv_now(&mut bytes).expect("the end"), 0);
    });
}

#[test]
fn a_deadline_gives_back_what_has_come() {
    check(|| async {
        let (client, server) = pair().await;
        server.send_all(&[9; 300]).await.expect("sent");
        let soon = || time::now() + Duration::from_millis(30);
        // On a simulated link a lost segment comes after 200 ms only.
        let (mut buf, mut filled) = (IoBuf::alloc(4096), 0);
        while filled < 300 {
            let (count, back) = client.recv_into(buf, filled..4096, soon()).await;
            match count {
                Ok(count) => filled += count,
                Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
            }
            buf = back;
        }
        assert_eq!(filled, 300, "what has come is counted, and no more");
        let (count, buf) = client.recv_into(buf, 300..4096, soon()).await;
        assert_eq!(count.expect_err("silence").kind(), ErrorKind::TimedOut);
        assert_eq!((buf.as_slice()[299], buf.as_slice()[300]), (9, 0));
        // The socket goes on as if nothing had happened.
        server.send_all(&[8; 100]).await.expect("sent");
        let (count, buf) = client.recv_into(buf, 300..301, later()).await;
        assert_eq!((count.expect("received"), buf.as_slice()[300]), (1, 8));
    });
}

#[test]
fn a_receive_that_is_dropped_keeps_its_memory_and_ends() {
    check(|| async {
        for _ in 0..20 {
            let (client, server) = pair().await;
            let receive = client.recv_into(IoBuf::alloc(1 << 20), 0..1 << 20, later());
            let dropped = time::timeout(Duration::from_millis(2), receive).await;
            assert!(dropped.is_err(), "nothing was sent");
            drop(client);
            // The peer learns that the socket is closed: the operation has let go of it.
            let mut bytes = [0; 10];
            let hung_up = server.recv(&mut bytes).await;
            assert!(matches!(hung_up, Ok(0) | Err(_)), "{hung_up:?}");
        }
    });
}

#[test]
fn a_reset_is_an_error_and_never_bytes() {
    check(|| async {
        let (client, server) = pair().await;
        client.send_all(&[1; 100]).await.expect("sent");
        server.readable().await.expect("something has come");
        // Closing without having received all resets the connection.
        drop(server);
        let (count, _) = client.recv_into(IoBuf::alloc(100), 0..100, later()).await;
        assert!(matches!(count, Ok(0) | Err(_)), "{count:?}");
    });
}

#[test]
fn attempts_are_refused() {
    check(|| async {
        let anywhere = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let listener = Listener::bind(&anywhere).expect("a free address");
        let address = listener.local_address().clone();
        drop(listener);
        let refused = Socket::connect_until(&address, later()).await;
        let kind = refused.err().expect("nobody listens").kind();
        assert!(matches!(kind, ErrorKind::ConnectionRefused), "{kind:?}");
    });
}

#[test]
fn attempts_have_deadlines() {
    let disk = Disk::new(4);
    // Whatever is sent is lost, and sent again, for minutes.
    disk.network().faults(NetworkFaults { lost: 1.0, ..NetworkFaults::default() });
    let config = Config { workers: 1, ring: RingChoice::Sim(disk), ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(|| async {
        let anywhere = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let listener = Listener::bind(&anywhere).expect("a free address");
        let begun = time::now();
        let soon = begun + Duration::from_secs(5);
        let late = Socket::connect_until(listener.local_address(), soon).await;
        assert_eq!(late.err().expect("nothing arrives").kind(), ErrorKind::TimedOut);
        let took = begun.elapsed();
        assert!((5_000..5_010).contains(&took.as_millis()), "{took:?}");
    });
}

#[test]
fn the_account_pays_for_what_is_received() {
    check(|| async {
        let account = Account::new();
        let (client, server) = pair().await;
        server.send_all(&[5; 20_000]).await.expect("sent");
        let (mut buf, mut filled) = (IoBuf::alloc(20_000), 0);
        while filled < 20_000 {
            let received = client.recv_into(buf, filled..20_000, later());
            let (count, back) = account.enter(received).await;
            (buf, filled) = (back, filled + count.expect("received"));
        }
        assert_eq!(account.snapshot().received_bytes, 20_000);
        assert_eq!(account.snapshot().inflight, 0);
        let client = client.with_purpose(Purpose::Transfer);
        account.enter(client.send_vec(vec![1; 500])).await.0.expect("sent");
        assert_eq!(account.snapshot().sent_bytes, 500);
    });
}
