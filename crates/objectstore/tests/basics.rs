//! What a store can be asked for, against a small server of our own: on both real rings and in the
//! simulation.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/server.rs"]
mod server;

use objectstore::{Client, Condition, ErrorKind, Options, Store};
use runtime::sim::{Disk, NetworkFaults};
use runtime::{Config, IoBuf, RingChoice, Runtime};
use server::Server;

fn check<F: Future<Output = ()> + 'static>(
    test: impl Fn(Server, Store) -> F + Copy + Send + 'static,
) {
    check_by(store, test);
}

/// The same by the interface of S3 and by Google's.
fn check_both<F: Future<Output = ()> + 'static>(
    test: impl Fn(Server, Store) -> F + Copy + Send + 'static,
) {
    check_by(store, test);
    check_by(of_google, move |server, store| test(server.of_google(), store));
}

fn check_by<F: Future<Output = ()> + 'static>(
    store: fn(&str) -> Store,
    test: impl Fn(Server, Store) -> F + Copy + Send + 'static,
) {
    let start = |ring| {
        let config = Config { workers: 1, ring, pin: false, ..Config::default() };
        Runtime::start(config).expect("a runtime")
    };
    let disk = Disk::new(7);
    disk.network().faults(NetworkFaults::short_and_late());
    for ring in [RingChoice::Auto, RingChoice::Threads, RingChoice::Sim(disk)] {
        start(ring).block_on(move || async move {
            let (server, url) = Server::start();
            test(server, store(&url)).await;
        });
    }
}

fn store(url: &str) -> Store {
    server::bucket(&Client::new(Options::default()).expect("a client"), url)
}

fn of_google(url: &str) -> Store {
    server::google(&Client::new(Options::default()).expect("a client"), url)
}

fn bytes(seed: usize, count: usize) -> Vec<u8> {
    (0..count).map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn what_is_put_can_be_got() {
    check_both(|server, store| async move {
        for (key, count) in [("a", 0), ("b/c d+e", 1), ("ü/%41&=?#", 70_000), ("large", 5_000_000)]
        {
            let body = bytes(count, count);
            let put = store.put(key, &body).await.expect("put");
            assert_eq!(put.size, count as u64);
            assert_eq!(*server.object(key).expect("stored").bytes, body, "{key}");
            let got = store.get(key).await.expect("got");
            assert!(got.body.as_slice() == body, "{key}: {} bytes", got.body.len());
            assert_eq!((got.info.size, &got.info.tag), (count as u64, &put.tag));
            let head = store.head(key).await.expect("a head");
            assert_eq!((&head.tag, head.modified_s), (&put.tag, Some(1_369_353_600)));
            store.delete(key).await.expect("deleted");
            assert_eq!(store.get(key).await.expect_err("gone").kind(), ErrorKind::NotFound);
            store.delete(key).await.expect("nothing to delete is no error");
        }
    });
}

#[test]
fn ranges_land_in_the_callers_memory() {
    check_both(|server, store| async move {
        let body = bytes(3, 1_000_000);
        server.insert("object", body.clone());
        let buf = IoBuf::alloc(300_100);
        let place = buf.as_slice().as_ptr();
        let (info, buf) = store.get_into("object", 500..300_500, buf, 50).await;
        assert_eq!(info.expect("got").size, 1_000_000);
        assert_eq!(buf.as_slice().as_ptr(), place, "the same memory comes back");
        assert!(buf.as_slice()[50..300_050] == body[500..300_500]);
        assert_eq!(buf.as_slice()[..50], [0; 50]);
        assert_eq!(buf.as_slice()[300_050..], [0; 50]);
        let all = store.get_range("object", 0..1_000_000).await.expect("got");
        assert!(all.body.as_slice() == body);
        for (range, kind) in [
            (5..5, ErrorKind::Invalid),
            (999_999..1_000_001, ErrorKind::Invalid),
            (1_000_000..1_000_001, ErrorKind::Invalid),
        ] {
            let error = store.get_range("object", range.clone()).await.expect_err("beyond");
            assert_eq!(error.kind(), kind, "{range:?}: {error}");
        }
        let (error, buf) = store.get_into("object", 0..100, buf, 300_001).await;
        assert_eq!(error.expect_err("too short").kind(), ErrorKind::Invalid);
        assert_eq!(buf.len(), 300_100);
    });
}

#[test]
fn connections_are_used_again() {
    check_both(|server, store| async move {
        server.insert("object", bytes(1, 10_000));
        for _ in 0..20 {
            store.get("object").await.expect("got");
            assert!(store.get("nothing").await.is_err());
        }
        assert_eq!(server.request_count(), 40);
        let shown = format!("{:?}", store.client_stats());
        assert_eq!(store.client_stats().connection_count, 1, "{shown}");
    });
}

#[test]
fn conditions_hold() {
    check(|server, store| async move {
        let put = |body: &'static [u8], condition: Condition| {
            let store = store.clone();
            async move { store.put_if("key", body, &condition).await }
        };
        let first = put(b"one", Condition::Absent).await.expect("there is none");
        let kind = |result: objectstore::Result<_>| result.map(|_| ()).map_err(|e| e.kind());
        let refused = Err(ErrorKind::Precondition);
        assert_eq!(kind(put(b"two", Condition::Absent).await), refused);
        assert_eq!(kind(put(b"two", Condition::Matches("\"no\"".to_owned())).await), refused);
        let tag = first.tag.expect("a tag");
        put(b"two", Condition::Matches(tag.clone())).await.expect("it is the one");
        assert_eq!(kind(put(b"three", Condition::Matches(tag)).await), refused);
        assert_eq!(**server.object("key").expect("there").bytes, *b"two");
        let broken = Condition::Matches("a\r\nhost: b".to_owned());
        assert_eq!(kind(put(b"four", broken).await), Err(ErrorKind::Invalid));
    });
}

