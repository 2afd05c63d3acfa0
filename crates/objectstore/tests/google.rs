//! What is particular to Google: conditions by generation, parts that are objects, tokens, and its errors.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/raw.rs"]
mod raw;
#[path = "support/server.rs"]
mod server;

use objectstore::{Client, Condition, Credentials, ErrorKind, GoogleOptions, Options, Store};
use raw::{Say, serve};
use runtime::sim::{Disk, NetworkFaults};
use runtime::{Config, RingChoice, Runtime};
use server::Server;

fn check<F: Future<Output = ()> + 'static>(
    test: impl Fn(Server, Store) -> F + Copy + Send + 'static,
) {
    let disk = Disk::new(7);
    disk.network().faults(NetworkFaults::short_and_late());
    for ring in [RingChoice::Auto, RingChoice::Sim(disk)] {
        let config = Config { workers: 1, ring, pin: false, ..Config::default() };
        Runtime::start(config).expect("a runtime").block_on(move || async move {
            let (server, url) = Server::start();
            test(server.of_google(), store(&url)).await;
        });
    }
}

fn store(url: &str) -> Store {
    server::google(&Client::new(Options::default()).expect("a client"), url)
}

fn bytes(seed: usize, count: usize) -> Vec<u8> {
    (0..count).map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn kind<T>(result: objectstore::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn conditions_are_generations() {
    check(|server, store| async move {
        let first = store.put_if("key", b"one", &Condition::Absent).await.expect("there is none");
        let refused = Some(ErrorKind::Precondition);
        assert_eq!(kind(store.put_if("key", b"two", &Condition::Absent).await), refused);
        let other = Condition::Matches("4711".to_owned());
        assert_eq!(kind(store.put_if("key", b"two", &other).await), refused);
        let tag = first.tag.expect("a generation");
        let known = Condition::Matches(tag.clone());
        store.put_if("key", b"two", &known).await.expect("it is the one");
        assert_eq!(kind(store.put_if("key", b"three", &known).await), refused);
        assert_eq!(kind(store.get_version("key", 0..2, &tag).await), refused);
        assert_eq!(**server.object("key").expect("there").bytes, *b"two");
        // 0 would be for what is not there.
        for tag in ["", "0", "-1", "\"tag\"", "1\r\nhost: b"] {
            let broken = Condition::Matches(tag.to_owned());
            let refused = Some(ErrorKind::Invalid);
            assert_eq!(kind(store.put_if("key", b"four", &broken).await), refused, "{tag}");
        }
    });
}

#[test]
fn parts_are_objects_that_go_away() {
    check(|server, store| async move {
        let body = bytes(9, 12 << 20);
        let put = store.put_parts("big", &body, 5 << 20, &Condition::Absent).await.expect("put");
        assert_eq!(put.size, body.len() as u64);
        assert!(*server.object("big").expect("there").bytes == body);
        let refused = store.put_parts("big", &body, 5 << 20, &Condition::Absent).await;
        assert_eq!(kind(refused), Some(ErrorKind::Precondition));
        assert_eq!(server.keys(), ["big"], "no part is left");
        let mut upload = store.upload("made", 2).await.expect("begun");
        upload.send(vec![1; 5 << 20]).await.expect("sent");
        upload.send(vec![2; 100]).await.expect("sent");
        let matches = Condition::Matches(put.tag.expect("a generation"));
        assert_eq!(kind(upload.finish(&matches).await), Some(ErrorKind::Precondition));
        let mut upload = store.upload("given up", 2).await.expect("begun");
        upload.send(vec![1; 5 << 20]).await.expect("sent");
        upload.give_up().await;
        assert_eq!(server.keys(), ["big"], "no part is left");
    });
}

#[test]
fn many_parts_are_joined_step_by_step() {
    let config = Config { workers: 1, pin: false, ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(|| async {
        let (server, url) = Server::start();
        let (server, store) = (server.of_google(), store(&url));
        let body = bytes(3, ((33 * 5) << 20) + 7);
        store.put_parts("big", &body, 5 << 20, &Condition::None).await.expect("put");
        assert!(*server.object("big").expect("there").bytes == body);
        assert_eq!(server.keys(), ["big"], "no part is left");
        let joins = server.log().iter().filter(|line| line.ends_with("/compose")).count();
        assert_eq!(joins, 3, "34 parts are 32 and 2, and these are one");
    });
}

#[test]
fn errors_say_what_google_says() {
    check(|_, store| async move {
        let error = store.get("nothing").await.expect_err("there is none");
        let said = (error.kind(), error.status(), error.code());
        assert_eq!(said, (ErrorKind::NotFound, Some(404), Some("notFound")));
        assert!(error.to_string().contains("it is so"), "{error}");
    });
}

#[test]
fn keys_are_no_tokens() {
    check(|server, store| async move {
        store.head("nothing").await.expect_err("there is none");
        assert_eq!(server.signers(), ["token"]);
        let client = Client::new(Options::default()).expect("a client");
        let (bucket, endpoint) = ("bucket".to_owned(), Some("http://127.0.0.1:1".to_owned()));
        let credentials = Credentials::keys("id", "secret");
        let options = GoogleOptions { bucket, endpoint, credentials };
        let error = client.google(options).expect_err("keys");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    });
}

#[test]
fn documents_that_are_none_are_no_success() {
    for body in ["", "{}", "[]", "<Error/>", r#"{"name":"key"}"#, r#"{"generation":"1"}"#] {
        let config =
            Config { workers: 1, ring: RingChoice::Sim(Disk::new(5)), ..Config::default() };
        Runtime::start(config).expect("a runtime").block_on(move || async move {
            let store = store(&serve(move |_, _| Say::whole("200 So", body.as_bytes())));
            assert_eq!(kind(store.head("key").await), Some(ErrorKind::Protocol), "{body}");
            assert_eq!(kind(store.put("key", b"x").await), Some(ErrorKind::Protocol), "{body}");
            let put = store.put_if("key", b"x", &Condition::Absent).await;
            assert_eq!(kind(put), Some(ErrorKind::OutcomeUnknown), "{body}");
            let put = store.put_parts("key", &[7; 6 << 20], 5 << 20, &Condition::None).await;
            assert_eq!(kind(put), Some(ErrorKind::Protocol), "{body}");
            assert_eq!(kind(store.list("", None, None).await), Some(ErrorKind::Protocol), "{body}");
        });
    }
}
