//! How far a database is that follows another one, for who asks, and what it is asked to do.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use runtime::sync::WaitQueue;
use runtime::time::Instant;
use storage::LogPosition;
use types::{SqlError, SqlResult, SqlState};

use crate::fault;

/// Figures of a database that follows another one.
#[derive(Clone, Debug, Default)]
pub struct ReplicaFigures {
    /// The position up to which it has the other one.
    pub received: LogPosition,
    /// The position up to which its sessions see it.
    pub replayed: LogPosition,
    /// When the last commit was made that they see, in microseconds since 1970.
    pub replayed_us: Option<i64>,
    /// The folder or server that it follows.
    pub source: String,
    /// The state of following: `streaming`, `waiting`, or `stopped` for good.
    pub state: &'static str,
    /// Why nothing comes, where something is wrong.
    pub error: Option<String>,
    /// When something came the last time, in microseconds since 1970.
    pub heard_us: Option<i64>,
    /// When bytes of the archive came the last time.
    pub came_at: Option<Instant>,
}

/// Figures of a replica, and its orders.
#[derive(Default)]
pub(crate) struct Status(Arc<Inner>);

#[derive(Default)]
struct Inner {
    figures: Mutex<ReplicaFigures>,
    is_promoted: AtomicBool,
    is_stopped: AtomicBool,
    ordered: WaitQueue,
}

/// The handle of sessions on the replica that they are of: its figures, and the order to promote
/// it.
#[derive(Clone)]
pub(crate) struct Attendant(Arc<Inner>);

/// An order to the task that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Become a database of its own.
    Promote,
    /// End.
    Stop,
}

/// Refuses a file that follows another database: who writes to it would end that.
///
/// # Errors
/// 55000, and those of reading the note beside it.
pub(crate) async fn check_own(file: &Path) -> SqlResult<()> {
    if !storage::follows(file).await.map_err(fault::storage)? {
        return Ok(());
    }
    let message = format!("\"{}\" follows another database", file.display());
    Err(SqlError::new(SqlState("55000"), message).with_hint(
        "Serve it with --replica-of, or make it a database of its own with dovetail promote.",
    ))
}

impl Status {
    pub(crate) fn attendant(&self) -> Attendant {
        Attendant(self.0.clone())
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut ReplicaFigures)) {
        change(&mut self.0.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The order that was given, if there is one.
    pub(crate) fn order(&self) -> Option<Order> {
        if self.0.is_stopped.load(Ordering::Acquire) {
            return Some(Order::Stop);
        }
        self.0.is_promoted.load(Ordering::Acquire).then_some(Order::Promote)
    }

    /// Waits until something is ordered.
    pub(crate) async fn ordered(&self) -> Order {
        self.0.ordered.wait(|| self.order()).await
    }

    /// The order to promote has come to nothing.
    pub(crate) fn take_back(&self) {
        self.0.is_promoted.store(false, Ordering::Release);
    }

    pub(crate) fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Release);
        self.0.ordered.wake_all();
    }
}

impl Attendant {
    /// The figures as they are now.
    pub(crate) fn figures(&self) -> ReplicaFigures {
        self.0.figures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has it become a database of its own.
    pub(crate) fn promote(&self) {
        self.0.is_promoted.store(true, Ordering::Release);
        self.0.ordered.wake_all();
    }
}
