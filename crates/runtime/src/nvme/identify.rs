//! The answers of a controller and of the system about a namespace.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use super::command::{Command, Data, FOR_CONTROLLER};
use super::namespace::{Limits, Namespace};
use super::status;
use crate::buf::IoBuf;
use crate::fs::descriptor::retry;

/// Bytes of what a controller answers.
const ANSWER_BYTES: usize = 4096;
/// The call that tells a namespace's number (`NVME_IOCTL_ID`).
const NUMBER: libc::c_ulong = 0x4e40;

/// The namespace of an open generic device, whose block device the system shows in `block`.
pub(super) fn namespace(fd: &OwnedFd, block: &Path) -> io::Result<Namespace> {
    // SAFETY: this call takes no argument.
    let id = retry(|| unsafe { libc::ioctl(fd.as_raw_fd(), NUMBER) } as isize)?;
    let answer = ask(fd, id as u32)?;
    let (block_count, block_bytes) = format_of(answer.as_slice())?;
    let limits = limits(block)?;
    Ok(Namespace { id: id as u32, block_bytes, block_count, limits, claim: None })
}

/// Asks the controller for the structure that identifies a namespace.
fn ask(fd: &OwnedFd, id: u32) -> io::Result<IoBuf> {
    let answer = IoBuf::alloc(ANSWER_BYTES);
    let data = Data::at(answer.as_ptr(), ANSWER_BYTES);
    let mut command = Command::identify(id, data).encode();
    let (call, place) = (libc::c_ulong::from(FOR_CONTROLLER), command.as_mut_ptr());
    // SAFETY: the command has at least the 72 bytes of the kernel's structure; the buffer that it
    // names has the 4096 bytes of the answer and lives until the call returns.
    let ended = retry(|| unsafe { libc::ioctl(fd.as_raw_fd(), call, place) } as isize)?;
    match ended {
        0 => Ok(answer),
        failed => Err(status::error(failed as u16)),
    }
}

/// The number of a namespace's blocks and their bytes, from the structure that identifies it.
///
/// # Errors
/// For a namespace that no plain read or write suits.
pub(super) fn format_of(answer: &[u8]) -> io::Result<(u64, u32)> {
    let unfit = |why: String| Err(io::Error::new(io::ErrorKind::Unsupported, why));
    let count = u64::from_le_bytes(answer[..8].try_into().expect("eight bytes"));
    // The low bits of the format's number, and two high ones.
    let format = usize::from(answer[26] & 0xf) | usize::from(answer[26] >> 5 & 3) << 4;
    let [low, high, shift, _] = answer[128 + 4 * format..][..4] else { unreachable!("four bytes") };
    let metadata = u16::from_le_bytes([low, high]);
    if count == 0 {
        return unfit("the namespace has no blocks".to_owned());
    }
    if metadata != 0 {
        return unfit(format!(
            "the namespace is formatted with {metadata} bytes beside each block"
        ));
    }
    if !(9..=16).contains(&shift) {
        return unfit(format!("the namespace has blocks of 2^{shift} bytes"));
    }
    Ok((count, 1 << shift))
}

/// The limits of the block device's queue, which the kernel also applies to commands.
fn limits(block: &Path) -> io::Result<Limits> {
    let number = |name: &str| {
        let path = block.join("queue").join(name);
        let text = std::fs::read_to_string(&path);
        text.ok().and_then(|text| text.trim().parse::<u64>().ok()).ok_or_else(|| {
            let message = format!("the system does not tell {}", path.display());
            io::Error::new(io::ErrorKind::Unsupported, message)
        })
    };
    let bytes = number("max_hw_sectors_kb")?.saturating_mul(1024);
    Ok(Limits { bytes, segments: number("max_segments")? })
}