#[test]
fn lists_go_on_page_by_page() {
    check_both(|server, store| async move {
        let names: Vec<String> = (0..2_345).map(|i| format!("dir/{i:05} & <x>")).collect();
        names.iter().for_each(|name| server.insert(name, vec![1; 3]));
        server.insert("dir/sub/a", vec![]);
        server.insert("dir/sub/b", vec![]);
        server.insert("other", vec![]);
        let all = store.list_all("dir/0", 10_000).await.expect("listed");
        assert_eq!(all.iter().map(|object| object.key.clone()).collect::<Vec<_>>(), names);
        assert!(all.iter().all(|object| object.size == 3 && object.tag.is_some()));
        let page = store.list("dir/", Some("/"), None).await.expect("listed");
        assert_eq!((page.objects.len(), page.next.is_some()), (1000, true));
        let page = store.list("dir/s", Some("/"), None).await.expect("listed");
        assert_eq!((page.prefixes, page.objects.len()), (vec!["dir/sub/".to_owned()], 0));
        let error = store.list_all("dir/", 2_000).await.expect_err("too many");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    });
}

#[test]
fn large_objects_go_in_parts() {
    check(|server, store| async move {
        let body = bytes(9, 12 << 20);
        let none = Condition::None;
        let put = store.put_parts("big", &body, 5 << 20, &none).await.expect("put");
        assert_eq!(put.size, body.len() as u64);
        assert!(*server.object("big").expect("there").bytes == body);
        let matches = Condition::Matches(put.tag.expect("a tag"));
        store.put_if("big", b"small", &matches).await.expect("it is the one");
        let error = store.put_parts("big", &body, 5 << 20, &Condition::Absent).await;
        assert_eq!(error.expect_err("it is there").kind(), ErrorKind::Precondition);
        assert_eq!(server.upload_count(), 0, "what failed is given up");
        for part_bytes in [0, 1000] {
            let error = store.put_parts("big", &body, part_bytes, &none).await;
            assert_eq!(error.expect_err("too small").kind(), ErrorKind::Invalid);
        }
    });
}

#[test]
fn parts_are_sent_while_the_next_ones_are_made() {
    check(|server, store| async move {
        let body = bytes(10, 23 << 20);
        let mut upload = store.upload("made", 2).await.expect("begun");
        for part in body.chunks(5 << 20) {
            upload.send(part.to_vec()).await.expect("sent");
            assert!(server.object("made").is_none(), "it is not there yet");
        }
        let behind = upload.send(vec![1; 5 << 20]).await.expect_err("the last part was small");
        assert_eq!(behind.kind(), ErrorKind::Invalid);
        let info = upload.finish(&Condition::None).await.expect("finished");
        assert_eq!(info.size, body.len() as u64);
        assert!(*server.object("made").expect("there").bytes == body);
        let mut given_up = store.upload("made", 8).await.expect("begun");
        given_up.send(vec![1; 5 << 20]).await.expect("sent");
        assert_eq!(server.upload_count(), 1);
        given_up.give_up().await;
        let refused = {
            let mut upload = store.upload("made", 8).await.expect("begun");
            upload.send(vec![2; 100]).await.expect("sent");
            upload.finish(&Condition::Absent).await.expect_err("it is there")
        };
        assert_eq!(refused.kind(), ErrorKind::Precondition);
        let empty = store.upload("empty", 8).await.expect("begun");
        let refused = empty.finish(&Condition::None).await.expect_err("no parts");
        assert_eq!((refused.kind(), server.upload_count()), (ErrorKind::Invalid, 0));
        assert!(*server.object("made").expect("there").bytes == body);
    });
}

#[test]
fn errors_say_what_the_store_says() {
    check(|_, store| async move {
        let error = store.get("nothing").await.expect_err("there is none");
        let said = (error.kind(), error.status(), error.code(), error.request_id());
        let expected = (ErrorKind::NotFound, Some(404), Some("NoSuchKey"), Some("R-404"));
        assert_eq!((said, error.is_retryable()), (expected, false));
        assert!(error.to_string().contains("it is so"), "{error}");
        for key in ["", "a/../b", "."] {
            let error = store.get(key).await.expect_err("a bad name");
            assert_eq!(error.kind(), ErrorKind::Invalid, "{key}");
        }
    });
}

#[test]
fn any_worker_may_use_a_store() {
    for ring in [RingChoice::Auto, RingChoice::Threads, RingChoice::Sim(Disk::new(3))] {
        let config = Config { workers: 2, ring, pin: false, ..Config::default() };
        let runtime = Runtime::start(config).expect("a runtime");
        runtime.block_on(move || async move {
            let (server, url) = Server::start();
            server.insert("object", bytes(4, 300_000));
            let store = store(&url);
            let tasks: Vec<_> = (0..40)
                .map(|i| {
                    let store = store.clone();
                    runtime::spawn_on(i % 2, move || async move {
                        for _ in 0..5 {
                            let got = store.get("object").await.expect("got");
                            assert!(got.body.as_slice() == bytes(4, 300_000));
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("ended");
            }
            let connections = store.client_stats().connection_count;
            assert!(connections <= 40, "they are shared: {connections}");
        });
    }
}
