//! Answers that a store should not give, and some do: what they are taken for.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/raw.rs"]
mod raw;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use objectstore::{Client, Condition, ErrorKind, Limits, Options, S3Options, Store};
use raw::{Say, serve};
use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime, time};

fn simulated<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + Send + 'static) {
    let ring = RingChoice::Sim(Disk::new(5));
    let config = Config { workers: 1, ring, ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(test);
}

fn client(limits: Limits) -> Client {
    Client::new(Options { limits, ..Options::default() }).expect("a client")
}

fn bucket(url: &str) -> Store {
    let (bucket, endpoint) = ("bucket".to_owned(), Some(url.to_owned()));
    client(Limits::default())
        .s3(S3Options { bucket, endpoint, ..S3Options::default() })
        .expect("a store")
}

/// A store that ends each upload with `end`. Whether it has the object is told by `is_there`.
fn uploads(end: Say, is_there: bool) -> String {
    let writer: Rc<Cell<bool>> = Rc::default();
    serve(move |_, line| {
        match line.split(' ').next().expect("a method") {
        "POST" if line.contains("?uploads") => Say::whole(
            "200 So",
            b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>",
        ),
        "PUT" => Say::whole("200 So\netag: \"part\"", b""),
        "POST" => {
            writer.set(is_there);
            end.clone()
        }
        "HEAD" if writer.get() => Say::raw("200 So\ncontent-length: 6\netag: \"other\"", b""),
        "HEAD" => Say::raw("404 No\ncontent-length: 0", b""),
        _ => Say::whole("204 So", b""),
    }
    })
}

#[test]
fn the_end_of_an_upload_is_a_success_only_if_it_says_so() {
    let error = b"<?xml version=\"1.0\"?>\n<Error xmlns=\"http://s3.example.com/doc/2006-03-01/\">\
                  <Code>InternalError</Code><Message>no</Message></Error>";
    let cut = b"<CompleteMultipartUploadResult><ETag>x</ETag>";
    for body in [&error[..], b"", b"<html>hello</html>", b"\xff\xfe", cut] {
        simulated(move || async move {
            let store = bucket(&uploads(Say::whole("200 So", body), false));
            let put = store.put_parts("key", &[7; 6 << 20], 5 << 20, &Condition::None).await;
            let shown = String::from_utf8_lossy(body);
            let error = put.expect_err(&shown);
            assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{shown}: {error}");
        });
    }
}

#[test]
fn an_upload_has_the_tag_that_its_end_tells() {
    simulated(|| async {
        let end = b"\n \n<?xml version=\"1.0\"?><CompleteMultipartUploadResult xmlns=\"x\">\
                    <Key>key</Key><ETag>&quot;abc-2&quot;</ETag></CompleteMultipartUploadResult>";
        let store = bucket(&uploads(Say::whole("200 So", end), true));
        let put = store.put_parts("key", &[7; 6 << 20], 5 << 20, &Condition::None).await;
        let put = put.expect("put");
        assert_eq!((put.size, put.tag.as_deref()), (6 << 20, Some("\"abc-2\"")));
    });
}

#[test]
fn a_connection_that_was_not_sent_all_is_not_used_again() {
    for ring in [RingChoice::Auto, RingChoice::Threads, RingChoice::Sim(Disk::new(5))] {
        let config = Config { workers: 1, ring, pin: false, ..Config::default() };
        Runtime::start(config).expect("a runtime").block_on(|| async {
            let url = serve(|_, _| Say {
                takes_body: false,
                closes: true,
                ..Say::whole("413 Large", b"").then(Duration::from_millis(50), b"")
            });
            let store = bucket(&url);
            let put = store.put("key", &vec![1; 16 << 20]).await;
            assert_eq!(put.expect_err("too large").status(), Some(413));
            assert_eq!(store.client_stats().idle_connection_count, 0);
        });
    }
}

#[test]
fn what_comes_while_a_connection_waits_answers_nothing() {
    simulated(|| async {
        let evil = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil";
        let url = serve(move |_, line| match line.starts_with("HEAD") {
            true => {
                Say::raw("200 So\ncontent-length: 40", b"").then(Duration::from_millis(5), evil)
            }
            false => Say::whole("200 So", b"good"),
        });
        let store = bucket(&url);
        store.head("first").await.expect("a head");
        assert_eq!(store.client_stats().idle_connection_count, 1);
        time::sleep(Duration::from_millis(100)).await;
        let got = store.get("second").await.expect("got");
        assert_eq!(got.body.as_slice(), b"good");
        assert_eq!(store.client_stats().connection_count, 2);
    });
}

#[test]
fn an_object_without_a_tag_has_the_time_that_its_bytes_take() {
    const OBJECT: usize = 4_000_000;
    for is_chunked in [false, true] {
        simulated(move || async move {
            let url = serve(move |_, _| {
                let mut say = match is_chunked {
                    true => Say::raw("200 So\ntransfer-encoding: chunked", b""),
                    false => Say::raw(&format!("200 So\ncontent-length: {OBJECT}"), b""),
                };
                // A megabyte a second.
                for _ in 0..OBJECT / 100_000 {
                    let mut bytes = vec![7; 100_000];
                    if is_chunked {
                        bytes = [b"186a0\r\n", &bytes[..], b"\r\n"].concat();
                    }
                    say = say.then(Duration::from_millis(100), &bytes);
                }
                if is_chunked { say.then(Duration::ZERO, b"0\r\n\r\n") } else { say }
            });
            let limits = Limits { attempt_timeout: Duration::from_secs(1), ..Limits::default() };
            let client = client(limits);
            let store = client.http(&url).expect("a store");
            let got = store.get("object").await.expect("got");
            assert_eq!(got.body.len(), OBJECT);
            assert_eq!(client.stats().attempt_count, 1);
        });
    }
}

#[test]
fn a_list_that_does_not_end_is_left() {
    simulated(|| async {
        let pages = Rc::new(Cell::new(0));
        let told = pages.clone();
        let url = serve(move |_, _| {
            told.set(told.get() + 1);
            let text = format!(
                "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{}\
                 </NextContinuationToken></ListBucketResult>",
                told.get()
            );
            Say::whole("200 So", text.as_bytes())
        });
        let limit = time::timeout(Duration::from_secs(20), async {
            bucket(&url).list_all("", 5_000).await
        });
        let error = limit.await.expect("it ends").expect_err("no list");
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        assert!(pages.get() < 1_000, "{}", pages.get());
    });
}

#[test]
fn connections_that_wait_are_few_and_do_not_wait_for_long() {
    simulated(|| async {
        let client = client(Limits { idle_connections_max: 2, ..Limits::default() });
        let stores: Vec<Store> = (0..12)
            .map(|_| client.http(&serve(|_, _| Say::whole("200 So", b"x"))).expect("a store"))
            .collect();
        for store in &stores {
            store.get("object").await.expect("got");
        }
        assert_eq!(client.stats().idle_connection_count, 8, "four times what one may have");
        time::sleep(Duration::from_secs(10)).await;
        stores[11].get("object").await.expect("got");
        assert_eq!(client.stats().idle_connection_count, 1, "the others were closed");
    });
}
