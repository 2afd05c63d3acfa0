//! Copies that end early: the replica is stopped, the primary breaks off, or has had enough.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use engine::{Configuration, Options, Origin, Replica};

use crate::stranger::{Peer, Stranger};
use crate::{Pair, at_last, connect, listen, options, text};

/// The words of a server before a copy, and a piece of that.
fn begin_copy(peer: &mut Peer) {
    let query = peer.let_in();
    assert_eq!(query, b"BASE_BACKUP FORMAT 1\0");
    peer.say(b'H', &[1, 0, 0]);
    peer.say(b'd', &[7; 1000]);
}

#[test]
fn a_replica_is_stopped_while_its_primary_is_silent() {
    let (pair, stranger) = (Pair::new("replicated-stopped", false), Stranger::new());
    let (path, follow) = pair.following(stranger.port(), "copy", ("copies", "right"));
    let (ending, (send, receive)) = (follow.ending.clone(), channel());
    std::thread::spawn(move || {
        let error = Replica::start(&path, &follow, &options()).err().expect("no replica");
        send.send(error).expect("somebody waits");
    });
    let mut peer = stranger.client();
    begin_copy(&mut peer);
    ending.cancel();
    let error = receive.recv().expect("it ends");
    // A primary that is silent for too long would be 08006.
    assert_eq!((error.state.0, pair.files(".copy")), ("57P01", vec![]), "{error}");
    drop(peer);
}

#[test]
fn of_a_copy_that_breaks_off_nothing_stays() {
    let (pair, stranger) = (Pair::new("replicated-torn", false), Stranger::new());
    let (path, follow) = pair.following(stranger.port(), "copy", ("copies", "right"));
    let peer = std::thread::spawn(move || begin_copy(&mut stranger.client()));
    let error = Replica::start(&path, &follow, &options()).err().expect("no replica");
    assert_eq!((error.state.0, pair.files("copy")), ("08006", vec![]), "{error}");
    peer.join().expect("it said so much");
}

#[test]
fn a_server_that_asks_for_endless_rounds_is_refused() {
    let pair = Pair::new("replicated-rounds", false);
    for (rounds, is_computed) in
        [(0u32, false), (4095, false), (4096, true), (1_000_001, false), (u32::MAX, false)]
    {
        let stranger = Stranger::new();
        let (path, follow) = pair.following(stranger.port(), "copy", ("copies", "right"));
        let peer = std::thread::spawn(move || {
            let mut peer = stranger.client();
            peer.say(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
            let first = String::from_utf8_lossy(&peer.message().1).into_owned();
            let nonce = first.split_once("r=").expect("a nonce").1;
            let answer = format!("r={nonce}more,s=c2FsdA==,i={rounds}");
            peer.say(b'R', &[&11i32.to_be_bytes()[..], answer.as_bytes()].concat());
            is_computed.then(|| peer.message().0)
        });
        let error = Replica::start(&path, &follow, &options()).err().expect("no replica");
        assert_eq!(peer.join().expect("it asked"), is_computed.then_some(b'p'));
        let refused = format!("the server asks for {rounds} rounds of SCRAM-SHA-256");
        assert_eq!(error.message == refused, !is_computed, "{error}");
    }
}

/// Replicas that take nothing of what they have asked for: no end of a server waits for them.
#[test]
fn a_server_ends_copies_that_nobody_takes() {
    let script = "create table t as select i, repeat('x', 1000) as x \
                  from generate_series(1, 40000) g(i); checkpoint";
    let pair = Pair::with("replicated-untaken", true, script);
    let segment = pair.files(".segment").into_iter().min().expect("a segment");
    let (line, checkpoint) = segment.trim_end_matches(".segment").split_once('-').expect("both");
    let checkpoint = u64::from_str_radix(checkpoint, 16).expect("a number");
    let stream = format!("START_REPLICATION {line} {checkpoint} 0 FORMAT 1\0");
    let copy = "BASE_BACKUP FORMAT 1\0";
    let asked = |command: &str| {
        let mut peer = Peer::replica_of(pair.primary.address);
        peer.say(b'Q', command.as_bytes());
        while !matches!(peer.message().0, b'H' | b'W') {}
        peer
    };
    let count = || pair.primary.server.connection_count();
    let at_most = |wanted: usize| {
        let began = Instant::now();
        while count() > wanted {
            assert!(began.elapsed() < Duration::from_secs(60), "{} connections stay", count());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let terminated = [asked(copy), asked(&stream)];
    let mut client = connect(&pair.primary);
    let end = "select count(pg_terminate_backend(pid)) from pg_stat_replication";
    let ended: i64 = client.query_one(end, &[]).expect("ended").get(0);
    assert_eq!(ended, 2);
    at_most(1);
    drop((terminated, client));
    let drained = [asked(copy), asked(&stream)];
    pair.primary.server.drain();
    at_most(0);
    drop(drained);
    assert_eq!(pair.files("copy-"), Vec::<String>::new());
}

#[test]
fn who_rests_in_a_state_that_lasts_too_long_is_sent_away() {
    let pair = Pair::new("replicated-rests", true);
    let mut configuration = Configuration::default();
    configuration.give("max_standby_streaming_delay", "100ms", Origin::Flag).expect("a setting");
    let options = Options { configuration: Arc::new(configuration), ..options() };
    let port = pair.primary.address.port();
    let (path, follow) = pair.following(port, "copy", ("copies", "right"));
    let replica = Replica::start(&path, &follow, &options).expect("it follows");
    let served = listen(&replica.database());
    let begun = |begin: &str| {
        let mut client = connect(&served);
        client.batch_execute(begin).expect("begun");
        client
    };
    let mut sent_away = [
        "begin isolation level repeatable read; set application_name = 'rests'; table t",
        "begin; set application_name = 'rests'; declare c cursor for table t; fetch c",
    ]
    .map(begun);
    let mut free = begun("begin; set application_name = 'free'; table t");
    let mut other = connect(&served);
    let count = |name: &str| {
        format!("select count(*)::text from pg_stat_activity where application_name = '{name}'")
    };
    at_last(&mut other, &count("rests"), "2");
    pair.primary().batch_execute("create table d (a int)").expect("created");
    let defined = "select count(*)::text from pg_class where relname = 'd'";
    at_last(&mut other, defined, "1");
    at_last(&mut other, &count("rests"), "0");
    for client in &mut sent_away {
        client.batch_execute("select 1").expect_err("it was sent away");
    }
    // A transaction that is bound to no state goes on to the next one.
    assert_eq!(text(&mut free, defined).expect("it goes on"), "1");
    free.batch_execute("commit").expect("it ends well");
    std::mem::forget((replica.database(), free, other));
    std::mem::forget((replica, served));
}
