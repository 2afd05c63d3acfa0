//! The rows of an exchange as the source of a plan.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::RecordBatch;
use types::SqlResult;

use super::arrivals::{Arrived, Foreign};
use super::lane::Lane;
use super::shared::Shared;
use crate::source::{Access, LocalFuture, Part, Source, Step};

/// Where the rows for this node come out. Dropped before their end, it tells the peers that they
/// are not wanted any more.
pub struct Incoming {
    pub(super) shared: Arc<Shared>,
}

impl Source for Incoming {
    /// A part for each worker: batches are decoded on all of them.
    fn roots(&self) -> Vec<Part> {
        (0..runtime::worker_count()).map(|_| Part(Box::new(()))).collect()
    }

    fn step<'a>(&'a self, part: Part, _: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            let rows = self.next().await?;
            let parts = if rows.is_some() { vec![part] } else { vec![] };
            Ok(Step { rows, parts })
        })
    }
}

impl Incoming {
    /// The next rows of any node; `None` at the end of all.
    ///
    /// # Errors
    /// That of the exchange.
    pub async fn next(&self) -> SqlResult<Option<RecordBatch>> {
        let arrivals = &self.shared.arrivals;
        match self.shared.failure.or(&arrivals.changed, || arrivals.take()).await? {
            None => Ok(None),
            Some(Arrived::Own(rows, bytes)) => {
                self.shared.memory.shrink(bytes);
                Ok(Some(rows))
            }
            Some(Arrived::Foreign(foreign)) => self.decode(foreign).map(Some),
        }
    }

    fn decode(&self, foreign: Foreign) -> SqlResult<RecordBatch> {
        let Foreign { node, bytes, beyond } = foreign;
        self.shared.memory.shrink(beyond);
        let decoded = self.shared.wire.decode(bytes);
        match &decoded {
            Ok(rows) => {
                self.shared.traffic.received_rows.fetch_add(rows.num_rows() as u64, Relaxed);
                self.shared.lane(node).grant(1);
            }
            Err(error) => self.shared.fail(error.clone()),
        }
        decoded
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        for left in self.shared.arrivals.refuse() {
            self.shared.memory.shrink(match left {
                Arrived::Own(_, bytes) => bytes,
                Arrived::Foreign(foreign) => foreign.beyond,
            });
        }
        self.shared.peers().for_each(Lane::enough);
    }
}
