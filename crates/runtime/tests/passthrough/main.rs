//! Passthrough and IOPOLL on an NVMe device, which the environment names, and whose contents are
//! overwritten: `tests/device/passthrough.py` has one emulated in a virtual machine. `cargo test`
//! does not run this by itself.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

mod device;
mod durable;
mod edges;
mod polled;
mod reads;
mod rungs;

use device::{Device, pattern, with_device};
use runtime::IoBuf;
use runtime::fs::File;

/// Bytes of transfers beside a block: a page, a command, and several commands.
const SIZES: [usize; 4] = [4096, 64 << 10, 1 << 20, 3 << 20];

#[test]
fn passthrough_and_the_block_device_see_the_same_bytes() {
    with_device(|way, device| {
        let runtime = way.start();
        runtime.block_on(move || async move {
            let (generic, block) = device.open_both(way).await;
            let block_bytes = device.block_bytes();
            let odd = [block_bytes, (3 << 20) + 3 * block_bytes];
            for (i, len) in SIZES.into_iter().chain(odd).enumerate() {
                let offset = (i << 24 | block_bytes) as u64;
                crossed(&generic, &block, offset, len, i as u8).await;
                crossed(&block, &generic, offset, len, i as u8 + 100).await;
            }
        });
        println!("{}: {} sizes both ways", way.name, SIZES.len() + 2);
    });
}

/// Writes by one file and reads by the other.
async fn crossed(from: &File, to: &File, offset: u64, len: usize, seed: u8) {
    let (written, buf) = from.write_all_at(pattern(len, seed), offset).await;
    written.unwrap();
    let (read, back) = to.read_exact_at(IoBuf::alloc(len), offset).await;
    read.unwrap();
    assert!(buf.as_slice() == back.as_slice(), "{len} bytes at {offset}, {from:?} to {to:?}");
}

#[test]
fn several_buffers_are_one_command_or_more() {
    with_device(|way, device| {
        let runtime = way.start();
        runtime.block_on(move || async move {
            let (generic, block) = device.open_both(way).await;
            for (count, len) in [(3, device.block_bytes()), (16, 4096), (200, 4096), (5, 1 << 20)] {
                let offset = 64 << 20;
                let bufs = (0..count).map(|i| pattern(len, i as u8)).collect();
                generic.write_vectored_all_at(bufs, offset).await.0.unwrap();
                let bufs = (0..count).map(|_| IoBuf::alloc(len)).collect();
                let (read, bufs) = generic.read_vectored_exact_at(bufs, offset).await;
                read.unwrap();
                let (whole, beside) = block.read_exact_at(IoBuf::alloc(count * len), offset).await;
                whole.unwrap();
                let together: Vec<u8> =
                    bufs.iter().flat_map(|buf| buf.as_slice()).copied().collect();
                assert!(together == beside.as_slice(), "{count} pieces of {len} bytes");
                assert!(
                    bufs.iter()
                        .enumerate()
                        .all(|(i, buf)| { buf.as_slice() == pattern(len, i as u8).as_slice() })
                );
            }
        });
    });
}

#[test]
fn the_length_is_that_of_the_device() {
    with_device(|way, device| {
        let sectors = std::fs::read_to_string(format!("/sys/class/block/{}/size", device.name()));
        let bytes = sectors.unwrap().trim().parse::<u64>().unwrap() * 512;
        let runtime = way.start();
        let lens = runtime.block_on(move || async move {
            let (generic, block) = device.open_both(way).await;
            (generic.len().await.unwrap(), block.len().await.unwrap())
        });
        assert_eq!(lens, (bytes, bytes));
    });
}

#[test]
fn the_system_tells_of_passthrough() {
    let device = Device::of_environment();
    let queue = runtime::probe::queue(&device.block).unwrap().unwrap();
    assert_eq!(queue.passthrough, Some(device.generic.clone()));
    let report = runtime::probe::file(&device.generic).unwrap();
    assert!(report.backend.passthrough, "{:?}", report.backend);
    println!("{}: {}", device.generic.display(), report.backend.reason);
}
