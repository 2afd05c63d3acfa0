//! What a running query has done so far: counted, never estimated.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use runtime::IoCounters;

use crate::source::Skips;

/// Counters of one worker's tasks, on cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
struct Shard {
    created: AtomicU64,
    started: AtomicU64,
    suspended: AtomicU64,
    resumed: AtomicU64,
    done: AtomicU64,
}

/// Live figures of a plan node.
#[derive(Default)]
pub struct NodeFigures {
    /// Rows produced.
    pub rows: AtomicU64,
    /// Batches produced.
    pub batches: AtomicU64,
    /// Tasks made for this node: parts of a scan, batches of a look-up join.
    pub tasks: AtomicU64,
    /// Parts of a scan known so far.
    pub parts_known: AtomicU64,
    /// Parts of a scan worked on completely.
    pub parts_done: AtomicU64,
    /// Nanoseconds of CPU time spent in the node's own code.
    pub busy_ns: AtomicU64,
    /// The most bytes that it held at once.
    pub memory_max: AtomicU64,
    /// Bytes that it wrote to temporary files.
    pub spilled: AtomicU64,
    /// Requests to the device on behalf of the node.
    pub io: IoCounters,
    /// What a scan of chunks need not read.
    pub skips: Skips,
}

/// How long one partition of a static execution took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionTime {
    /// The node whose rows were split.
    pub node: usize,
    /// The partition, from 0, in the order of the source.
    pub partition: usize,
    /// The worker that ran it.
    pub worker: usize,
    /// Nanoseconds from its start to its end.
    pub elapsed_ns: u64,
}

/// Counters of one query; shared by all its tasks and those who watch it.
pub struct Progress {
    shards: Vec<Shard>,
    nodes: Vec<NodeFigures>,
    partitions: Mutex<Vec<PartitionTime>>,
}

/// Tasks of a query at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Ever created.
    pub created: u64,
    /// Being polled now.
    pub running: u64,
    /// Created but not yet started, or suspended.
    pub waiting: u64,
    /// Ended, by success, error or abort.
    pub done: u64,
}

/// A node's figures at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSnapshot {
    /// Rows produced.
    pub rows: u64,
    /// Batches produced.
    pub batches: u64,
    /// Tasks made for the node.
    pub tasks: u64,
    /// Parts known so far.
    pub parts_known: u64,
    /// Parts done.
    pub parts_done: u64,
    /// CPU nanoseconds.
    pub busy_ns: u64,
    /// The most bytes that it held at once.
    pub memory_max: u64,
    /// Bytes that it wrote to temporary files.
    pub spilled: u64,
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Times that a task waited for a read.
    pub waits: u64,
    /// Nanoseconds that tasks waited for reads, summed over tasks.
    pub wait_ns: u64,
    /// Files of a table that is told of by metadata.
    pub files: u64,
    /// Those that were not opened.
    pub files_skipped: u64,
    /// Chunks of columns.
    pub chunks: u64,
    /// Those of which nothing but the header was read.
    pub chunks_skipped: u64,
    /// Stored vectors, those of one column counted, of the other chunks.
    pub vectors: u64,
    /// Such vectors of which nothing was read.
    pub vectors_skipped: u64,
    /// Rows that filters of joins have dropped.
    pub rows_dropped: u64,
    /// Requests to object stores.
    pub requests: u64,
    /// Attempts beyond the first of each, but for those of `hedges`.
    pub retries: u64,
    /// Attempts because an earlier one was slow.
    pub hedges: u64,
    /// Bytes received from there.
    pub received_bytes: u64,
    /// Nanoseconds that parts waited for them, summed.
    pub waited_ns: u64,
    /// What all attempts cost by the price of the store, in billionths of a dollar; 0 where that is not known.
    pub cost_ndollars: u64,
    /// The most bytes that were asked for and not used yet.
    pub ahead_bytes_max: u64,
    /// How many such bytes the measured speeds allow.
    pub window_bytes: u64,
}

/// All figures at one moment.
#[derive(Clone, Debug, Default)]
pub struct ProgressSnapshot {
    /// Tasks.
    pub tasks: TaskCounts,
    /// By `Node::id`.
    pub nodes: Vec<NodeSnapshot>,
    /// Partitions that have ended, in the order of their ends.
    pub partitions: Vec<PartitionTime>,
}

