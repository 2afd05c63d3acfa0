//! The end of a plan at an exchange: rows are divided, gathered, encoded in the task that made
//! them, and put into the buffers of the peers that they go to.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use arrow_array::RecordBatch;
use types::{SqlError, SqlResult, SqlState};

use super::arrivals::Arrived;
use super::frame::{HEADER_BYTES, Kind, seal};
use super::gather::Gathered;
use super::lane::{Filled, Lane};
use super::route::Router;
use super::shared::Shared;
use crate::batch;
use crate::footprint::batch_bytes;
use crate::preempt::breathe;
use crate::query::Output;
use crate::source::LocalFuture;

/// Where the rows of this node go in. Dropped before [`Outgoing::finish`], it fails the exchange.
pub struct Outgoing {
    pub(super) shared: Arc<Shared>,
    is_finished: AtomicBool,
    /// A task was dropped with rows in its hands.
    is_torn: AtomicBool,
}

impl Output for Outgoing {
    fn push<'a>(&'a self, rows: RecordBatch) -> LocalFuture<'a, SqlResult<bool>> {
        Box::pin(async move {
            self.check()?;
            if self.is_finished.load(Acquire) {
                return Err(SqlError::internal("rows behind the end of an exchange"));
            }
            for (way, rows) in self.shared.router.split(&rows, self.shared.node_count())? {
                self.add(way, rows).await?;
            }
            Ok(!self.shared.is_unwanted())
        })
    }
}

impl Outgoing {
    pub(super) fn new(shared: &Arc<Shared>) -> Outgoing {
        let (is_finished, is_torn) = (AtomicBool::new(false), AtomicBool::new(false));
        Outgoing { shared: Arc::clone(shared), is_finished, is_torn }
    }

    /// Sends what has gathered, and says that it was all.
    ///
    /// # Errors
    /// That of the exchange: rows are lost then, here or elsewhere.
    pub async fn finish(&self) -> SqlResult<()> {
        for way in 0..self.shared.gathers.len() {
            self.give(way, self.shared.gathers[way].rest()).await?;
        }
        self.check().inspect_err(|error| self.shared.fail(error.clone()))?;
        if self.is_finished.swap(true, AcqRel) {
            return Err(SqlError::internal("an exchange was finished twice"));
        }
        self.shared.peers().for_each(Lane::complete);
        self.shared.arrivals.ended();
        Ok(())
    }

    /// An error when rows cannot be sent any more.
    fn check(&self) -> SqlResult<()> {
        self.shared.failure.check()?;
        // The rows are missed by nobody when nobody wants any.
        match self.is_torn.load(Acquire) && !self.shared.is_unwanted() {
            true => Err(incomplete()),
            false => Ok(()),
        }
    }

    /// Adds rows to those of their way, a buffer's worth at a time.
    async fn add(&self, way: usize, rows: RecordBatch) -> SqlResult<()> {
        let enough = self.enough_bytes();
        let row_count = rows.num_rows();
        let pieces = batch_bytes(&rows).div_ceil(enough).clamp(1, row_count.max(1));
        for rows in batch::slices(&rows, row_count.div_ceil(pieces)) {
            let bytes = batch_bytes(&rows);
            // Rows that are here cannot be refused; where memory is short they do not wait for
            // others.
            let has_room = self.shared.memory.try_grow(bytes);
            if !has_room {
                self.shared.memory.hold(bytes);
            }
            let enough = if has_room { enough } else { 0 };
            if let Some(gathered) = self.shared.gathers[way].add(rows, bytes, enough) {
                self.give(way, gathered).await?;
            }
            breathe().await;
        }
        Ok(())
    }

    /// Bytes of rows that make a buffer: the form of the wire has heads and padding.
    fn enough_bytes(&self) -> usize {
        (self.shared.buffer_bytes - self.shared.buffer_bytes / 16).max(1)
    }

