//! The state that the tasks of an exchange share.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use runtime::net::SendReport;
use runtime::time;
use types::{SqlError, SqlResult};

use super::arrivals::Arrivals;
use super::failure::Failure;
use super::frame::Hello;
use super::gather::Gather;
use super::lane::Lane;
use super::route::Router;
use super::wire::Wire;
use crate::memory::Reservation;
use crate::notify::WaitGroup;

/// How long a failed exchange still tells its peers, and takes what they have sent: a peer that has
/// not read by then learns of the end from its connection.
const GRACE: Duration = Duration::from_secs(1);

/// An exchange, as its tasks see it.
pub(crate) struct Shared {
    pub(crate) hello: Hello,
    pub(crate) buffer_bytes: usize,
    /// A peer from which no frame came for so long is lost.
    pub(crate) patience: Duration,
    pub(crate) wire: Wire,
    pub(crate) router: Router,
    /// By the numbers of nodes; this one has none.
    pub(crate) lanes: Vec<Option<Lane>>,
    /// By the ways of the router.
    pub(crate) gathers: Vec<Gather>,
    pub(crate) arrivals: Arrivals,
    pub(crate) failure: Failure,
    pub(crate) memory: Arc<Reservation>,
    /// Coroutines of peers.
    pub(crate) alive: WaitGroup,
    pub(crate) traffic: Traffic,
}

/// Counters of an exchange.
#[derive(Default)]
pub(crate) struct Traffic {
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) lent_bytes: AtomicU64,
    pub(crate) copied_bytes: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) own_rows: AtomicU64,
    pub(crate) sent_rows: AtomicU64,
    pub(crate) received_rows: AtomicU64,
}

impl Traffic {
    pub(crate) fn sent(&self, report: SendReport) {
        self.sent_bytes.fetch_add(report.bytes as u64, Relaxed);
        self.lent_bytes.fetch_add(report.lent_bytes as u64, Relaxed);
        self.copied_bytes.fetch_add(report.copied_bytes as u64, Relaxed);
    }
}

impl Shared {
    /// The number of this node.
    pub(crate) fn node(&self) -> usize {
        self.hello.node as usize
    }

    /// How many nodes there are.
    pub(crate) fn node_count(&self) -> usize {
        self.lanes.len()
    }

    /// The way to a peer.
    ///
    /// # Panics
    /// When the node is this one.
    pub(crate) fn lane(&self, node: usize) -> &Lane {
        self.lanes[node].as_ref().expect("a peer has a lane")
    }

    /// The ways to all peers.
    pub(crate) fn peers(&self) -> impl Iterator<Item = &Lane> {
        self.lanes.iter().flatten()
    }

    /// Ends the exchange with an error, unless it has one already; all of its tasks and its peers
    /// learn of it.
    pub(crate) fn fail(&self, error: SqlError) {
        if self.failure.note(error) {
            self.peers().for_each(Lane::wake_all);
            self.arrivals.wake_all();
        }
    }

    /// Does work of a peer to its end, unless the exchange has failed and the work does not end
    /// soon.
    pub(crate) async fn within_grace<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let mut over = pin!(async {
            self.failure.told().await;
            time::sleep(GRACE).await;
        });
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => over.as_mut().poll(cx).map(|()| None),
        })
        .await
    }

    /// True if rows are wanted neither here nor by any peer.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.arrivals.is_refused() && self.peers().all(Lane::refuses)
    }
}

/// A coroutine of a peer, counted until it ends; ended by a panic it fails the exchange.
pub(crate) struct Alive {
    shared: Arc<Shared>,
    has_ended: bool,
}

impl Alive {
    pub(crate) fn new(shared: &Arc<Shared>) -> Alive {
        shared.alive.add();
        Alive { shared: Arc::clone(shared), has_ended: false }
    }

    /// The coroutine has done its work.
    pub(crate) fn end(mut self, result: SqlResult<()>) {
        self.has_ended = true;
        if let Err(error) = result {
            self.shared.fail(error);
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if !self.has_ended {
            self.shared.fail(SqlError::internal("a task of an exchange was ended"));
        }
        self.shared.alive.done();
    }
}
