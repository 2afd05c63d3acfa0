//! Making pools, and taking them back: what the worker has to do with them.

use std::io;
use std::rc::Rc;

use super::pool::{BufferPool, Pool, PoolOptions, Way};
use crate::ring::provided::{PROVIDED_COUNT_MAX, Provided};
use crate::stats::bump;
use crate::worker;

impl BufferPool {
    /// A pool for receivers of the current worker.
    ///
    /// # Errors
    /// `InvalidInput` when a number is out of its range; what the kernel says of memory that it is
    /// to hand out.
    pub fn new(options: PoolOptions) -> io::Result<BufferPool> {
        let PoolOptions { count, bytes, message_bytes } = options;
        let total = count.checked_mul(bytes).filter(|total| *total <= isize::MAX as usize);
        let is_whole = (1..=PROVIDED_COUNT_MAX).contains(&count) && bytes > 0;
        if !is_whole || total.is_none() || u32::try_from(bytes).is_err() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a pool has 1 to {PROVIDED_COUNT_MAX} buffers of 1 byte to 4 GiB each"),
            ));
        }
        let provided = Rc::new(Provided::new(count, bytes));
        let (worker, way) = worker::with(|w| {
            let tuning = w.shared.sockets;
            let mut ring = w.ring.borrow_mut();
            let (shoots, is_uring) = (tuning.shoots(message_bytes), ring.is_uring());
            let group = if shoots { ring.provide(&provided)? } else { None };
            let way = match group {
                Some((group, can_bundle)) => {
                    Way::Kernel { group, bundles: tuning.bundles && can_bundle }
                }
                None if is_uring || !shoots => Way::Named,
                None => Way::Worker { bundles: tuning.bundles },
            };
            io::Result::Ok((w.id, way))
        })?;
        Ok(BufferPool(Rc::new(Pool::new((provided, count), worker, way, withdraw))))
    }
}

/// No operation is in flight that takes from the group: each holds the pool. Without its worker the
/// ring is closed, or will be, and frees the memory then.
fn withdraw(worker: u32, group: u16) {
    worker::try_with(|w| {
        if w.id == worker {
            w.ring.borrow_mut().withdraw(group);
        }
    });
}

/// Counts that a receiver found no free buffer.
pub(super) fn note_exhausted() {
    worker::try_with(|w| bump(&w.counters().buffers_exhausted, 1));
}
