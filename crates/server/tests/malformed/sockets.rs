//! Over sockets: the server hangs up or answers, and serves others afterwards.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use stdx::Prng;

use crate::allocations::{bytes_now, peak, restart_peak};
use crate::messages::{body, framed, frames, spoil, startup};
use crate::served::{Served, options};
use crate::{Culprit, SOCKET_SHARE, count};

/// Most that the memory of the whole process may grow meanwhile: messages of up to 256 MiB may be
/// claimed, and are by many.
const BYTES_MAX: isize = 64 << 20;

/// No answer takes as long: the server hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a stranger sends.
fn spoken(seed: u64, random: &mut Prng) -> Vec<u8> {
    let login = b"\0\0\0\x10\0\x03\0\0user\0u\0\0".to_vec();
    let spoiled = |mut bytes: Vec<u8>, random: &mut Prng| {
        spoil(&mut bytes, random);
        bytes
    };
    match seed % 4 {
        // Before authentication: the start itself, or what follows where a password is asked for.
        0 => spoiled(startup(random), random),
        1 => {
            let mut response =
                b"pSCRAM-SHA-256\0\0\0\0\x20n,,n=,r=rOprNGfwEbeRWgbNEkqOabcd".to_vec();
            spoil(&mut response, random);
            [login, spoiled(framed(&response), random)].concat()
        }
        // After it: bodies that are none in frames that are right, and frames that are wrong.
        2 => {
            let bodies = (0..1 + random.below(4)).map(|_| spoiled(body(random), random));
            [login, bodies.flat_map(|body| framed(&body)).collect()].concat()
        }
        _ => [login, spoiled(frames(random), random)].concat(),
    }
}

/// Sends bytes, and waits until the server has hung up.
fn speak(address: SocketAddr, bytes: &[u8]) {
    let mut stranger = TcpStream::connect(address).expect("a connection");
    stranger.set_read_timeout(Some(PATIENCE)).expect("set");
    // The server may have hung up already.
    stranger.write_all(bytes).ok();
    stranger.shutdown(Shutdown::Write).ok();
    let ended = stranger.read_to_end(&mut vec![]);
    let hangs = ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    assert!(!hangs, "the server neither answers nor hangs up: {bytes:?}");
}

#[test]
fn what_is_no_message_ends_its_own_connection_only() {
    let open = Served::start("malformed-open", options());
    let locked = Served::start("malformed-locked", options());
    let mut owner = locked.connect("user=u").expect("connected");
    owner.batch_execute("alter role dovetail password 'x'; create role u login").expect("set");
    let table = "create table t (a int, b int, c int)";
    open.connect("user=u").expect("connected").batch_execute(table).expect("a table");
    let number = count() / SOCKET_SHARE;
    let before = bytes_now();
    restart_peak();
    for seed in 0..number {
        let _culprit = Culprit(seed);
        let mut random = Prng::new(seed);
        let served = if seed % 4 == 1 { &locked } else { &open };
        speak(served.address, &spoken(seed, &mut random));
    }
    let grown = peak() - before;
    assert!(grown <= BYTES_MAX, "memory grew by {grown} bytes");
    println!("{number} malformed connections; memory grew by {grown} bytes at most");
    // The owner is still there, and nobody else keeps a place.
    open.eventually(|| (open.server.connection_count() == 0).then_some(()));
    locked.eventually(|| (locked.server.connection_count() == 1).then_some(()));
    for (served, login) in [(&open, "user=u"), (&locked, "user=dovetail password=x")] {
        let mut client = served.connect(login).expect("the server lives");
        assert_eq!(client.query("select 1", &[]).expect("a row").len(), 1);
        let panics: u64 = served.db.runtime_handle().stats().iter().map(|w| w.panic_count).sum();
        assert_eq!(panics, 0, "tasks panicked");
    }
}
