//! Transfers of a namespace as far as no device is needed: what ends before it begins, what a
//! status becomes, and what a file says that takes no commands.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::Commands;
use crate::buf::IoBuf;
use crate::config::{Config, RingChoice};
use crate::fs::descriptor::open_fd;
use crate::fs::durability::Durability;
use crate::fs::file::File;
use crate::fs::options::FileBackend;
use crate::nvme::namespace::{Limits, Namespace};
use crate::probe;
use crate::ring::kind::RingKind;
use crate::runtime::Runtime;

const BYTES: u64 = 1 << 20;

/// A namespace that is none. `/dev/null` takes every command and does nothing (Linux 6.1),
/// `/dev/zero` takes none.
fn namespace_at(path: &str) -> File {
    let fd = open_fd(Path::new(path), libc::O_RDWR).expect("a device that all systems have");
    let backend = FileBackend {
        kind: RingKind::Uring,
        direct: true,
        polled: false,
        passthrough: true,
        reason: "a test".to_owned(),
    };
    let limits = Limits { bytes: 128 << 10, segments: 33 };
    let block_count = BYTES / 512;
    let namespace = Namespace { id: 1, block_bytes: 512, block_count, limits, claim: None };
    File::of_namespace(fd, namespace, Path::new(path), backend, false)
}

fn started() -> Option<Runtime> {
    if let Err(why) = probe::system().io_uring {
        eprintln!("skipped: {why}");
        return None;
    }
    let config =
        Config { ring: RingChoice::Uring, workers: 1, passthrough: true, ..Config::default() };
    Some(Runtime::start(config).expect("rings with large entries"))
}

#[test]
fn a_command_moves_all_of_its_bytes_or_none() {
    let mut commands = Commands::default();
    assert_eq!(commands.result(3, Ok(17)).unwrap(), 17, "no command: so many bytes");
    commands.note(3, Some(8192));
    assert_eq!(commands.result(3, Ok(0)).unwrap(), 8192);
    let failed = commands.result(3, Ok(0x4281)).unwrap_err().to_string();
    assert!(failed.contains("0x281: unrecovered read error"), "{failed}");
    let refused = commands.result(3, Err(io::Error::from_raw_os_error(libc::EACCES)));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(commands.result(2, Ok(0)).unwrap(), 0, "the slots before it are none");
    commands.note(3, None);
    assert_eq!(commands.result(3, Ok(17)).unwrap(), 17);
}

#[test]
fn what_cannot_be_asked_of_a_device_ends_before_it_begins() {
    let Some(runtime) = started() else { return };
    runtime.block_on(|| async {
        let file = namespace_at("/dev/zero");
        let (read, buf) = file.read_at(IoBuf::alloc(4096), 100).await;
        assert_eq!((read.unwrap_err().kind(), buf.len()), (ErrorKind::InvalidInput, 4096));
        let (written, _) = file.write_at(IoBuf::alloc(100), 0).await;
        assert_eq!(written.unwrap_err().kind(), ErrorKind::InvalidInput);
        let (read, _) = file.read_vectored_at(vec![IoBuf::alloc(256), IoBuf::alloc(256)], 0).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(file.read_at(IoBuf::alloc(4096), BYTES).await.0.unwrap(), 0);
        let (written, _) = file.write_at(IoBuf::alloc(4096), BYTES).await;
        assert_eq!(written.unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(file.len().await.unwrap(), BYTES);
        assert_eq!(file.set_len(BYTES).await.unwrap_err().kind(), ErrorKind::Unsupported);
    });
}

#[test]
fn transfers_are_split_and_go_on_until_they_are_whole() {
    let Some(runtime) = started() else { return };
    runtime.block_on(|| async {
        let file = namespace_at("/dev/null");
        let (read, _) = file.read_at(IoBuf::alloc(512), 0).await;
        if read.is_err_and(|error| error.kind() == ErrorKind::Unsupported) {
            return eprintln!("skipped: /dev/null takes no commands");
        }
        let moved = file.read_at(IoBuf::alloc(300 << 10), 0).await.0.unwrap();
        assert_eq!(moved, 128 << 10, "as much as one command moves");
        file.write_all_at(IoBuf::alloc(300 << 10), 512).await.0.unwrap();
        // Each of the pieces may end within a page.
        let pieces = || (0..50).map(|_| IoBuf::alloc(4096)).collect();
        let moved = file.read_vectored_at(pieces(), 0).await.0.unwrap();
        assert_eq!(moved, 16 * 4096);
        file.write_vectored_all_at(pieces(), 0).await.0.unwrap();
        for how in [Durability::Sync, Durability::Linked, Durability::Flag] {
            file.write_durable_at(IoBuf::alloc(300 << 10), 0, how).await.0.unwrap();
        }
        file.sync_data().await.unwrap();
    });
}

#[test]
fn a_file_that_takes_no_commands_says_so_and_the_buffer_comes_back() {
    let Some(runtime) = started() else { return };
    runtime.block_on(|| async {
        let file = namespace_at("/dev/zero");
        for len in [512, 4096, 256 << 10] {
            let (read, buf) = file.read_at(IoBuf::alloc(len), 0).await;
            assert_eq!(read.unwrap_err().kind(), ErrorKind::Unsupported);
            assert_eq!(buf.len(), len);
        }
        let pieces = (0..100).map(|_| IoBuf::alloc(4096)).collect();
        let (written, pieces) = file.write_vectored_all_at(pieces, 0).await;
        assert_eq!((written.unwrap_err().kind(), pieces.len()), (ErrorKind::Unsupported, 100));
        for how in [Durability::Linked, Durability::Flag] {
            let (written, _) = file.write_durable_at(IoBuf::alloc(4096), 0, how).await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::Unsupported, "{how}");
        }
        assert_eq!(file.sync_data().await.unwrap_err().kind(), ErrorKind::Unsupported);
        // Begun, and never awaited.
        drop(file.read_at(IoBuf::alloc(4096), 0));
    });
}
