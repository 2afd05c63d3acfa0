//! What running a query took.

use std::time::Duration;

use exec::ProgressSnapshot;
use plan::codegen::CodeFigures;
use runtime::AccountSnapshot;

/// What running a query took: counted at run time.
#[derive(Clone, Debug)]
pub struct QueryFigures {
    /// From the start of execution to its end, planning apart.
    pub elapsed: Duration,
    /// Planning.
    pub planning: Duration,
    /// Tasks and figures per plan node.
    pub progress: ProgressSnapshot,
    /// The runtime's accounts: CPU, reads, bytes.
    pub account: AccountSnapshot,
    /// Machine code of expressions, where there might be some (`jit`).
    pub code: Option<CodeFigures>,
}

/// Fastest and slowest partition of a `static` run.
#[derive(Clone, Copy, Debug)]
pub struct StaticSpread {
    /// The fastest partition's time.
    pub min: Duration,
    /// The slowest partition's time.
    pub max: Duration,
}

impl QueryFigures {
    /// Pages read from the device.
    pub fn reads(&self) -> u64 {
        self.progress.nodes.iter().map(|n| n.reads).sum()
    }

    /// Bytes read from the device.
    pub fn read_bytes(&self) -> u64 {
        self.progress.nodes.iter().map(|n| n.read_bytes).sum()
    }

    /// The spread of the partitions' times, of a `static` run.
    pub fn static_spread(&self) -> Option<StaticSpread> {
        let times = self.progress.partitions.iter().map(|p| Duration::from_nanos(p.elapsed_ns));
        Some(StaticSpread { min: times.clone().min()?, max: times.max()? })
    }
}
