//! Rows that have come, of all nodes, until the plan takes them. Those of peers are bounded by the
//! credit that the peers have, those of this node by their bytes.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard};

use arrow_array::RecordBatch;
use runtime::sync::WaitQueue;

use crate::notify::locked;

/// A batch that has come.
pub(crate) enum Arrived {
    /// From this node, with the bytes that are counted for it.
    Own(RecordBatch, usize),
    /// From a peer.
    Foreign(Foreign),
}

/// A batch of a peer as it came.
pub(crate) struct Foreign {
    pub(crate) node: usize,
    pub(crate) bytes: Vec<u8>,
    /// Bytes that are counted for it beside its last buffer.
    pub(crate) beyond: usize,
}

/// Where rows wait for the plan.
pub(crate) struct Arrivals {
    state: Mutex<State>,
    /// The plan waits here for rows.
    pub(crate) changed: WaitQueue,
    /// Producers of this node wait here for room.
    pub(crate) room: WaitQueue,
    own_bytes_max: usize,
}

#[derive(Default)]
struct State {
    arrived: VecDeque<Arrived>,
    own_bytes: usize,
    /// Nodes that have not sent all of their rows.
    open_count: usize,
    is_refused: bool,
}

impl Arrivals {
    /// For the rows of so many nodes; of this one's own rows about `own_bytes_max` wait.
    pub(crate) fn new(node_count: usize, own_bytes_max: usize) -> Arrivals {
        Arrivals {
            state: Mutex::new(State { open_count: node_count, ..State::default() }),
            changed: WaitQueue::new(),
            room: WaitQueue::new(),
            own_bytes_max,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Wakes everybody who waits for anything here.
    pub(crate) fn wake_all(&self) {
        self.changed.wake_all();
        self.room.wake_all();
    }

    /// Something when a batch of this node may be added.
    pub(crate) fn has_room(&self) -> Option<()> {
        let state = self.state();
        (state.is_refused || state.own_bytes < self.own_bytes_max).then_some(())
    }

    /// Adds a batch; gives it back where no rows are wanted any more.
    pub(crate) fn add(&self, arrived: Arrived) -> Option<Arrived> {
        let mut state = self.state();
        if state.is_refused {
            return Some(arrived);
        }
        if let Arrived::Own(_, bytes) = &arrived {
            state.own_bytes += bytes;
        }
        state.arrived.push_back(arrived);
        drop(state);
        self.changed.wake_all();
        None
    }

    /// All rows of a node are here.
    pub(crate) fn ended(&self) {
        self.state().open_count -= 1;
        self.changed.wake_all();
    }

    /// The next batch; `Some(None)` at the end of all.
    pub(crate) fn take(&self) -> Option<Option<Arrived>> {
        let mut state = self.state();
        let next = state.arrived.pop_front();
        if let Some(Arrived::Own(_, bytes)) = &next {
            state.own_bytes -= bytes;
        }
        match next {
            Some(next) => {
                drop(state);
                self.room.wake_all();
                Some(Some(next))
            }
            None => (state.open_count == 0 || state.is_refused).then_some(None),
        }
    }

    /// True if no rows are wanted any more.
    pub(crate) fn is_refused(&self) -> bool {
        self.state().is_refused
    }

    /// No rows are wanted any more; gives those that nobody has taken.
    pub(crate) fn refuse(&self) -> VecDeque<Arrived> {
        let mut state = self.state();
        state.is_refused = true;
        state.own_bytes = 0;
        let left = mem::take(&mut state.arrived);
        drop(state);
        self.wake_all();
        left
    }
}
