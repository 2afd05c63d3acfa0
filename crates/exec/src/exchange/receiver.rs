//! The coroutine that receives from a peer. It never waits for the plan: what a peer may send has
//! its memory before the peer learns of its credit.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use runtime::time;
use types::SqlResult;

use super::arrivals::{Arrived, Foreign};
use super::frame::{self, Header, Hello, Kind, violation};
use super::frames::{Frames, lost};
use super::lane::Lane;
use super::shared::{Alive, Shared};
use super::wire::BATCH_BYTES_MAX;

/// Receives from the node of this number until it has closed its end.
pub(crate) async fn receive(shared: Arc<Shared>, node: usize, mut frames: Frames, alive: Alive) {
    let work = async {
        let heard = Peer::new(&shared, node).listen(&mut frames).await;
        if let Err(error) = heard {
            shared.fail(error);
        }
        // A stream that is closed with bytes in it is reset, and the peer loses what it was told
        // last.
        frames.drain().await;
    };
    shared.within_grace(work).await;
    alive.end(Ok(()));
}

/// A peer that is listened to.
struct Peer<'a> {
    shared: &'a Shared,
    node: usize,
    lane: &'a Lane,
    /// Buffers of a batch that is not whole yet; all of them are counted.
    parts: Vec<u8>,
    has_greeted: bool,
}

impl Peer<'_> {
    fn new(shared: &Shared, node: usize) -> Peer<'_> {
        let lane = shared.lane(node);
        Peer { shared, node, lane, parts: vec![], has_greeted: false }
    }

    /// Takes frames until the stream ends or the exchange fails.
    async fn listen(&mut self, frames: &mut Frames) -> SqlResult<()> {
        loop {
            let (has_greeted, lane) = (self.has_greeted, self.lane);
            let frame = frames.next(|header| admit(header, has_greeted, lane));
            let frame = time::timeout(self.shared.patience, frame).await;
            if self.shared.failure.get().is_some() {
                return Ok(());
            }
            let late = || lost(self.node, format!("No frame for {:?}.", self.shared.patience));
            let Some((header, payload)) = frame.map_err(|_| late())?? else { break };
            self.take(header.kind, payload)?;
        }
        match self.lane.may_close() {
            true => Ok(()),
            false => Err(lost(self.node, "Its stream ended before its rows.")),
        }
    }

    fn take(&mut self, kind: Kind, payload: Vec<u8>) -> SqlResult<()> {
        match kind {
            Kind::Hello => self.greet(Hello::read(&payload)?),
            Kind::Part => self.part(&payload),
            Kind::Rows => self.rows(payload),
            Kind::Credit => self.lane.credit(frame::number(&payload)?),
            Kind::End => self.end(frame::number(&payload)?),
            Kind::Enough => {
                self.lane.refuse();
                Ok(())
            }
            Kind::Error => Err(frame::read_error(&payload, self.node)?),
            Kind::Ping => Ok(()),
        }
    }

    fn greet(&mut self, hello: Hello) -> SqlResult<()> {
        let expected = Hello { node: self.node as u32, ..self.shared.hello };
        self.has_greeted = true;
        match hello == expected {
            true => Ok(()),
            false => Err(violation(format!("{hello:?} where {expected:?} was expected"))),
        }
    }

    /// A buffer of a batch that goes on: it makes room for the next one at once, as one of all that
    /// the batch takes.
    fn part(&mut self, payload: &[u8]) -> SqlResult<()> {
        if self.shared.arrivals.is_refused() {
            return Ok(());
        }
        if self.parts.len() + payload.len() > BATCH_BYTES_MAX {
            return Err(violation(format!("a batch of more than {BATCH_BYTES_MAX} bytes")));
        }
        self.shared.memory.grow(payload.len())?;
        self.parts.extend_from_slice(payload);
        self.lane.grant(1);
        Ok(())
    }

    fn rows(&mut self, payload: Vec<u8>) -> SqlResult<()> {
        let beyond = self.parts.len();
        let mut bytes = std::mem::take(&mut self.parts);
        match bytes.is_empty() {
            true => bytes = payload,
            false => bytes.extend_from_slice(&payload),
        }
        self.lane.received();
        self.shared.traffic.received_bytes.fetch_add(bytes.len() as u64, Relaxed);
        let arrived = Arrived::Foreign(Foreign { node: self.node, bytes, beyond });
        if self.shared.arrivals.add(arrived).is_some() {
            self.shared.memory.shrink(beyond);
        }
        Ok(())
    }

    fn end(&mut self, batch_count: u64) -> SqlResult<()> {
        self.lane.ended(batch_count)?;
        self.shared.arrivals.ended();
        match self.parts.is_empty() || self.shared.arrivals.is_refused() {
            true => Ok(()),
            false => Err(violation("the end of its rows within a batch")),
        }
    }
}

impl Drop for Peer<'_> {
    fn drop(&mut self) {
        self.shared.memory.shrink(self.parts.len());
    }
}

/// An error where a frame may not come now; asked before memory is taken for it.
fn admit(header: &Header, has_greeted: bool, lane: &Lane) -> SqlResult<()> {
    match header.kind {
        Kind::Error => Ok(()),
        Kind::Hello if has_greeted => Err(violation("a greeting twice")),
        Kind::Hello => Ok(()),
        kind if !has_greeted => Err(violation(format!("a frame {kind:?} before its greeting"))),
        Kind::Part | Kind::Rows => lane.spend(),
        Kind::Credit | Kind::End | Kind::Enough | Kind::Ping => Ok(()),
    }
}
