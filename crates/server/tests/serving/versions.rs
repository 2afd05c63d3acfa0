//! The start of the protocol, byte by byte: its versions, options and cancel keys.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::served::{Served, options};

/// A start-up message.
fn startup(version: u32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        for text in [name, value] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    sized(&body)
}

fn sized(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Messages up to the first with one of these tags.
fn until(stream: &mut TcpStream, tags: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut messages = vec![];
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).expect("a message");
        let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; len - 4];
        stream.read_exact(&mut body).expect("its body");
        messages.push((head[0], body));
        if tags.contains(&head[0]) {
            return messages;
        }
    }
}

fn connect(
    served: &Served,
    version: u32,
    options: &[(&str, &str)],
) -> (TcpStream, Vec<(u8, Vec<u8>)>) {
    let mut stream = TcpStream::connect(served.address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    let parameters = [&[("user", "x")], options].concat();
    stream.write_all(&startup(version, &parameters)).expect("sent");
    let messages = until(&mut stream, b"ZE");
    (stream, messages)
}

fn body(messages: &[(u8, Vec<u8>)], tag: u8) -> Option<&[u8]> {
    messages.iter().find(|(found, _)| *found == tag).map(|(_, body)| body.as_slice())
}

const V3: u32 = 3 << 16;

#[test]
fn versions_and_options_are_negotiated() {
    let served = Served::start("versions", options());
    // Version asked for, options, bytes of the secret, and the answer: version and unknown options.
    let cases: [(u32, &[(&str, &str)], usize, Option<(u32, &str)>); 5] = [
        (V3, &[], 4, None),
        (V3 + 1, &[], 4, None),
        (V3 + 2, &[], 32, None),
        (V3 + 9999, &[("_pq_.new", "1")], 32, Some((V3 + 2, "_pq_.new\0"))),
        (V3, &[("_pq_.new", "1")], 4, Some((V3, "_pq_.new\0"))),
    ];
    for (version, options, secret, negotiated) in cases {
        let (_, messages) = connect(&served, version, options);
        let key = body(&messages, b'K').expect("a cancel key");
        assert_eq!(key.len(), 4 + secret, "{version:x}");
        let answer = negotiated.map(|(version, options)| {
            let count = options.matches('\0').count() as u32;
            [&version.to_be_bytes()[..], &count.to_be_bytes(), options.as_bytes()].concat()
        });
        assert_eq!(body(&messages, b'v'), answer.as_deref(), "{version:x}");
    }
    let (_, messages) = connect(&served, 4 << 16, &[]);
    let error = String::from_utf8_lossy(body(&messages, b'E').expect("an error")).into_owned();
    assert!(error.contains("C0A000"), "{error}");
    assert!(
        error.contains("unsupported frontend protocol 4.0: server supports 3.0 to 3.2"),
        "{error}"
    );
}

#[test]
fn options_are_settings() {
    let served = Served::start("options", options());
    let login = "user=x options='-c statement_timeout=5s --lock-timeout=1min'";
    let mut client = served.connect(login).expect("connected");
    let row = client.query_one("show statement_timeout", &[]).expect("shown");
    assert_eq!(row.get::<_, &str>(0), "5s");
    client.batch_execute("set lock_timeout = 0; reset lock_timeout").expect("reset");
    let row = client.query_one("show lock_timeout", &[]).expect("shown");
    assert_eq!(row.get::<_, &str>(0), "1min");
    let refused = |login: &str| {
        let error = served.connect(login).map(drop).expect_err(login);
        error.code().map(|code| code.code().to_owned())
    };
    assert_eq!(refused("user=x options='-c nonsense=1'").as_deref(), Some("42704"));
    assert_eq!(refused("user=x options='-c max_connections=1'").as_deref(), Some("55P02"));
    assert_eq!(refused("user=x options='-d 5'").as_deref(), Some("42601"));
}

#[test]
fn a_client_is_told_what_changes() {
    let served = Served::start("status", options());
    let (mut stream, messages) = connect(&served, V3, &[("application_name", "one")]);
    let told = |messages: &[(u8, Vec<u8>)]| -> Vec<String> {
        let status = messages.iter().filter(|(tag, _)| *tag == b'S');
        let text = |body: &[u8]| String::from_utf8_lossy(body).replace('\0', "=");
        status.map(|(_, body)| text(body).trim_end_matches('=').to_owned()).collect()
    };
    let first = told(&messages);
    for expected in ["application_name=one", "is_superuser=on", "session_authorization=dovetail"] {
        assert!(first.iter().any(|status| status == expected), "{expected} is not in {first:?}");
    }
    let mut ask = |query: &str| {
        let query = sized(format!("{query}\0").as_bytes());
        stream.write_all(&[b"Q", query.as_slice()].concat()).expect("sent");
        told(&until(&mut stream, b"Z"))
    };
    assert_eq!(ask("select 1"), [""; 0]);
    assert_eq!(ask("set application_name = 'two'"), ["application_name=two"]);
    assert_eq!(ask("set application_name = 'two'"), [""; 0]);
    assert_eq!(ask("reset application_name"), ["application_name=one"]);
    assert_eq!(ask("create role ann login; set role ann"), ["is_superuser=off"]);
    assert_eq!(ask("reset role"), ["is_superuser=on"]);
    let both = ["is_superuser=off", "session_authorization=ann"];
    assert_eq!(ask("set session authorization ann"), both);
}

#[test]
fn long_keys_cancel_and_wrong_ones_do_not() {
    let served = Served::start("keys", options());
    let (mut stream, messages) = connect(&served, V3 + 2, &[]);
    let key = body(&messages, b'K').expect("a cancel key").to_vec();
    let query = "select count(*) from generate_series(1, 100000) as a(i), generate_series(1, 100000) as b(j) \
                 where i + j < 0\0";
    stream.write_all(&[b"Q", sized(query.as_bytes()).as_slice()].concat()).expect("sent");
    std::thread::sleep(Duration::from_millis(200));
    let request = |key: &[u8]| {
        let mut other = TcpStream::connect(served.address).expect("connected");
        let body = [&80_877_102u32.to_be_bytes()[..], key].concat();
        other.write_all(&sized(&body)).expect("sent");
        // The end says that it was looked at.
        other.read_to_end(&mut vec![]).ok();
    };
    let mut wrong = key.clone();
    wrong[20] ^= 1;
    request(&wrong);
    request(&key[..8]);
    request(&[]);
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("set");
    assert!(stream.read(&mut [0; 1]).is_err(), "the query runs");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    request(&key);
    let messages = until(&mut stream, b"Z");
    let error = String::from_utf8_lossy(body(&messages, b'E').expect("an error")).into_owned();
    assert!(error.contains("C57014"), "{error}");
}
