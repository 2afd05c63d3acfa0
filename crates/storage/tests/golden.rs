//! The format, byte by byte: what is written does not change unnoticed, and what was once written is
//! read for ever.
//!
//! `golden/version-5.txt` is a dump of a small database with a log: an offset and 32 bytes per line,
//! lines of zeros left out; the others are of the formats before. After a deliberate change of the format (and of `docs/format/`) a run with
//! `UPDATE_GOLDEN=1` writes it anew.

mod simulated;

use std::fmt::Write;
use std::path::Path;

use runtime::fs::{File, OpenOptions};
use runtime::sim::{Disk, Latency};
use runtime::{Config, IoBuf, IoCounters, RingChoice, Runtime};
use simulated::simulated;
use storage::{Layout, Redo, Store, StoreOptions};

const GOLDEN_1: &str = include_str!("golden/version-1.txt");
const GOLDEN_2: &str = include_str!("golden/version-2.txt");
const GOLDEN_3: &str = include_str!("golden/version-3.txt");
const GOLDEN_4: &str = include_str!("golden/version-4.txt");
const GOLDEN: &str = include_str!("golden/version-5.txt");

/// All of them, and how many entries each has.
const GOLDENS: [(&str, u64); 5] =
    [(GOLDEN, 264), (GOLDEN_4, 264), (GOLDEN_3, 264), (GOLDEN_2, 263), (GOLDEN_1, 262)];

const GOLDEN_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/version-5.txt");
const PATH: &str = "/db";
const ROW_COUNT: u32 = 260;

fn options() -> StoreOptions {
    StoreOptions { pool_bytes: 64 * 4096, log: true, ..StoreOptions::default() }
}

fn row(number: u32) -> (Vec<u8>, Vec<u8>) {
    (format!("customer {number:06}").into_bytes(), format!("value {number}").into_bytes())
}

/// A value of three pages.
fn long_value() -> Vec<u8> {
    (0..9000u32).map(|at| if at % 32 == 0 { (at / 32) as u8 } else { 0 }).collect()
}

/// A catalog of three entries, one of them long, and a tree of several leaves: a load, insertions,
/// a second checkpoint over changed old pages, and two commits that are in the log alone: the first one of them
/// begins the second run of the log, behind the point of a checkpoint.
fn build() -> Vec<u8> {
    let disk = Disk::new(1);
    // Times in the file are no part of the format: they do not depend on how long anything takes.
    disk.latency(Latency { read_ns: 0, write_ns: 0, sync_ns: 0, meta_ns: 0 });
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options()).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let mut loader = tree.bulk_loader().await.unwrap();
        for number in (0..ROW_COUNT).filter(|n| n % 13 != 0) {
            let (key, value) = row(number);
            loader.push(&key, &value).await.unwrap();
        }
        loader.finish().await.unwrap();
        store.catalog().insert(b"", b"an empty key").await.unwrap();
        store.checkpoint().await.unwrap();
        for number in (0..ROW_COUNT).step_by(13) {
            let (key, value) = row(number);
            tree.insert(&key, &value).await.unwrap();
        }
        store.catalog().insert(b"customers", &[2, 0, 0, 0]).await.unwrap();
        store.catalog().insert(b"long", &long_value()).await.unwrap();
        store.checkpoint().await.unwrap();
        let id = store.catalog().id();
        let redo = |key, value| {
            let mut redo = Redo::default();
            redo.push(id, key, value);
            redo
        };
        // One that lets the file have a second run, and one that goes on there.
        store.log(redo(b"other", None)).await.unwrap();
        for changes in [Redo::default(), redo(b"first".as_slice(), Some(b"logged".as_slice()))] {
            let turn = store.checkpoint_turn().await;
            store.prepare_checkpoint(&turn).await.unwrap();
            let begun = store.begin_checkpoint(turn, Redo::default(), changes).await;
            begun.unwrap().ended().await.unwrap();
            store.settled().await.unwrap();
        }
        store.log(redo(b"other", None)).await.unwrap();
    });
    let mut bytes = disk.contents(PATH).expect("the store has been made");
    // Behind the last page there may be space for growth: how much is no part of the format.
    let page_count = u32::from_le_bytes(bytes[32..36].try_into().expect("four bytes"));
    bytes.truncate(page_count as usize * 4096);
    bytes
}

