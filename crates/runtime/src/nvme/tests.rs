//! Commands, limits and answers, without a device.

use std::io::ErrorKind;

use super::command::{Command, Data, FOR_CONTROLLER, WITH_BUFFER, WITH_SPANS};
use super::generic::block_name;
use super::identify::format_of;
use super::namespace::{Limits, Namespace};
use super::status;

/// A namespace of 2^33 blocks, of which one command moves 64 KiB.
fn namespace(block_bytes: u32) -> Namespace {
    let limits = Limits { bytes: 64 << 10, segments: 127 };
    Namespace { id: 7, block_bytes, block_count: 1 << 33, limits, claim: None }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn calls_have_the_numbers_of_the_kernel() {
    // As linux/nvme_ioctl.h has them, computed by a C compiler.
    assert_eq!((WITH_BUFFER, WITH_SPANS), (0xc048_4e80, 0xc048_4e81));
    assert_eq!(FOR_CONTROLLER, 0xc048_4e41);
}

#[test]
fn a_read_names_its_blocks_and_its_memory() {
    let data = Data { address: 0x1122_3344_5566_7788, count: 8192 };
    let bytes = Command::read(&namespace(512), (1 << 41) + 1024, 8192, data).encode();
    assert_eq!((bytes[0], word(&bytes, 4)), (2, 7));
    assert_eq!(bytes[24..32], data.address.to_ne_bytes());
    assert_eq!(word(&bytes, 36), 8192);
    // Block 2^32 + 2, and 16 blocks, of which the command names one less.
    assert_eq!((word(&bytes, 40), word(&bytes, 44), word(&bytes, 48)), (2, 1, 15));
    let used = [0, 4, 24, 25, 26, 27, 28, 29, 30, 31, 37, 40, 44, 48];
    assert!((0..80).all(|at| used.contains(&at) || bytes[at] == 0), "all else is zero: {bytes:?}");
}

#[test]
fn writes_may_be_forced_and_a_flush_has_no_data() {
    let (of, data) = (namespace(4096), Data { address: 4096, count: 4096 });
    let plain = Command::write(&of, 8192, 4096, data, false).encode();
    assert_eq!((plain[0], word(&plain, 40), word(&plain, 48)), (1, 2, 0));
    let forced = Command::write(&of, 8192, 4096, data, true).encode();
    assert_eq!(word(&forced, 48), 1 << 30);
    let flush = Command::flush(&of).encode();
    assert_eq!((flush[0], word(&flush, 4)), (0, 7));
    assert!(flush[8..].iter().all(|byte| *byte == 0));
}

#[test]
fn transfers_are_split_at_the_limits_and_end_with_the_device() {
    let of = namespace(512);
    assert_eq!(of.part(0, 4096, false).unwrap(), 4096);
    assert_eq!(of.part(512, 1 << 20, true).unwrap(), 64 << 10);
    let end = of.bytes();
    assert_eq!(end, 1 << 42);
    assert_eq!(of.part(end - 1024, 4096, true).unwrap(), 1024);
    assert_eq!(of.part(end, 4096, false).unwrap(), 0);
    assert_eq!(of.part(end, 4096, true).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(of.part(end, 0, true).unwrap(), 0);
    // The pieces of memory may allow less than the bytes do, and a command names 65536 blocks.
    let limits =
        |bytes, segments| Namespace { limits: Limits { bytes, segments }, ..namespace(512) };
    assert_eq!(limits(8 << 20, 127).command_bytes_max(), 126 * 4096);
    assert_eq!(limits(1 << 30, 1 << 20).command_bytes_max(), 32 << 20);
    assert_eq!(limits(65_700, 127).command_bytes_max(), 65_536, "whole blocks");
    assert_eq!(limits(8 << 20, 1).command_bytes_max(), 512, "a block at least");
}

#[test]
fn what_is_not_whole_blocks_is_refused_with_the_size_of_a_block() {
    for (offset, len) in [(100, 4096), (0, 4095), (512, 4096), (4096, 512)] {
        let error = namespace(4096).part(offset, len, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("whole blocks of 4096 bytes"), "{error}");
    }
}

#[test]
fn lists_of_memory_are_cut_to_what_a_command_takes() {
    let spans = |lens: &[usize]| -> Vec<libc::iovec> {
        let span = |len: &usize| libc::iovec { iov_base: std::ptr::null_mut(), iov_len: *len };
        lens.iter().map(span).collect()
    };
    let lens = |spans: &[libc::iovec]| spans.iter().map(|span| span.iov_len).collect::<Vec<_>>();
    for (given, bytes, moved, kept) in [
        (&[4096, 4096][..], 8192, 8192, &[4096, 4096][..]),
        (&[4096, 4096, 4096], 6144, 6144, &[4096, 2048]),
        (&[65_536, 512], 65_536, 65_536, &[65_536]),
    ] {
        let mut list = spans(given);
        assert_eq!(namespace(512).cut(&mut list, bytes), moved);
        assert_eq!(lens(&list), kept);
    }
    // Each piece may begin and end within pages: 63 of 4096 bytes are 126 pages.
    let mut list = spans(&[4096; 100]);
    let of = Namespace { limits: Limits { bytes: 1 << 20, segments: 127 }, ..namespace(512) };
    assert_eq!(of.cut(&mut list, 409_600), 63 * 4096);
    assert_eq!(list.len(), 63);
}

/// The structure that identifies a namespace with format `index`.
fn identified(blocks: u64, index: u8, metadata: u16, shift: u8) -> Vec<u8> {
    let mut answer = vec![0; 4096];
    answer[..8].copy_from_slice(&blocks.to_le_bytes());
    answer[26] = index & 0xf | (index >> 4) << 5;
    let at = 128 + 4 * usize::from(index);
    answer[at..at + 2].copy_from_slice(&metadata.to_le_bytes());
    answer[at + 2] = shift;
    answer
}

#[test]
fn formats_that_do_not_suit_are_refused() {
    assert_eq!(format_of(&identified(1000, 0, 0, 9)).unwrap(), (1000, 512));
    assert_eq!(format_of(&identified(77, 35, 0, 12)).unwrap(), (77, 4096));
    for (answer, why) in [
        (identified(0, 0, 0, 9), "no blocks"),
        (identified(1000, 1, 8, 9), "8 bytes beside each block"),
        (identified(1000, 0, 0, 3), "blocks of 2^3 bytes"),
    ] {
        let error = format_of(&answer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_status_is_an_error_with_its_meaning() {
    for (status, kind, text) in [
        (0x281, ErrorKind::Other, "NVMe status 0x281: unrecovered read error"),
        (
            0x4080,
            ErrorKind::InvalidInput,
            "NVMe status 0x080: block address out of range, not to be tried again",
        ),
        (
            0x020,
            ErrorKind::ReadOnlyFilesystem,
            "NVMe status 0x020: the namespace is write protected",
        ),
        (0x7c1, ErrorKind::Other, "NVMe status 0x7c1: no meaning known"),
    ] {
        let error = status::error(status);
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, text));
    }
}

#[test]
fn the_block_device_has_the_name_of_its_generic_device() {
    assert_eq!(block_name("ng0n1"), "nvme0n1");
    assert_eq!(block_name("ng12n3"), "nvme12n3");
}
