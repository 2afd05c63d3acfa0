//! How fast a member is: bytes that are read a second, by many requests at a time.

use std::sync::Arc;
use std::time::Duration;

use runtime::IoBuf;
use runtime::time::now;

use super::Geometry;
use super::member::{Member, write};
use super::transfers::stopped;
use crate::error::{Result, StorageError};

/// Bytes of a request, and requests at a time: what a scan has.
const READ_BYTES: usize = 64 << 10;
const READS_IN_FLIGHT: usize = 16;

/// Reads of the first extent, and when to stop even so.
const ROUNDS: u64 = 8;
const LIMIT: Duration = Duration::from_millis(250);

/// Bytes a second, at least 1, of a member on which nothing lies yet. Writes to its first extent.
///
/// # Errors
/// `Io`.
pub(super) async fn speed_of_new(member: &Arc<Member>, geometry: &Geometry) -> Result<u64> {
    let begin = geometry.offset(0);
    for at in (begin..begin + geometry.extent_bytes).step_by(READ_BYTES) {
        // Not zeros, which a device could leave out.
        let bytes: Vec<u8> = (0..READ_BYTES).map(|byte| (byte * 7 + byte / 251) as u8).collect();
        write(member, &bytes, at).await.map_err(failed)?;
    }
    member.sync().await.map_err(failed)?;
    speed_of(member, begin, geometry.extent_bytes).await
}

/// The same by the bytes that are there, some thousands at least.
pub(super) async fn speed_of(member: &Arc<Member>, begin: u64, len: u64) -> Result<u64> {
    let pieces: Vec<u64> = (begin..begin + len).step_by(READ_BYTES).collect();
    let (start, mut count) = (now(), 0u64);
    let read_max = pieces.len() as u64 * ROUNDS;
    while count < read_max && (count == 0 || start.elapsed() < LIMIT) {
        let read = |index: usize| {
            let (member, at) =
                (Arc::clone(member), pieces[(count as usize + index) % pieces.len()]);
            runtime::spawn(async move {
                member.file.read_exact_at(IoBuf::alloc(READ_BYTES), at).await.0
            })
        };
        let reads: Vec<_> = (0..READS_IN_FLIGHT).map(read).collect();
        for read in reads {
            read.await.unwrap_or_else(|_| Err(stopped())).map_err(failed)?;
            count += 1;
        }
    }
    let elapsed_ns = start.elapsed().as_nanos().max(1);
    let bytes = u128::from(count) * READ_BYTES as u128;
    Ok((bytes * 1_000_000_000 / elapsed_ns).max(1) as u64)
}

fn failed(error: std::io::Error) -> StorageError {
    StorageError::io("measure the speed of a member", &error)
}
