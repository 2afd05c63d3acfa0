//! What a caller says about one execution of a plan.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use plan::codegen::Codegen;
use runtime::sync::{Cancel, Permits, Semaphore};
use types::SqlResult;

use crate::memory::Grant;
use crate::progress::Progress;
use crate::source::LocalFuture;

/// Outer rows per look-up task: fewer do not amortise a task's set-up (Umbra paper, section 5).
pub const LOOKUP_BATCH_ROWS: usize = 128;

/// Rows per batch that an operator aims at: the columns of a batch stay within the second-level
/// cache (2048 rows x 16 columns x 8 bytes = 256 KiB).
pub const RESULT_BATCH_ROWS: usize = 2048;

/// Parts of a source that one worker has in work at once. A part reads at most an extent
/// (64 pages of 4 KiB), so 64 parts are 4096 pages asked for, more than a device's queue takes, and
/// at most about 32 MiB of pages and decoded rows per worker.
pub const PARTS_PER_WORKER: usize = 64;

/// Expressions that a query alone computes beside the workers at once: more would only take the
/// processor from each other.
const BESIDE_MAX: usize = 2;

/// How the work of a query is decomposed (DESIGN, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never split: one task, one request in flight.
    Serial,
    /// The driving scan of each pipeline is split once; each partition runs serially.
    Static {
        /// Number of partitions.
        partitions: usize,
    },
    /// Split at every opportunity while permits last; many requests in flight.
    OutOfOrder,
}

/// One execution of a plan: its mode, bounds, and where it is watched and stopped.
pub struct Query {
    /// How the work is decomposed.
    pub mode: Mode,
    /// Budget of tasks for parts and look-ups in [`Mode::OutOfOrder`]. Without a permit work runs
    /// inline in its parent. The one feeder per worker and pipeline, and the partitions of
    /// [`Mode::Static`], need none.
    pub permits: Permits,
    /// Stops the query with 57014.
    pub cancel: Cancel,
    /// How many expressions are computed beside the workers at once.
    pub beside: Semaphore,
    /// Values of the parameters of a plan that is kept for all values.
    pub bindings: Option<Arc<plan::Bindings>>,
    /// Makes machine code of its expressions; `None`: they are interpreted.
    pub codegen: Option<Arc<Codegen>>,
    /// Where tasks and rows are counted.
    pub progress: Arc<Progress>,
    /// What its operators may hold.
    pub memory: Grant,
    /// Where they may spill to: a file that does not exist. `None`: they fail instead.
    pub spill_path: Option<PathBuf>,
    /// Outer rows per look-up, at least 1.
    pub lookup_batch_rows: usize,
    /// Rows per batch aimed at, at least 1.
    pub batch_rows: usize,
    /// Parts of a source in work per worker, at least 1.
    pub parts_per_worker: usize,
}

impl Query {
    /// A query with the default batch sizes and memory without a limit.
    pub fn new(mode: Mode, permits: Permits, cancel: Cancel, progress: Arc<Progress>) -> Query {
        Query {
            mode,
            permits,
            cancel,
            beside: Semaphore::new(BESIDE_MAX),
            bindings: None,
            codegen: None,
            progress,
            memory: Grant::unlimited(),
            spill_path: None,
            lookup_batch_rows: LOOKUP_BATCH_ROWS,
            batch_rows: RESULT_BATCH_ROWS,
            parts_per_worker: PARTS_PER_WORKER,
        }
    }
}

/// Where result rows go.
pub trait Output: Send + Sync {
    /// Takes a batch of the plan's schema (all columns nullable). Returns whether more is wanted;
    /// after `false` the query ends without an error.
    ///
    /// When the plan orders its rows, calls come one at a time from the worker of `execute`, in order. Otherwise
    /// they come from tasks of any worker, several at once. A push may wait: that holds back the
    /// tasks that produce rows, nothing else.
    fn push<'a>(&'a self, batch: RecordBatch) -> LocalFuture<'a, SqlResult<bool>>;
}
