//! TLS: by `SSLRequest` and directly, rules for it, channel binding; with a client library, and with
//! psql where there is one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::served::{Served, options};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use server::{Rules, ServerOptions, Tls};

/// A certificate for `localhost` that vouches for itself, and its key.
struct Own {
    certificate: CertificateDer<'static>,
    pem: String,
    tls: Tls,
}

fn own() -> Own {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let pem = made.cert.pem();
    let tls = Tls::new(pem.as_bytes(), made.signing_key.serialize_pem().as_bytes());
    let tls = tls.expect("a certificate with its key");
    Own { certificate: made.cert.der().clone(), pem, tls }
}

fn serve(name: &str, own: &Own, rules: Option<&str>) -> Served {
    let rules = rules.map(|rules| Rules::parse(rules).expect("rules"));
    Served::start(name, ServerOptions { tls: Some(own.tls.clone()), rules, ..options() })
}

fn client(own: &Own, alpn: Option<&str>) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(own.certificate.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = alpn.into_iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").expect("a name");
    ClientConnection::new(Arc::new(config), name).expect("a client")
}

fn socket(served: &Served) -> TcpStream {
    let stream = TcpStream::connect(served.address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    stream
}

/// Logs in and asks a question whose answer is long; how much came, or what went wrong.
fn ask(mut stream: impl Read + Write) -> Result<usize, String> {
    let startup = b"\0\0\0\x10\0\x03\0\0user\0x\0\0";
    stream.write_all(startup).map_err(|error| error.to_string())?;
    let query = b"select repeat('x', 1000) from generate_series(1, 1000)\0";
    let len = (query.len() as u32 + 4).to_be_bytes();
    stream.write_all(&[b"Q", &len[..], query, b"X\0\0\0\x04"].concat()).ok();
    let mut answer = vec![];
    let ended = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    match (ended, text.contains("SELECT 1000"), text.contains("FATAL")) {
        (Ok(_), true, _) => Ok(answer.len()),
        (Ok(_), _, true) => Err(text.into_owned()),
        (ended, ..) => Err(format!("{ended:?} after {} bytes", answer.len())),
    }
}

fn asked_for(served: &Served) -> (TcpStream, u8) {
    let mut stream = socket(served);
    stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).expect("sent");
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("an answer");
    (stream, answer[0])
}

#[test]
fn it_is_asked_for_or_begun_directly() {
    let own = own();
    let served = serve("tls", &own, None);
    let (stream, answer) = asked_for(&served);
    assert_eq!(answer, b'S');
    let count = ask(StreamOwned::new(client(&own, None), stream)).expect("by request");
    assert!(count > 1_000_000);
    let direct = |alpn| ask(StreamOwned::new(client(&own, alpn), socket(&served)));
    direct(Some("postgresql")).expect("directly");
    direct(None).expect_err("without the protocol's name");
    direct(Some("http/1.1")).expect_err("with another's");
    ask(socket(&served)).expect("in the clear");
}

#[test]
fn what_comes_before_the_handshake_is_not_believed() {
    let own = own();
    let served = serve("tls-early", &own, None);
    let mut stream = socket(&served);
    let query = b"\0\0\0\x10\0\x03\0\0user\0x\0\0";
    stream.write_all(&[&[0, 0, 0, 8, 4, 210, 22, 47][..], query].concat()).expect("sent");
    let mut answer = vec![];
    stream.read_to_end(&mut answer).ok();
    assert_eq!(answer, b"", "the connection ends at once");
}

#[test]
fn what_is_no_handshake_ends_its_own_connection_only() {
    let own = own();
    let served = serve("tls-garbage", &own, None);
    let mut noise = 1u32;
    for round in 0..200 {
        let mut bytes: Vec<u8> = (0..round * 7 % 900)
            .map(|_| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (noise >> 24) as u8
            })
            .collect();
        // Half of them look like the head of a handshake, directly or after the request.
        if round % 2 == 0 {
            bytes.splice(0..0, [0x16, 3, 1, 0, 200, 1]);
        }
        let mut stream = match round % 3 {
            0 => asked_for(&served).0,
            _ => socket(&served),
        };
        stream.write_all(&bytes).ok();
        stream.shutdown(std::net::Shutdown::Write).ok();
        stream.read_to_end(&mut vec![]).ok();
    }
    ask(StreamOwned::new(client(&own, Some("postgresql")), socket(&served))).expect("it serves");
}

#[test]
fn without_a_certificate_there_is_none() {
    let served = Served::start("tls-none", options());
    let (stream, answer) = asked_for(&served);
    assert_eq!(answer, b'N');
    ask(stream).expect("the client may go on in the clear");
}

