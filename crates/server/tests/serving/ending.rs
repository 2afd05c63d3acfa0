//! What ends a wait, a connection, a server: timeouts, the drain, SIGHUP's new configuration.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::served::{Served, options};
use engine::{Configuration, Origin};
use postgres::Client;
use server::{Address, ServerOptions};

/// The SQLSTATE with which a statement or the whole connection fails.
fn code(client: &mut Client, statement: &str) -> String {
    let error = client.batch_execute(statement).expect_err(statement);
    match error.as_db_error() {
        Some(error) => format!("{} {}", error.code().code(), error.message()),
        None => "closed".to_owned(),
    }
}

/// Whether the connection ends by itself within some seconds.
fn ends(client: &mut Client) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !client.is_closed() && Instant::now() < deadline {
        // The library reads what the server has said only when it is asked for something.
        client.is_valid(Duration::from_secs(1)).ok();
        std::thread::sleep(Duration::from_millis(20));
    }
    client.is_closed()
}

fn long_query() -> &'static str {
    "select count(*) from generate_series(1, 100000) as a(i), generate_series(1, 100000) as b(j) \
     where i + j < 0"
}

#[test]
fn a_client_that_pauses_too_long_is_sent_away() {
    let served = Served::start("pauses", options());
    let mut idle = served.connect("user=x").expect("connected");
    let mut within = served.connect("user=x").expect("connected");
    let mut patient = served.connect("user=x").expect("connected");
    idle.batch_execute("set idle_session_timeout = '50ms'").expect("set");
    within
        .batch_execute("set idle_in_transaction_session_timeout = '50ms'; begin; select 1")
        .expect("begun");
    patient
        .batch_execute("set idle_in_transaction_session_timeout = '50ms'; begin; commit")
        .expect("outside of a block");
    std::thread::sleep(Duration::from_millis(300));
    assert!(code(&mut idle, "select 1").starts_with("57P05"), "idle");
    assert!(code(&mut within, "select 1").starts_with("25P03"), "in a block");
    patient.batch_execute("select 1").expect("no block is open");
}

#[test]
fn a_statement_waits_for_the_writer_as_long_as_it_may() {
    let served = Served::start("locks", options());
    let mut first = served.connect("user=x").expect("connected");
    first.batch_execute("create table t (a int primary key)").expect("created");
    // COPY keeps the right to write until the client ends it, so nobody has it alone.
    let mut second = served.connect("user=x").expect("connected");
    let writer = first.copy_in("copy t from stdin").expect("begun");
    second.batch_execute("set lock_timeout = '50ms'").expect("set");
    // The COPY may not have begun when the client has been told to send.
    served.eventually(|| {
        let mut probe = served.connect("user=x").expect("connected");
        probe.batch_execute("set lock_timeout = '20ms'").expect("set");
        probe.batch_execute("reorganize table t").err()
    });
    let message = code(&mut second, "reorganize table t");
    assert_eq!(message, "55P03 canceling statement due to lock timeout");
    second.batch_execute("set lock_timeout = 0; set statement_timeout = '50ms'").expect("set");
    assert!(code(&mut second, "reorganize table t").starts_with("57014"));
    writer.finish().expect("copied");
    second.batch_execute("reorganize table t").expect("nobody else writes");
}

/// The kinds of the messages that come until the server hangs up.
fn kinds_until_the_end(stream: &mut TcpStream) -> String {
    let mut bytes = vec![];
    stream.read_to_end(&mut bytes).expect("an end");
    let (mut at, mut kinds) = (0, String::new());
    while let Some(length) = bytes.get(at + 1..at + 5) {
        kinds.push(bytes[at] as char);
        at += 1 + u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
    }
    kinds
}

/// A statement that was answered is answered whole before the farewell, unless the end has come into its way: a
/// client that is still to read `ReadyForQuery` takes the farewell for a second answer.
#[test]
fn who_is_sent_away_has_been_answered_whole() {
    let served = Served::start("answered", options());
    let mut stream = TcpStream::connect(served.address).expect("connected");
    let startup = b"\0\x03\0\0user\0x\0\0";
    let query = b"select pg_terminate_backend(pg_backend_pid())\0";
    for (kind, body) in [(None, &startup[..]), (Some(b'Q'), query)] {
        let length = (body.len() as u32 + 4).to_be_bytes();
        let message = [kind.as_slice(), &length, body].concat();
        stream.write_all(&message).expect("sent");
    }
    let kinds = kinds_until_the_end(&mut stream);
    let is_whole = kinds.ends_with("ZTDCZE");
    assert!(is_whole || kinds.ends_with("ZTDE") || kinds.ends_with("ZTE"), "{kinds}");
}

