//! Servers that follow this one, as `pg_stat_replication` shows them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use storage::LogPosition;

/// A replica that follows this server.
#[derive(Clone, Debug, Default)]
pub struct ReplicaSeen {
    /// The number of its session, in place of a process id.
    pub pid: i32,
    /// The role that it has logged in as.
    pub user: String,
    /// The name that it gives itself.
    pub application_name: String,
    /// Where it is; none for one on this machine's socket.
    pub address: Option<String>,
    /// When it came, in microseconds since 1970.
    pub entered_us: i64,
    /// `backup`, `catchup` or `streaming`.
    pub state: &'static str,
    /// How far it has been sent.
    pub sent: LogPosition,
    /// How far it says that it has received.
    pub received: LogPosition,
    /// How far it says that its sessions see.
    pub replayed: LogPosition,
    /// When it said so, in microseconds since 1970.
    pub replied_us: Option<i64>,
}

/// All that follow.
#[derive(Default)]
pub struct Replicas(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    count: u64,
    all: BTreeMap<u64, ReplicaSeen>,
}

/// A replica that is shown until this is dropped.
pub struct Shown {
    replicas: Arc<Replicas>,
    number: u64,
}

impl Replicas {
    /// Shows one.
    pub fn enter(self: &Arc<Self>, seen: ReplicaSeen) -> Shown {
        let mut state = self.seen();
        state.count += 1;
        let number = state.count;
        state.all.insert(number, seen);
        Shown { replicas: self.clone(), number }
    }

    /// Those that are here now.
    pub fn all(&self) -> Vec<ReplicaSeen> {
        self.seen().all.values().cloned().collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shown {
    /// Shows something else of it.
    pub fn change(&self, change: impl FnOnce(&mut ReplicaSeen)) {
        if let Some(seen) = self.replicas.seen().all.get_mut(&self.number) {
            change(seen);
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.replicas.seen().all.remove(&self.number);
    }
}
