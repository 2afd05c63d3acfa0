//! The decomposition policy: asked at every opportunity to split work.

use runtime::sync::{Permit, Permits};

use crate::query::Mode;
use crate::source::Depth;

/// How the rows of a pipeline's source are driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driving {
    /// By one task, in order.
    One,
    /// By so many tasks, each over a contiguous run of the source.
    Runs(usize),
    /// By all workers from a shared queue of parts not yet started.
    Shared,
}

/// The answers of a mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    mode: Mode,
}

impl Policy {
    pub(crate) fn new(mode: Mode) -> Policy {
        Policy { mode }
    }

    /// How to drive a source. Where order matters it is not split.
    pub(crate) fn driving(self, order_matters: bool) -> Driving {
        match self.mode {
            _ if order_matters => Driving::One,
            Mode::Serial => Driving::One,
            Mode::Static { partitions } => Driving::Runs(partitions.max(1)),
            Mode::OutOfOrder => Driving::Shared,
        }
    }

    /// How many requests a piece of work may have in flight.
    pub(crate) fn depth(self) -> Depth {
        match self.mode {
            Mode::Serial | Mode::Static { .. } => Depth::One,
            Mode::OutOfOrder => Depth::Many,
        }
    }

    /// Whether independent inputs (build sides) are computed at the same time.
    pub(crate) fn inputs_at_once(self) -> bool {
        matches!(self.mode, Mode::OutOfOrder)
    }

    /// Whether a piece of work becomes a task of its own; `None` means inline, depth first.
    pub(crate) fn child(self, permits: &Permits) -> Option<Permit> {
        match self.mode {
            Mode::Serial | Mode::Static { .. } => None,
            Mode::OutOfOrder => permits.try_acquire(),
        }
    }
}
