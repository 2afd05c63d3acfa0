//! The end of an exchange, and its figures.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use types::{SqlError, SqlResult};

use super::shared::Shared;

/// A handle to watch an exchange by, and to end it. Dropped, it ends nothing.
#[derive(Clone)]
pub struct ExchangeControl(pub(super) Arc<Shared>);

/// Figures of an exchange on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeFigures {
    /// Bytes of buffers that were sent.
    pub sent_bytes: u64,
    /// Of these, in memory that was lent to the kernel.
    pub lent_bytes: u64,
    /// Of those, what the kernel has copied all the same.
    pub copied_bytes: u64,
    /// Bytes of batches that were received.
    pub received_bytes: u64,
    /// Rows that stayed on the node.
    pub own_rows: u64,
    /// Rows put into buffers, those for several nodes counted for each.
    pub sent_rows: u64,
    /// Rows of peers that were taken.
    pub received_rows: u64,
}

impl ExchangeControl {
    /// Ends the exchange with an error on all nodes, unless it has ended.
    pub fn fail(&self, error: SqlError) {
        self.0.fail(error);
    }

    /// Waits until no task of the exchange is left. One may wait at a time.
    ///
    /// # Errors
    /// That of the exchange.
    pub async fn ended(&self) -> SqlResult<()> {
        self.0.alive.wait().await;
        self.0.failure.check()
    }

    /// Figures by now.
    pub fn figures(&self) -> ExchangeFigures {
        let traffic = &self.0.traffic;
        ExchangeFigures {
            sent_bytes: traffic.sent_bytes.load(Relaxed),
            lent_bytes: traffic.lent_bytes.load(Relaxed),
            copied_bytes: traffic.copied_bytes.load(Relaxed),
            received_bytes: traffic.received_bytes.load(Relaxed),
            own_rows: traffic.own_rows.load(Relaxed),
            sent_rows: traffic.sent_rows.load(Relaxed),
            received_rows: traffic.received_rows.load(Relaxed),
        }
    }

    /// Bytes that it holds now.
    pub fn memory_bytes(&self) -> usize {
        self.0.memory.used()
    }
}