#[test]
fn a_drain_lets_statements_and_blocks_finish() {
    let served = Served::start("drain", options());
    let mut idle = served.connect("user=x").expect("connected");
    let mut within = served.connect("user=x").expect("connected");
    within.batch_execute("begin; select 1").expect("begun");
    served.server.drain();
    assert!(ends(&mut idle), "an idle client");
    served.eventually(|| (served.server.connection_count() == 1).then_some(()));
    within.batch_execute("select 2").expect("the block goes on");
    // The farewell may come together with the answer, and the library shows the later one.
    let ended = within.batch_execute("commit").err();
    assert!(ended.is_none_or(|error| error.code().is_some_and(|code| code.code() == "57P01")));
    served.eventually(|| (served.server.connection_count() == 0).then_some(()));
    within.batch_execute("select 3").expect_err("it is over");
    assert!(served.connect("user=x").is_err(), "nobody is accepted");
}

#[test]
fn a_draining_server_is_not_ready() {
    let http_listen = options().listen;
    let served = Served::start("ready", ServerOptions { http_listen, ..options() });
    let Address::Tcp(address) = served.server.http_addresses()[0] else { panic!("not TCP") };
    let ready = || {
        let mut stream = TcpStream::connect(address).expect("connected");
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .ok();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split(' ').nth(1).map(str::to_owned)
    };
    assert_eq!(ready().as_deref(), Some("200"));
    served.server.drain();
    assert_eq!(ready().as_deref(), Some("503"));
}

#[test]
fn the_second_signal_cancels_what_runs() {
    let served = Served::start("close", options());
    let mut busy = served.connect("user=x").expect("connected");
    let (sender, receiver) = mpsc::channel();
    let running = std::thread::spawn(move || {
        sender.send(()).ok();
        code(&mut busy, long_query())
    });
    receiver.recv().expect("begun");
    std::thread::sleep(Duration::from_millis(200));
    served.server.drain();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(served.server.connection_count(), 1, "it may finish");
    served.server.close();
    served.eventually(|| (served.server.connection_count() == 0).then_some(()));
    let message = running.join().expect("no panic");
    assert!(message.starts_with("57014") || message.starts_with("57P01"), "{message}");
}

#[test]
fn sessions_follow_a_new_configuration() {
    let served = Served::start("reload", options());
    let mut client = served.connect("user=x application_name=kept").expect("connected");
    client.batch_execute("set lock_timeout = '1s'").expect("set");
    let mut new = Configuration::default();
    for (name, value) in
        [("statement_timeout", "7s"), ("lock_timeout", "8s"), ("max_connections", "7")]
    {
        new.give(name, value, Origin::Flag).expect("a value");
    }
    let changes = served.db.reconfigure(&new);
    assert_eq!(changes.iter().filter(|change| change.needs_restart).count(), 1);
    let mut shown = |name: &str| -> String {
        let row = client.query_one(&format!("show {name}"), &[]).expect("shown");
        row.get(0)
    };
    assert_eq!(shown("statement_timeout"), "7s");
    assert_eq!(shown("lock_timeout"), "1s");
    assert_eq!(shown("max_connections"), "1000");
    assert_eq!(shown("application_name"), "kept");
    let row = client
        .query_one(
            "select source, pending_restart, context, unit is null from pg_settings \
             where name = 'max_connections'",
            &[],
        )
        .expect("a row");
    assert_eq!(row.get::<_, &str>(0), "default");
    assert!(row.get::<_, bool>(1));
    assert_eq!(row.get::<_, &str>(2), "postmaster");
    let error = code(&mut client, "set max_connections = 9");
    assert_eq!(
        error,
        "55P02 parameter \"max_connections\" cannot be changed without restarting the server"
    );
}
