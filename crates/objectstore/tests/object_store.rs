//! The public trait over a small server of our own, polled by an executor that knows nothing of our
//! runtime, from several threads at once.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/server.rs"]
mod server;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, UpdateVersion,
};
use objectstore::{Client, ObjectStoreBridge, Options};
use runtime::{Config, Runtime};
use server::Server;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// As plain as an executor can be.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut future, mut cx) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A store on two workers, with the server on one of them.
fn start() -> (Runtime, Arc<dyn ObjectStore>) {
    start_with("~", Vec::new())
}

/// The same with an object that is there already.
fn start_with(key: &'static str, body: Vec<u8>) -> (Runtime, Arc<dyn ObjectStore>) {
    let config = Config { workers: 2, pin: false, ..Config::default() };
    let runtime = Runtime::start(config).expect("a runtime");
    let url = runtime.block_on(move || async move {
        let (server, url) = Server::start();
        server.insert(key, body);
        url
    });
    let client = Client::new(Options::default()).expect("a client");
    let store = ObjectStoreBridge::new(server::bucket(&client, &url), runtime.handle());
    (runtime, Arc::new(store))
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 31 + i / 4096) as u8).collect()
}

#[test]
fn objects_are_put_and_got_in_every_way() {
    let (_runtime, store) = start();
    block_on(async {
        let (path, body) = (Path::from("a b/ü"), bytes(100_000));
        let put = store.put(&path, body.clone().into()).await.expect("put");
        let head = store.head(&path).await.expect("asked");
        assert_eq!((head.size, &head.location, &head.e_tag), (100_000, &path, &put.e_tag));
        assert_eq!(head.last_modified.to_rfc3339(), "2013-05-24T00:00:00+00:00");
        let got = store.get(&path).await.expect("got");
        assert_eq!((got.meta.clone(), got.range.clone()), (head, 0..100_000));
        assert_eq!(got.bytes().await.expect("read"), body);
        let part = async |range: GetRange| {
            let options = GetOptions { range: Some(range), ..GetOptions::default() };
            let got = store.get_opts(&path, options).await?;
            let range = got.range.start as usize..got.range.end as usize;
            assert_eq!(got.meta.size, 100_000);
            let came = got.bytes().await?;
            assert_eq!(came, body[range.clone()]);
            Ok::<_, Error>(range)
        };
        assert_eq!(part(GetRange::Bounded(5..9)).await.expect("got"), 5..9);
        assert_eq!(part(GetRange::Bounded(99_990..200_000)).await.expect("got"), 99_990..100_000);
        assert_eq!(part(GetRange::Offset(90_000)).await.expect("got"), 90_000..100_000);
        assert_eq!(part(GetRange::Suffix(7)).await.expect("got"), 99_993..100_000);
        for beyond in [GetRange::Bounded(9..9), GetRange::Bounded(100_000..100_001)] {
            part(beyond).await.expect_err("there is nothing");
        }
        let ranges = [0..10, 50_000..50_010, 99_000..100_000];
        let parts = store.get_ranges(&path, &ranges).await.expect("got");
        for (range, part) in ranges.iter().zip(parts) {
            assert_eq!(part, body[range.start as usize..range.end as usize]);
        }
        store.put(&Path::from("empty"), PutPayload::new()).await.expect("put");
        let empty = store.get(&Path::from("empty")).await.expect("got");
        assert_eq!(empty.bytes().await.expect("read").len(), 0);
        let gone = store.get(&Path::from("gone")).await.expect_err("there is none");
        assert!(matches!(gone, Error::NotFound { .. }), "{gone}");
    });
}

#[test]
fn large_objects_come_in_pieces_of_one_version() {
    let body = bytes((40 << 20) + 5);
    let (_runtime, store) = start_with("large", body.clone());
    block_on(async {
        let path = Path::from("large");
        let mut stream = store.get(&path).await.expect("got").into_stream();
        let (mut at, mut piece_count) = (0, 0);
        while let Some(piece) = stream.try_next().await.expect("a piece") {
            assert!(piece == body[at..at + piece.len()], "the piece at {at}");
            (at, piece_count) = (at + piece.len(), piece_count + 1);
        }
        assert_eq!((at, piece_count), (body.len(), 6));
        let mut stream = store.get(&path).await.expect("got").into_stream();
        stream.try_next().await.expect("a piece");
        store.put(&path, "another one".into()).await.expect("put");
        // Four pieces may have been under way already.
        let rest: Vec<_> = stream.collect().await;
        let last = rest.into_iter().next_back().expect("more pieces");
        assert!(matches!(last, Err(Error::Precondition { .. })), "{last:?}");
    });
}