#[test]
fn rules_tell_the_two_apart() {
    let own = own();
    let rules = "hostssl all all all trust\nhostnossl all all all reject";
    let served = serve("tls-rules", &own, Some(rules));
    let (stream, _) = asked_for(&served);
    ask(StreamOwned::new(client(&own, None), stream)).expect("encrypted");
    let error = ask(socket(&served)).expect_err("in the clear");
    assert!(error.contains("no encryption"), "{error}");
}

/// A refused client gets the error however much it has sent behind its start-up.
#[test]
fn no_refusal_is_lost_in_a_reset() {
    let served = serve("tls-reset", &own(), Some("hostssl all all all trust"));
    let mut stream = socket(&served);
    let query = vec![b'x'; 1 << 20];
    let len = (query.len() as u32 + 4).to_be_bytes();
    let startup = b"\0\0\0\x10\0\x03\0\0user\0x\0\0";
    stream.write_all(&[&startup[..], b"Q", &len, &query].concat()).expect("taken");
    let mut answer = vec![];
    stream.read_to_end(&mut answer).expect("no reset");
    assert!(String::from_utf8_lossy(&answer).contains("no encryption"));
}

#[test]
fn another_certificate_holds_for_new_connections() {
    let (old, new) = (own(), own());
    let served = serve("tls-reload", &old, None);
    served.server.reload(None, Some(new.tls.clone())).expect("reloaded");
    let ask_as = |own: &Own| ask(StreamOwned::new(client(own, None), asked_for(&served).0));
    ask_as(&new).expect("the new one");
    ask_as(&old).expect_err("the old one");
    served.server.reload(None, None).expect("reloaded");
    assert_eq!(asked_for(&served).1, b'N');
}

#[test]
fn a_key_that_does_not_fit_is_refused() {
    let (one, other) = (own(), rcgen::KeyPair::generate().expect("a key"));
    let error =
        Tls::new(one.pem.as_bytes(), other.serialize_pem().as_bytes()).expect_err("refused");
    assert_eq!(error.to_string(), "the private key is not the certificate's");
    let error = Tls::new(b"nonsense", b"nonsense").expect_err("refused");
    assert_eq!(error.to_string(), "there is no certificate");
    let error = Tls::new(one.pem.as_bytes(), b"nonsense").expect_err("refused");
    assert_eq!(error.to_string(), "the private key cannot be read");
}

/// psql's answer, or what it complains about; `None` where there is no psql.
fn psql(served: &Served, login: &str) -> Option<Result<String, String>> {
    let login = format!("port={} dbname=t connect_timeout=10 {login}", served.address.port());
    let output = Command::new("psql")
        .args(["-XAtc", "select 'it ' || 'works'", &login])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &served.folder)
        .output();
    let output = match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("SKIPPED: there is no psql on this machine");
            return None;
        }
        other => other.expect("psql runs"),
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    Some(if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) })
}

#[test]
fn psql_verifies_the_server_and_binds_its_password_to_the_channel() {
    let own = own();
    let served = serve("tls-psql", &own, None);
    let root: PathBuf = served.folder.join("root.pem");
    std::fs::write(&root, &own.pem).expect("written");
    let mut first = served.connect("user=x").expect("connected");
    first.batch_execute("create role ann login password 'secret'").expect("created");
    let verified = format!(
        "host=localhost hostaddr=127.0.0.1 sslmode=verify-full sslrootcert={}",
        root.display()
    );
    let works = [
        "host=127.0.0.1 sslmode=require".to_owned(),
        verified.clone(),
        format!("{verified} channel_binding=require"),
        "host=127.0.0.1 sslmode=disable channel_binding=disable".to_owned(),
        "host=127.0.0.1 sslmode=require ssl_max_protocol_version=TLSv1.2 channel_binding=require"
            .to_owned(),
    ];
    for login in works {
        let Some(answer) = psql(&served, &format!("{login} user=ann password=secret")) else {
            return;
        };
        assert_eq!(answer.as_deref(), Ok("it works"), "{login}");
    }
    let fails = [
        (
            format!("{verified} channel_binding=require password=wrong"),
            "password authentication failed",
        ),
        (
            "host=127.0.0.1 sslmode=disable channel_binding=require password=secret".to_owned(),
            "channel binding",
        ),
        (
            format!(
                "host=elsewhere hostaddr=127.0.0.1 sslmode=verify-full sslrootcert={} password=secret",
                root.display()
            ),
            "does not match host name",
        ),
    ];
    for (login, why) in fails {
        let answer = psql(&served, &format!("{login} user=ann")).expect("psql is there");
        let error = answer.expect_err(&login);
        assert!(error.contains(why), "{login}: {error}");
    }
}