impl Progress {
    /// Counters for a plan of `node_count` nodes run by `worker_count` workers.
    pub fn new(node_count: usize, worker_count: usize) -> Progress {
        Progress {
            shards: (0..worker_count.max(1)).map(|_| Shard::default()).collect(),
            nodes: (0..node_count).map(|_| NodeFigures::default()).collect(),
            partitions: Mutex::new(Vec::new()),
        }
    }

    /// The live figures of a node.
    pub fn node(&self, id: usize) -> &NodeFigures {
        &self.nodes[id]
    }

    /// Tasks now. Counts of different workers are read one after the other, not at one instant.
    pub fn tasks(&self) -> TaskCounts {
        let sum =
            |f: fn(&Shard) -> &AtomicU64| self.shards.iter().map(|s| f(s).load(Relaxed)).sum();
        // Read what ends before what begins, so that no difference is negative but for races
        // between workers, which saturate.
        let done: u64 = sum(|s| &s.done);
        let suspended: u64 = sum(|s| &s.suspended);
        let resumed: u64 = sum(|s| &s.resumed);
        let started: u64 = sum(|s| &s.started);
        let created: u64 = sum(|s| &s.created);
        let alive = created.saturating_sub(done);
        let running = (started + resumed).saturating_sub(suspended + done).min(alive);
        TaskCounts { created, running, waiting: alive - running, done }
    }

    /// Everything now.
    pub fn snapshot(&self) -> ProgressSnapshot {
        ProgressSnapshot {
            tasks: self.tasks(),
            nodes: self.nodes.iter().map(NodeFigures::snapshot).collect(),
            partitions: self.partitions.lock().unwrap_or_else(|e| e.into_inner()).clone(),
        }
    }

    pub(crate) fn partition_ended(&self, time: PartitionTime) {
        self.partitions.lock().unwrap_or_else(|e| e.into_inner()).push(time);
    }

    fn shard(&self, worker: usize) -> &Shard {
        &self.shards[worker % self.shards.len()]
    }

    pub(crate) fn created(&self, worker: usize) {
        self.shard(worker).created.fetch_add(1, Relaxed);
    }

    pub(crate) fn started(&self, worker: usize) {
        self.shard(worker).started.fetch_add(1, Relaxed);
    }

    pub(crate) fn suspended(&self, worker: usize) {
        self.shard(worker).suspended.fetch_add(1, Relaxed);
    }

    pub(crate) fn resumed(&self, worker: usize) {
        self.shard(worker).resumed.fetch_add(1, Relaxed);
    }

    pub(crate) fn done(&self, worker: usize) {
        self.shard(worker).done.fetch_add(1, Relaxed);
    }
}

impl NodeFigures {
    pub(crate) fn produced(&self, row_count: usize) {
        self.rows.fetch_add(row_count as u64, Relaxed);
        self.batches.fetch_add(1, Relaxed);
    }

    fn snapshot(&self) -> NodeSnapshot {
        NodeSnapshot {
            rows: self.rows.load(Relaxed),
            batches: self.batches.load(Relaxed),
            tasks: self.tasks.load(Relaxed),
            parts_known: self.parts_known.load(Relaxed),
            parts_done: self.parts_done.load(Relaxed),
            busy_ns: self.busy_ns.load(Relaxed),
            memory_max: self.memory_max.load(Relaxed),
            spilled: self.spilled.load(Relaxed),
            reads: self.io.reads.load(Relaxed),
            read_bytes: self.io.read_bytes.load(Relaxed),
            waits: self.io.waits.load(Relaxed),
            wait_ns: self.io.wait_ns.load(Relaxed),
            files: self.skips.files.load(Relaxed),
            files_skipped: self.skips.files_skipped.load(Relaxed),
            chunks: self.skips.chunks.load(Relaxed),
            chunks_skipped: self.skips.chunks_skipped.load(Relaxed),
            vectors: self.skips.vectors.load(Relaxed),
            vectors_skipped: self.skips.vectors_skipped.load(Relaxed),
            rows_dropped: self.skips.rows_dropped.load(Relaxed),
            requests: self.skips.requests.load(Relaxed),
            retries: self.skips.retries.load(Relaxed),
            hedges: self.skips.hedges.load(Relaxed),
            received_bytes: self.skips.received_bytes.load(Relaxed),
            waited_ns: self.skips.waited_ns.load(Relaxed),
            cost_ndollars: self.skips.cost_ndollars.load(Relaxed),
            ahead_bytes_max: self.skips.ahead_bytes_max.load(Relaxed),
            window_bytes: self.skips.window_bytes.load(Relaxed),
        }
    }
}
