//! Where rows come from: the traits that `engine` implements over storage. A `dyn` call is made
//! per part or per batch of keys, never per row.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_array::{RecordBatch, UInt32Array};
use plan::{LookupJoin, Scan};
use runtime::IoCounters;
use types::SqlResult;

use crate::join_filter::JoinFilter;

/// A future that stays on its worker.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// How many requests a piece of work may have in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// One: the next is issued when the last has completed (`serial`, and each part of `static`).
    One,
    /// As many as the work knows of (`ooo`).
    Many,
}

/// What a source or lookup needs to know of the query around it.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// How many requests may be in flight.
    pub depth: Depth,
    /// Where reads are counted.
    pub io: &'a IoCounters,
    /// Where a scan of chunks counts what it need not read.
    pub skips: &'a Skips,
}

/// What there was to scan in chunks of columns, what bounds alone have answered, and what was asked of
/// object stores for the rest.
#[derive(Default)]
pub struct Skips {
    /// Files of a table that is told of by metadata.
    pub files: AtomicU64,
    /// Those of which the metadata says that they have no row that is wanted.
    pub files_skipped: AtomicU64,
    /// Chunks.
    pub chunks: AtomicU64,
    /// Chunks of which nothing but the header was read.
    pub chunks_skipped: AtomicU64,
    /// Stored vectors, those of one column counted, of the other chunks.
    pub vectors: AtomicU64,
    /// Such vectors of which nothing was read.
    pub vectors_skipped: AtomicU64,
    /// Rows that filters of joins have dropped.
    pub rows_dropped: AtomicU64,
    /// Requests to object stores.
    pub requests: AtomicU64,
    /// Attempts beyond the first of each, but for those of `hedges`.
    pub retries: AtomicU64,
    /// Attempts because an earlier one was slow.
    pub hedges: AtomicU64,
    /// Bytes received from there.
    pub received_bytes: AtomicU64,
    /// Nanoseconds that parts of the scan waited for them, summed.
    pub waited_ns: AtomicU64,
    /// What all attempts cost by the price of the store, in billionths of a dollar; 0 where that is not known.
    pub cost_ndollars: AtomicU64,
    /// The most bytes that were asked for and not used yet.
    pub ahead_bytes_max: AtomicU64,
    /// How many such bytes the speeds of getting and using allow, as they were measured last.
    pub window_bytes: AtomicU64,
}

/// A piece of a source's work: an extent, the range under an inner node, a batch of keys to fetch.
pub struct Part(pub Box<dyn Any + Send>);

/// What became of a part: rows, or smaller parts, or both.
pub struct Step {
    /// Rows, of the scan's `columns`, for which its `restrictions` hold; not filtered otherwise.
    pub rows: Option<RecordBatch>,
    /// Smaller parts in order.
    pub parts: Vec<Part>,
}

/// A filter on a column of a scan: rows that it drops are part of no result.
#[derive(Clone)]
pub struct ScanFilter {
    /// Position in the scan's `columns`.
    pub column: usize,
    /// What the column must be.
    pub filter: Arc<JoinFilter>,
}

/// The rows of a `Scan`.
pub trait Source: Send + Sync {
    /// The whole work, as few parts in order.
    fn roots(&self) -> Vec<Part>;
    /// Whether the source itself drops rows by the filters it was opened with, as far as they are worth it, and
    /// counts them. Otherwise its rows are tested when they come.
    fn applies_filters(&self) -> bool {
        false
    }
    /// Works on one part: cheap splitting or the reading of rows.
    fn step<'a>(&'a self, part: Part, access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>>;
}

/// Inner rows for a batch of keys.
pub struct Matches {
    /// For each match, the position of its key in the batch, ascending.
    pub outer: UInt32Array,
    /// For each match, the inner columns of the lookup's `columns`, unfiltered.
    pub inner: RecordBatch,
}

/// The inner side of a `LookupJoin`.
pub trait Lookup: Send + Sync {
    /// Keys that are best looked up together: few where rows are large.
    fn keys_at_once(&self) -> usize {
        usize::MAX
    }

    /// All inner rows whose key starts with the row of `keys` (one column per key expression).
    /// Keys with a null match nothing. Batches are small (`LOOKUP_BATCH_ROWS`).
    fn lookup<'a>(
        &'a self,
        keys: &'a RecordBatch,
        access: Access<'a>,
    ) -> LocalFuture<'a, SqlResult<Matches>>;
}

/// Opens the access paths of a plan.
pub trait Tables: Send + Sync {
    /// The rows of a scan, but for those that `filters` drop if the source likes to apply them.
    fn source(&self, scan: &Scan, filters: &[ScanFilter]) -> SqlResult<Arc<dyn Source>>;
    /// The inner side of an index join.
    fn lookup(&self, join: &LookupJoin) -> SqlResult<Arc<dyn Lookup>>;
}
