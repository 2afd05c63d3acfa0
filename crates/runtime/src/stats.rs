//! What each worker counts of itself, readable by any thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters of one worker; only the worker writes them.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) polls: AtomicU64,
    pub(crate) spawned: AtomicU64,
    pub(crate) finished: AtomicU64,
    pub(crate) panicked: AtomicU64,
    pub(crate) ops: AtomicU64,
    pub(crate) enters: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) write_bytes: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) sleeps: AtomicU64,
    pub(crate) migrated: AtomicU64,
    pub(crate) registered_files: AtomicU64,
    pub(crate) registered_buffers: AtomicU64,
    pub(crate) registrations_refused: AtomicU64,
    pub(crate) lent_sends: AtomicU64,
    pub(crate) copied_sends: AtomicU64,
    pub(crate) zero_copy_refused: AtomicU64,
    pub(crate) multishot_parts: AtomicU64,
    pub(crate) buffers_exhausted: AtomicU64,
    pub(crate) ring_messages: AtomicU64,
    pub(crate) busy_ns: AtomicU64,
    pub(crate) idle_ns: AtomicU64,
    live_tasks: AtomicU64,
    frame_bytes: AtomicU64,
    inflight: AtomicU64,
    pool_threads: AtomicU64,
}

/// Adds to a counter of the current worker.
#[inline]
pub(crate) fn bump(counter: &AtomicU64, n: u64) {
    add(counter, n);
}

impl Counters {
    pub(crate) fn gauges(&self, tasks: usize, bytes: usize, inflight: u32, pool: usize) {
        self.live_tasks.store(tasks as u64, Relaxed);
        self.frame_bytes.store(bytes as u64, Relaxed);
        self.inflight.store(u64::from(inflight), Relaxed);
        self.pool_threads.store(pool as u64, Relaxed);
    }

    pub(crate) fn read(&self) -> WorkerStats {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        WorkerStats {
            poll_count: get(&self.polls),
            spawn_count: get(&self.spawned),
            finish_count: get(&self.finished),
            panic_count: get(&self.panicked),
            op_count: get(&self.ops),
            enter_count: get(&self.enters),
            write_count: get(&self.writes),
            write_bytes: get(&self.write_bytes),
            sync_count: get(&self.syncs),
            sleep_count: get(&self.sleeps),
            migrated_count: get(&self.migrated),
            registered_file_count: get(&self.registered_files),
            registered_buffer_count: get(&self.registered_buffers),
            registration_refused_count: get(&self.registrations_refused),
            lent_send_count: get(&self.lent_sends),
            copied_send_count: get(&self.copied_sends),
            lending_refused_count: get(&self.zero_copy_refused),
            multishot_part_count: get(&self.multishot_parts),
            exhausted_count: get(&self.buffers_exhausted),
            ring_message_count: get(&self.ring_messages),
            busy_ns: get(&self.busy_ns),
            idle_ns: get(&self.idle_ns),
            live_task_count: get(&self.live_tasks),
            frame_bytes: get(&self.frame_bytes),
            inflight_count: get(&self.inflight),
            pool_thread_count: get(&self.pool_threads),
        }
    }
}

/// What a worker has done since its start. The last four are gauges of the latest slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerStats {
    /// Polls of tasks.
    pub poll_count: u64,
    /// Tasks spawned.
    pub spawn_count: u64,
    /// Tasks finished, aborted or panicked.
    pub finish_count: u64,
    /// Tasks that panicked.
    pub panic_count: u64,
    /// Operations handed to the ring or the pool.
    pub op_count: u64,
    /// System calls into the ring.
    pub enter_count: u64,
    /// Writes to files completed.
    pub write_count: u64,
    /// Bytes that they wrote.
    pub write_bytes: u64,
    /// Times that files were made durable: syncs completed, and writes that are durable when they end.
    pub sync_count: u64,
    /// Times that the worker slept in the kernel.
    pub sleep_count: u64,
    /// Tasks that it took over before they started.
    pub migrated_count: u64,
    /// Transfers that named their file by its place in the ring's table.
    pub registered_file_count: u64,
    /// Transfers into or out of registered memory.
    pub registered_buffer_count: u64,
    /// Files and arenas that the system would not register (the limit of locked memory); their
    /// transfers go the ordinary way.
    pub registration_refused_count: u64,
    /// Sends whose memory was lent to the kernel and is free again.
    pub lent_send_count: u64,
    /// Of these, those of which the kernel says that it has copied the bytes all the same.
    pub copied_send_count: u64,
    /// Sends whose memory the kernel would not borrow; it was copied.
    pub lending_refused_count: u64,
    /// Completions of receives that went on.
    pub multishot_part_count: u64,
    /// Times that a receiver found no free buffer in its pool.
    pub exhausted_count: u64,
    /// Messages by which its ring woke other workers.
    pub ring_message_count: u64,
    /// Nanoseconds spent polling tasks.
    pub busy_ns: u64,
    /// Nanoseconds asleep.
    pub idle_ns: u64,
    /// Tasks alive.
    pub live_task_count: u64,
    /// Bytes of their frames.
    pub frame_bytes: u64,
    /// Operations in flight.
    pub inflight_count: u64,
    /// Threads of the pool for what blocks.
    pub pool_thread_count: u64,
}

/// Adds to a counter with a single writer: no locked instruction.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Subtracts from a counter with a single writer.
pub(crate) fn subtract(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_sub(n), Relaxed);
}
