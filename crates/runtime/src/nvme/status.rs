//! The words of a controller about a command that failed (NVM Express Base Specification, "Status
//! Code").

use std::io::{self, ErrorKind};

/// Bits of the code and of its type; those above say whether to try again.
const CODE: u16 = 0x7ff;
/// The controller asks not to try again.
const DO_NOT_RETRY: u16 = 1 << 14;

/// Codes that a read, a write or a flush may end with.
const MEANINGS: [(u16, ErrorKind, &str); 19] = [
    (0x001, ErrorKind::Unsupported, "invalid command opcode"),
    (0x002, ErrorKind::InvalidInput, "invalid field in command"),
    (0x004, ErrorKind::Other, "data transfer error"),
    (0x005, ErrorKind::Other, "aborted by loss of power"),
    (0x006, ErrorKind::Other, "internal error"),
    (0x007, ErrorKind::Other, "command aborted by request"),
    (0x00b, ErrorKind::NotFound, "invalid namespace or format"),
    (0x020, ErrorKind::ReadOnlyFilesystem, "the namespace is write protected"),
    (0x080, ErrorKind::InvalidInput, "block address out of range"),
    (0x081, ErrorKind::StorageFull, "capacity exceeded"),
    (0x082, ErrorKind::Other, "namespace not ready"),
    (0x083, ErrorKind::ResourceBusy, "reservation conflict"),
    (0x182, ErrorKind::ReadOnlyFilesystem, "write to a range that is read only"),
    (0x280, ErrorKind::Other, "write fault"),
    (0x281, ErrorKind::Other, "unrecovered read error"),
    (0x282, ErrorKind::Other, "end-to-end guard check failed"),
    (0x286, ErrorKind::PermissionDenied, "access denied"),
    (0x287, ErrorKind::Other, "block deallocated or never written"),
    (0x371, ErrorKind::Other, "command aborted by the host"),
];

/// The error of a command that ended with this status, which is not zero.
pub(crate) fn error(status: u16) -> io::Error {
    let code = status & CODE;
    let found = MEANINGS.iter().find(|(number, ..)| *number == code);
    let (kind, meaning) = found.map_or((ErrorKind::Other, "no meaning known"), |of| (of.1, of.2));
    let again = if status & DO_NOT_RETRY == 0 { "" } else { ", not to be tried again" };
    io::Error::new(kind, format!("NVMe status {code:#05x}: {meaning}{again}"))
}
