//! Encrypted connections, against a server of the library's other half in a thread of its own.
#![allow(clippy::disallowed_methods, reason = "the server stands outside of the runtime")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use objectstore::{Client, ErrorKind, Limits, Options, Store, Trust};
use runtime::{Config, RingChoice, Runtime};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use rustls::{ServerConfig, ServerConnection, Stream};

const COUNT: usize = 3_000_000;

fn byte(i: usize) -> u8 {
    (i.wrapping_mul(2_654_435_761) >> 9) as u8
}

/// Serves one object to whoever connects; without its end where the name says so. The port and the
/// certificate.
fn serve() -> (u16, String) {
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key =
        PrivateKeyDer::from_pem_slice(made.signing_key.serialize_pem().as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    let config = Arc::new(config.expect("a configuration"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, config) = (socket.expect("accepted"), config.clone());
            thread::spawn(move || {
                let mut connection = ServerConnection::new(config).expect("a connection");
                let mut stream = Stream::new(&mut connection, &mut socket);
                while answer(&mut stream).is_some() {}
            });
        }
    });
    (port, made.cert.pem())
}

fn answer(stream: &mut (impl Read + Write)) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut one = [0];
        stream.read_exact(&mut one).ok()?;
        head.push(one[0]);
    }
    let body: Vec<u8> = (0..COUNT).map(byte).collect();
    let head = String::from_utf8(head).expect("text");
    let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {COUNT}\r\netag: \"one\"\r\n\r\n");
    stream.write_all(text.as_bytes()).ok()?;
    let is_cut = head.starts_with("GET /cut");
    stream.write_all(&body[..if is_cut { COUNT / 2 } else { COUNT }]).ok()?;
    stream.flush().ok()?;
    (!is_cut).then_some(())
}

fn store(trust: Trust, host: &str, port: u16) -> Store {
    let limits =
        Limits { request_timeout: Duration::from_secs(20), retry_budget: 2, ..Limits::default() };
    let client = Client::new(Options { limits, trust, ..Options::default() }).expect("a client");
    client.http(&format!("https://{host}:{port}")).expect("a store")
}

fn check<F: Future<Output = ()> + 'static>(
    test: impl Fn(u16, String) -> F + Copy + Send + 'static,
) {
    for ring in [RingChoice::Auto, RingChoice::Threads] {
        let (port, pem) = serve();
        let config = Config { workers: 1, ring, pin: false, ..Config::default() };
        let runtime = Runtime::start(config).expect("a runtime");
        runtime.block_on(move || test(port, pem));
    }
}

#[test]
fn objects_come_over_encrypted_connections() {
    check(|port, pem| async move {
        let store = store(Trust::only_pem(pem), "localhost", port);
        for _ in 0..5 {
            let got = store.get("object").await.expect("got");
            assert_eq!(got.body.len(), COUNT);
            assert!(got.body.as_slice().iter().enumerate().all(|(i, b)| *b == byte(i)));
        }
        assert_eq!(store.client_stats().connection_count, 1);
    });
}

#[test]
fn strangers_are_not_trusted() {
    check(|port, pem| async move {
        let unknown = store(Trust::default(), "localhost", port).get("object").await;
        assert_eq!(unknown.expect_err("no authority").kind(), ErrorKind::Untrusted);
        let other = store(Trust::with_pem(pem), "127.0.0.1", port).get("object").await;
        let error = other.expect_err("another name");
        assert_eq!((error.kind(), error.attempt_count()), (ErrorKind::Untrusted, 1), "{error}");
    });
}

#[test]
fn an_early_end_is_no_end() {
    check(|port, pem| async move {
        let store = store(Trust::only_pem(pem), "localhost", port);
        let error = store.get("cut").await.expect_err("the half of it");
        assert!(error.is_retryable() && error.attempt_count() > 1, "{error:?}");
        let options = Options { trust: Trust::only_pem("no certificate"), ..Options::default() };
        assert_eq!(Client::new(options).expect_err("nobody is trusted").kind(), ErrorKind::Invalid);
    });
}
