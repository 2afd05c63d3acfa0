//! The worker whose ring it is, as far as its ring knows it.

use std::sync::Arc;

use crate::inbox::Inbox;
use crate::stats::Counters;

/// What a ring needs of its worker.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    /// The worker's number in the process.
    pub(crate) id: u32,
    /// What ends elsewhere is told there.
    pub(crate) inbox: &'a Arc<Inbox>,
    pub(crate) counters: &'a Counters,
}
