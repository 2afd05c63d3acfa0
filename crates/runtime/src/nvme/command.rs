//! Commands as the kernel takes them (`struct nvme_uring_cmd` in `linux/nvme_ioctl.h`), by the NVM
//! Command Set Specification.

use super::namespace::Namespace;

/// Numbers of the kernel's calls: `_IOWR('N', n, 72 bytes)`.
const fn call(number: u32) -> u32 {
    3 << 30 | (COMMAND_BYTES as u32) << 16 | (b'N' as u32) << 8 | number
}

/// Bytes of `struct nvme_uring_cmd`.
const COMMAND_BYTES: usize = 72;
/// Bytes that an entry of 128 bytes has for a command.
pub(crate) const ENTRY_BYTES: usize = 80;
/// A command with its data in one piece (`NVME_URING_CMD_IO`).
pub(crate) const WITH_BUFFER: u32 = call(0x80);
/// A command with its data in several pieces (`NVME_URING_CMD_IO_VEC`).
pub(crate) const WITH_SPANS: u32 = call(0x81);
/// A command for the controller (`NVME_IOCTL_ADMIN_CMD`), whose structure has the same fields.
pub(crate) const FOR_CONTROLLER: u32 = call(0x41);

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const IDENTIFY: u8 = 0x06;

/// In the twelfth word of a write: it is durable when it has ended (force unit access).
const FORCE_UNIT_ACCESS: u32 = 1 << 30;

/// Where the data of a command are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Data {
    /// The address of the bytes, or of the list of pieces.
    pub(crate) address: u64,
    /// So many bytes, or pieces.
    pub(crate) count: u32,
}

impl Data {
    /// At this place, which the kernel will use.
    pub(crate) fn at<T>(place: *const T, count: usize) -> Data {
        let count = u32::try_from(count).expect("a command moves less than 4 GiB");
        Data { address: place.expose_provenance() as u64, count }
    }
}

/// A command for a namespace or a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    opcode: u8,
    namespace: u32,
    data: Data,
    /// The command's own words 10, 11 and 12.
    words: [u32; 3],
}

impl Command {
    /// Reads `bytes` bytes from `offset` on; both are multiples of the namespace's blocks.
    pub(crate) fn read(namespace: &Namespace, offset: u64, bytes: usize, data: Data) -> Command {
        let words = extent(namespace, offset, bytes);
        Command { opcode: READ, namespace: namespace.id, data, words }
    }

    /// Writes; with `is_durable` past the cache of the device.
    pub(crate) fn write(
        namespace: &Namespace,
        offset: u64,
        bytes: usize,
        data: Data,
        is_durable: bool,
    ) -> Command {
        let mut words = extent(namespace, offset, bytes);
        words[2] |= if is_durable { FORCE_UNIT_ACCESS } else { 0 };
        Command { opcode: WRITE, namespace: namespace.id, data, words }
    }

    /// Makes durable what has been written.
    pub(crate) fn flush(namespace: &Namespace) -> Command {
        Command { opcode: FLUSH, namespace: namespace.id, ..Command::default() }
    }

    /// Asks the controller of a namespace what that is like.
    pub(super) fn identify(namespace: u32, data: Data) -> Command {
        Command { opcode: IDENTIFY, namespace, data, words: [0; 3] }
    }

    /// The bytes for a submission entry. The rest of `struct nvme_uring_cmd` is zero: no metadata,
    /// and the kernel's own time limit.
    pub(crate) fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[0] = self.opcode;
        put(&mut bytes, 4, self.namespace);
        bytes[24..32].copy_from_slice(&self.data.address.to_ne_bytes());
        put(&mut bytes, 36, self.data.count);
        for (i, word) in self.words.into_iter().enumerate() {
            put(&mut bytes, 40 + 4 * i, word);
        }
        bytes
    }
}

fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
}

/// The words that say which blocks: the first of them, and one less than their number.
fn extent(namespace: &Namespace, offset: u64, bytes: usize) -> [u32; 3] {
    let block = u64::from(namespace.block_bytes);
    let (first, count) = (offset / block, bytes as u64 / block);
    assert!(offset.is_multiple_of(block), "a command begins with a block");
    assert!((1..=1 << 16).contains(&count), "a command moves 1 to 65536 blocks");
    [first as u32, (first >> 32) as u32, count as u32 - 1]
}
