//! What a worker keeps of an operation.

use std::rc::Rc;
use std::task::Waker;

use crate::account::LocalAccount;
use crate::op::{Op, Outcome};

/// An operation in a worker's table.
pub(crate) struct OpEntry {
    pub(crate) op: Op,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) waker: Option<Waker>,
    pub(crate) account: Option<Rc<LocalAccount>>,
    /// Handed to the ring or the pool; from here on only a completion ends it.
    pub(crate) started: bool,
    /// Nobody waits any more.
    pub(crate) orphan: bool,
    /// It was asked to end early.
    pub(crate) ending: bool,
    /// When it was begun, for the traces of its account; 0 without one.
    pub(crate) begun_ns: u64,
}
