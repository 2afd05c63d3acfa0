//! Refusals with their reasons, and the ends of the device.

use std::io::ErrorKind;
use std::path::PathBuf;

use runtime::fs::{File, OpenOptions};
use runtime::{Config, IoBuf, RingChoice, Runtime};

use crate::device::{Device, WRITABLE, polls_commands, with_device};

#[test]
fn what_is_not_whole_blocks_is_refused() {
    with_device(|way, device| {
        way.start().block_on(move || async move {
            let (generic, _) = device.open_both(way).await;
            let whole = format!("whole blocks of {} bytes", device.block_bytes());
            for (offset, len) in [(100, 4096), (0, 100), (4096, 4095)] {
                let (read, buf) = generic.read_at(IoBuf::alloc(len), offset).await;
                let error = read.unwrap_err();
                assert_eq!((error.kind(), buf.len()), (ErrorKind::InvalidInput, len));
                assert!(error.to_string().contains(&whole), "{error}");
                let (written, _) = generic.write_at(buf, offset).await;
                assert_eq!(written.unwrap_err().kind(), ErrorKind::InvalidInput);
            }
            let pieces = (0..2).map(|_| IoBuf::alloc(device.block_bytes() / 2)).collect();
            let (read, _) = generic.read_vectored_at(pieces, 0).await;
            assert!(read.unwrap_err().to_string().contains("pieces of whole blocks"));
            assert_eq!(generic.read_at(IoBuf::alloc(0), 0).await.0.unwrap(), 0);
        });
    });
}

#[test]
fn the_end_of_the_device_is_the_end_of_the_file() {
    with_device(|way, device| {
        way.start().block_on(move || async move {
            let (generic, _) = device.open_both(way).await;
            let (end, block) = (generic.len().await.unwrap(), device.block_bytes());
            let (last, len) = (end - block as u64, 2 * block);
            assert_eq!(generic.read_at(IoBuf::alloc(len), last).await.0.unwrap(), block);
            assert_eq!(generic.read_at(IoBuf::alloc(4096), end).await.0.unwrap(), 0);
            let (read, _) = generic.read_exact_at(IoBuf::alloc(len), last).await;
            assert_eq!(read.unwrap_err().kind(), ErrorKind::UnexpectedEof);
            let (written, _) = generic.write_all_at(IoBuf::alloc(len), last).await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::StorageFull);
            assert_eq!(generic.set_len(end).await.unwrap_err().kind(), ErrorKind::Unsupported);
            assert_eq!(generic.allocate(end, 1).await.unwrap_err().kind(), ErrorKind::Unsupported);
            generic.allocate(0, end).await.unwrap();
            assert!(!generic.give_back(0, 4096).await.unwrap(), "it keeps its space");
        });
    });
}

#[test]
fn who_writes_holds_the_device() {
    with_device(|way, device| {
        let (runtime, again) = (way.start(), device.clone());
        runtime.block_on(move || async move {
            let (generic, block) = device.open_both(way).await;
            let again = File::open(&device.generic, WRITABLE).await.unwrap_err();
            assert_eq!(again.kind(), ErrorKind::ResourceBusy, "{again}");
            assert!(again.to_string().contains("is in use"), "{again}");
            let read = OpenOptions { write: false, ..WRITABLE };
            drop(File::open(&device.generic, read).await.unwrap());
            drop((generic, block));
        });
        // The ring that had registered the file has forgotten it.
        runtime.block_on(move || async move {
            drop(again.open_both(way).await);
        });
    });
}

#[test]
fn a_mounted_device_is_not_written() {
    let Some(device) = Device::named("DOVETAIL_NVME_MOUNTED") else { return };
    let config = Config { workers: 1, passthrough: true, ..Config::default() };
    let error = Runtime::start(config)
        .unwrap()
        .block_on(move || async move { File::open(&device.generic, WRITABLE).await.unwrap_err() });
    assert_eq!(error.kind(), ErrorKind::ResourceBusy, "{error}");
}

#[test]
fn without_passthrough_the_device_is_not_opened() {
    let device = Device::of_environment();
    for ring in [RingChoice::Uring, RingChoice::Threads] {
        let config = Config { workers: 1, ring, ..Config::default() };
        let generic = device.generic.clone();
        let read = OpenOptions { read: true, ..OpenOptions::default() };
        let opened = Runtime::start(config)
            .unwrap()
            .block_on(move || async move { File::open(&generic, read).await.map(drop) });
        let error = opened.unwrap_err();
        assert!(error.to_string().contains("with passthrough only"), "{error}");
    }
}

#[test]
fn a_device_without_queues_for_polling_is_not_polled() {
    let device = Device::of_environment();
    if device.polls() {
        return;
    }
    let config = Config { workers: 1, passthrough: true, iopoll: true, ..Config::default() };
    let runtime = Runtime::start(config).unwrap();
    for path in [device.generic, device.block] {
        let error = refused(&runtime, path);
        assert!(error.contains("no queues for polling"), "{error}");
    }
}

#[test]
fn a_kernel_that_polls_for_memory_is_not_asked_to_poll_for_commands() {
    let device = Device::of_environment();
    if !device.polls() || polls_commands() {
        return;
    }
    let config = Config { workers: 1, passthrough: true, iopoll: true, ..Config::default() };
    let error = refused(&Runtime::start(config).unwrap(), device.generic);
    assert!(error.contains("with passthrough that takes Linux 6.5"), "{error}");
}

/// Why a device is not opened for reading.
fn refused(runtime: &Runtime, path: PathBuf) -> String {
    let opened = runtime.block_on(move || async move {
        File::open(path, OpenOptions { write: false, ..WRITABLE }).await.map(drop)
    });
    opened.unwrap_err().to_string()
}

#[test]
fn a_failure_of_the_device_is_told() {
    let Some(device) = Device::named("DOVETAIL_NVME_BROKEN") else { return };
    let config = Config { workers: 1, passthrough: true, ..Config::default() };
    Runtime::start(config).unwrap().block_on(move || async move {
        let read = OpenOptions { write: false, ..WRITABLE };
        let file = File::open(&device.generic, read).await.unwrap();
        // Its second MiB begins with a block that cannot be read.
        file.read_exact_at(IoBuf::alloc(4096), 0).await.0.unwrap();
        let (result, buf) = file.read_at(IoBuf::alloc(4096), 1 << 20).await;
        let error = result.unwrap_err().to_string();
        assert!(error.contains("NVMe status 0x281: unrecovered read error"), "{error}");
        assert_eq!(buf.len(), 4096, "the buffer comes back");
        println!("{}: {error}", device.generic.display());
    });
}