    async fn give(&self, way: usize, gathered: Gathered) -> SqlResult<()> {
        let Gathered { batches, bytes } = gathered;
        let _held = Held(&self.shared, bytes);
        if batches.is_empty() {
            return Ok(());
        }
        let halfway = Halfway(Some(&self.is_torn));
        let placed = self.part_with(way, batches).await;
        halfway.done();
        placed.inspect_err(|error| self.shared.fail(error.clone()))
    }

    async fn part_with(&self, way: usize, batches: Vec<RecordBatch>) -> SqlResult<()> {
        let rows = batch::concat_owned(self.shared.wire.schema(), batches)?;
        match self.shared.router {
            Router::Hash { .. } if way == self.shared.node() => self.keep(rows).await,
            Router::Hash { .. } => self.send(&[way], rows).await,
            Router::Broadcast => {
                let peers = (0..self.shared.node_count()).filter(|n| *n != self.shared.node());
                self.send(&peers.collect::<Vec<_>>(), rows.clone()).await?;
                self.keep(rows).await
            }
        }
    }

    /// Rows of this node for its own plan, which cross no socket.
    async fn keep(&self, rows: RecordBatch) -> SqlResult<()> {
        let arrivals = &self.shared.arrivals;
        self.shared.failure.or(&arrivals.room, || arrivals.has_room()).await?;
        let bytes = batch_bytes(&rows);
        self.shared.memory.hold(bytes);
        self.shared.traffic.own_rows.fetch_add(rows.num_rows() as u64, Relaxed);
        if arrivals.add(Arrived::Own(rows, bytes)).is_some() {
            self.shared.memory.shrink(bytes);
        }
        Ok(())
    }

    async fn send(&self, nodes: &[usize], rows: RecordBatch) -> SqlResult<()> {
        if nodes.iter().all(|node| self.shared.lane(*node).refuses()) {
            return Ok(());
        }
        let row_count = rows.num_rows() as u64;
        let bytes = self.shared.wire.encode(&rows)?;
        drop(rows);
        for node in nodes {
            self.place(self.shared.lane(*node), &bytes).await?;
            self.shared.traffic.sent_rows.fetch_add(row_count, Relaxed);
        }
        Ok(())
    }

    /// Puts a batch into buffers of a lane, as they come back empty: this is where producers wait
    /// for their peers.
    async fn place(&self, lane: &Lane, bytes: &[u8]) -> SqlResult<()> {
        let _turn = lane.turn.acquire().await;
        // The batch of another task may have been left in its middle.
        self.check()?;
        let mut pieces = bytes.chunks(self.shared.buffer_bytes).peekable();
        while let Some(piece) = pieces.next() {
            let empty = self.shared.failure.or(&lane.vacant, || lane.take_empty()).await?;
            let Some(mut buf) = empty else { return Ok(()) };
            let is_last = pieces.peek().is_none();
            let len = HEADER_BYTES + piece.len();
            let frame = &mut buf.as_mut_slice()[..len];
            frame[HEADER_BYTES..].copy_from_slice(piece);
            seal(if is_last { Kind::Rows } else { Kind::Part }, frame);
            lane.give_filled(Filled { buf, len, is_last });
        }
        Ok(())
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        if !self.is_finished.load(Acquire) && !self.shared.is_unwanted() {
            self.shared.fail(incomplete());
        }
    }
}

/// Bytes that rows on their way are counted with.
struct Held<'a>(&'a Shared, usize);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.memory.shrink(self.1);
    }
}

/// Rows that have been taken and are not placed yet: dropped now, they are missing. The plan has an
/// error of its own then, which is to be told instead.
struct Halfway<'a>(Option<&'a AtomicBool>);

impl Halfway<'_> {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Halfway<'_> {
    fn drop(&mut self) {
        if let Some(is_torn) = self.0.take() {
            is_torn.store(true, Release);
        }
    }
}

fn incomplete() -> SqlError {
    let text = "a node ended its part of an exchange before all of its rows were sent";
    SqlError::new(SqlState::QUERY_CANCELED, text)
}