fn dump(bytes: &[u8]) -> String {
    let mut text = format!("{:08x}\n", bytes.len());
    for (at, line) in bytes.chunks(32).enumerate() {
        if line.iter().any(|byte| *byte != 0) {
            write!(text, "{:08x} ", at * 32).expect("writing to a string");
            line.iter().for_each(|byte| write!(text, "{byte:02x}").expect("writing to a string"));
            text.push('\n');
        }
    }
    text
}

fn restore(text: &str) -> Vec<u8> {
    let number = |hex: &str| usize::from_str_radix(hex, 16).expect("a hexadecimal number");
    let mut lines = text.lines();
    let mut bytes = vec![0; number(lines.next().expect("the length comes first"))];
    for line in lines {
        let (at, hex) = line.split_once(' ').expect("offset and bytes");
        for (index, pair) in hex.as_bytes().chunks(2).enumerate() {
            let pair = std::str::from_utf8(pair).expect("the dump is ASCII");
            bytes[number(at) + index] = number(pair) as u8;
        }
    }
    bytes
}

async fn write_file(path: &Path, bytes: &[u8]) {
    let options = OpenOptions { write: true, create: true, ..OpenOptions::default() };
    let file = File::open(path, options).await.unwrap();
    file.set_len(0).await.unwrap();
    file.write_all_at(IoBuf::copy_of(bytes), 0).await.0.unwrap();
}

#[test]
fn what_is_written_has_not_changed() {
    let found = dump(&build());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let config = Config { workers: 1, ring: RingChoice::Threads, ..Config::default() };
        let runtime = Runtime::start(config).unwrap();
        let text = found.clone();
        runtime.block_on(move || async move {
            write_file(GOLDEN_PATH.as_ref(), text.as_bytes()).await;
        });
        return;
    }
    let differs = GOLDEN.lines().zip(found.lines()).find(|(golden, found)| golden != found);
    assert_eq!(differs, None, "the format has changed");
    assert_eq!(GOLDEN.lines().count(), found.lines().count(), "the format has changed");
}

#[test]
fn what_was_once_written_is_read() {
    GOLDENS.into_iter().for_each(|(golden, entries)| check(golden, entries));
}

#[test]
fn files_of_each_version_are_converted() {
    for (golden, entries) in GOLDENS {
        let disk = Disk::new(3);
        simulated(&disk, move || async move {
            write_file(PATH.as_ref(), &restore(golden)).await;
            let options = StoreOptions { layout: Layout::out_of_place(), ..options() };
            Store::convert(PATH.as_ref(), options).await.unwrap();
        });
        assert_eq!(disk.contents(PATH).expect("the file")[8], 6);
        check_on(&disk, entries);
    }
}

fn check(golden: &'static str, entries: u64) {
    let disk = Disk::new(2);
    simulated(&disk, move || async move {
        write_file(PATH.as_ref(), &restore(golden)).await;
    });
    check_on(&disk, entries);
}

fn check_on(disk: &Disk, entries: u64) {
    simulated(disk, move || async move {
        let store = Store::open(PATH.as_ref(), options()).await.unwrap();
        let report = store.verify().await.unwrap();
        assert_eq!(report.trees.iter().map(|(_, tree)| tree.entries).sum::<u64>(), entries);
        let io = IoCounters::default();
        let id = store.catalog().get(b"customers", &io, <[u8]>::to_vec).await.unwrap().unwrap();
        let id = storage::TreeId(u32::from_le_bytes(id.try_into().unwrap()));
        let tree = store.tree(id).unwrap();
        for number in 0..ROW_COUNT {
            let (key, value) = row(number);
            let found = tree.get(&key, &io, <[u8]>::to_vec).await.unwrap();
            assert_eq!(found, Some(value), "row {number}");
        }
        // A file of an older format becomes one of the newest with the first checkpoint.
        let long = store.catalog().get(b"long", &io, <[u8]>::to_vec).await.unwrap();
        assert_eq!(long.is_some(), entries > 262);
        let logged = store.catalog().get(b"first", &io, <[u8]>::to_vec).await.unwrap();
        assert_eq!(logged.as_deref(), (entries > 263).then_some(&b"logged"[..]));
        store.catalog().insert(b"long", &long_value()).await.unwrap();
        store.checkpoint().await.unwrap();
        store.close().await;
        drop(tree);
        let store = Store::open(PATH.as_ref(), options()).await.unwrap();
        store.verify().await.unwrap();
        let long = store.catalog().get(b"long", &io, <[u8]>::to_vec).await.unwrap();
        assert_eq!(long, Some(long_value()));
    });
}