#[test]
fn conditions_hold() {
    let (_runtime, store) = start();
    block_on(async {
        let path = Path::from("commit");
        let put = async |body: &'static str, mode: PutMode| {
            store.put_opts(&path, body.into(), PutOptions::from(mode)).await
        };
        let first = put("one", PutMode::Create).await.expect("there was none");
        let second = put("two", PutMode::Create).await.expect_err("there is one");
        assert!(matches!(second, Error::AlreadyExists { .. }), "{second}");
        let version = UpdateVersion { e_tag: first.e_tag.clone(), version: None };
        put("three", PutMode::Update(version.clone())).await.expect("nobody was faster");
        let late = put("four", PutMode::Update(version)).await.expect_err("somebody was");
        assert!(matches!(late, Error::Precondition { .. }), "{late}");
        assert_eq!(store.get(&path).await.expect("got").bytes().await.expect("read"), "three");
        let get = async |options: GetOptions| store.get_opts(&path, options).await;
        let stale = GetOptions { if_match: first.e_tag.clone(), ..GetOptions::default() };
        let stale = get(stale).await.expect_err("another version");
        assert!(matches!(stale, Error::Precondition { .. }), "{stale}");
        let tag = store.head(&path).await.expect("asked").e_tag;
        let same = get(GetOptions { if_none_match: tag, ..GetOptions::default() }).await;
        let same = same.expect_err("it is known");
        assert!(matches!(same, Error::NotModified { .. }), "{same}");
        let versioned = GetOptions { version: Some("1".into()), ..GetOptions::default() };
        let versioned = get(versioned).await.expect_err("by tags only");
        assert!(matches!(versioned, Error::NotSupported { .. }), "{versioned}");
        let attributes = Attributes::from_iter([(Attribute::ContentType, "text/plain")]);
        let lost = store.put_opts(&path, "x".into(), attributes.into()).await;
        assert!(matches!(lost, Err(Error::NotSupported { .. })), "they would be lost");
    });
}

#[test]
fn names_are_listed_copied_and_removed() {
    let (_runtime, store) = start();
    block_on(async {
        let names = ["a", "a/b", "a/c/d", "a/c/e", "ab/c"];
        for name in names {
            store.put(&Path::from(name), name.into()).await.expect("put");
        }
        let list = async |prefix: Option<&str>| {
            let prefix = prefix.map(Path::from);
            let all: Vec<_> = store.list(prefix.as_ref()).try_collect().await.expect("listed");
            let names = all.into_iter().map(|meta| meta.location.to_string());
            names.filter(|name| name != "~").collect::<Vec<_>>()
        };
        assert_eq!(list(None).await, names);
        assert_eq!(list(Some("a")).await, ["a/b", "a/c/d", "a/c/e"], "whole parts of names");
        let from = store.list_with_offset(None, &Path::from("a/c/d"));
        assert_eq!(from.try_collect::<Vec<_>>().await.expect("listed").len(), 3);
        let level = store.list_with_delimiter(Some(&Path::from("a"))).await.expect("listed");
        assert_eq!(level.common_prefixes, [Path::from("a/c")]);
        assert_eq!(level.objects.len(), 1);
        store.copy(&Path::from("a/b"), &Path::from("z")).await.expect("copied");
        let again = store.copy_if_not_exists(&Path::from("a/b"), &Path::from("z")).await;
        assert!(matches!(again, Err(Error::AlreadyExists { .. })), "{again:?}");
        store.rename(&Path::from("z"), &Path::from("y")).await.expect("renamed");
        let paths = ["y", "a", "gone"].map(|name| Ok(Path::from(name)));
        let deleted = store.delete_stream(futures_util::stream::iter(paths).boxed());
        assert_eq!(deleted.try_collect::<Vec<_>>().await.expect("deleted").len(), 3);
        assert_eq!(list(None).await, names[1..]);
    });
}

#[test]
fn uploads_end_with_an_object_or_without() {
    let (_runtime, store) = start();
    block_on(async {
        let (path, body) = (Path::from("parts"), bytes((11 << 20) + 3));
        let mut upload = store.put_multipart(&path).await.expect("begun");
        let parts: Vec<_> =
            body.chunks(5 << 20).map(|part| upload.put_part(part.to_vec().into())).collect();
        // The last one first: their places are those in which they were made.
        for part in parts.into_iter().rev() {
            part.await.expect("stored");
        }
        upload.complete().await.expect("ended");
        assert!(store.get(&path).await.expect("got").bytes().await.expect("read") == body);
        let path = Path::from("given up");
        let mut upload = store.put_multipart(&path).await.expect("begun");
        upload.put_part("part".into()).await.expect("stored");
        drop(upload.put_part("never sent".into()));
        upload.complete().await.expect_err("a part is missing");
        upload.abort().await.expect("given up");
        store.head(&path).await.expect_err("there is none");
        let options = PutMultipartOptions::default();
        let mut upload = store.put_multipart_opts(&path, options).await.expect("begun");
        upload.complete().await.expect("ended");
        assert_eq!(store.head(&path).await.expect("there is one").size, 0);
    });
}

#[test]
fn any_thread_may_poll_and_leave() {
    let (runtime, store) = start();
    let body = bytes(1 << 20);
    block_on(store.put(&Path::from("object"), body.clone().into())).expect("put");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (store, body) = (store.clone(), body.clone());
            thread::spawn(move || {
                for i in 0..20 {
                    let path = Path::from("object");
                    let range = i * 1000..i * 1000 + 5000;
                    let mut left = pin!(store.get_range(&path, range.clone()));
                    // Begun, and left alone.
                    let mut cx = Context::from_waker(Waker::noop());
                    let _ = left.as_mut().poll(&mut cx);
                    let got = block_on(store.get_range(&path, range.clone())).expect("got");
                    assert_eq!(got, body[range.start as usize..range.end as usize]);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("ended"));
    drop(runtime);
    let late = block_on(store.head(&Path::from("object"))).expect_err("nobody works");
    assert!(matches!(late, Error::Generic { .. }), "{late}");
}
