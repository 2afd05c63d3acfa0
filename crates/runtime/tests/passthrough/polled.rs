//! The block device past the page cache with IOPOLL, beside the same without.

use runtime::fs::File;
use runtime::{Config, IoBuf, RingChoice, Runtime, spawn};

use crate::SIZES;
use crate::device::{Device, WRITABLE, one_at_a_time, pattern};

const PLACE: u64 = 320 << 20;

fn started(iopoll: bool) -> Runtime {
    let config = Config { workers: 1, ring: RingChoice::Uring, iopoll, ..Config::default() };
    Runtime::start(config).unwrap()
}

/// Writes all sizes, or reads them again, each with its seed.
fn moved(device: &Device, iopoll: bool, is_write: bool) {
    let block = device.block.clone();
    started(iopoll).block_on(move || async move {
        let file = File::open(block, WRITABLE).await.unwrap();
        assert_eq!((file.backend().polled, file.backend().direct), (iopoll, true));
        for (i, len) in SIZES.into_iter().enumerate() {
            let (offset, expected) = (PLACE + (i << 24) as u64, pattern(len, i as u8));
            if is_write {
                file.write_all_at(expected, offset).await.0.unwrap();
                file.sync_data().await.unwrap();
                continue;
            }
            let (read, buf) = file.read_exact_at(IoBuf::alloc(len), offset).await;
            read.unwrap();
            assert!(buf.as_slice() == expected.as_slice(), "{len} bytes, polled: {iopoll}");
        }
        println!("{}: {}", file.path().display(), file.backend().reason);
    });
}

#[test]
fn a_polled_block_device_holds_what_was_written() {
    let device = Device::of_environment();
    if !device.polls() {
        return;
    }
    let _one = one_at_a_time();
    for is_polled in [true, false] {
        moved(&device, is_polled, true);
        moved(&device, !is_polled, false);
        moved(&device, is_polled, false);
    }
}

#[test]
fn polled_reads_of_all_lengths_are_in_flight_together() {
    let device = Device::of_environment();
    if !device.polls() {
        return;
    }
    let _one = one_at_a_time();
    started(true).block_on(move || async move {
        let file = File::open(&device.block, WRITABLE).await.unwrap();
        let read = |i: usize| {
            let (file, len) = (file.clone(), SIZES[i % SIZES.len()]);
            spawn(async move { file.read_exact_at(IoBuf::alloc(len), PLACE).await.0 })
        };
        for task in (0..64).map(read).collect::<Vec<_>>() {
            task.await.unwrap().unwrap();
        }
    });
}
