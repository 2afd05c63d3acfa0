//! How many clients there are: in all, of each role, and of those that have not logged in yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{SqlError, SqlResult, SqlState};

/// Connections at once that have not logged in, besides the clients. Each costs its task and at most a start-up message, and is
/// gone after the time that a start may take.
const UNAUTHENTICATED_COUNT_MAX: usize = 4096;

/// The counts of a server.
pub(crate) struct Slots {
    /// Clients at once.
    count_max: usize,
    /// Of these, only superusers get the last ones.
    reserved: usize,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    all: usize,
    unauthenticated: usize,
    by_role: HashMap<String, usize>,
}

/// A client that counts.
pub(crate) struct Slot {
    slots: Arc<Slots>,
    role: String,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut counts = self.slots.counts();
        counts.all -= 1;
        if let Some(count) = counts.by_role.get_mut(&self.role) {
            *count -= 1;
            if *count == 0 {
                counts.by_role.remove(&self.role);
            }
        }
    }
}

/// A connection that has not logged in.
pub(crate) struct Unauthenticated(Arc<Slots>);

impl Drop for Unauthenticated {
    fn drop(&mut self) {
        self.0.counts().unauthenticated -= 1;
    }
}

/// Who wants a slot.
pub(crate) struct SlotRequest<'a> {
    pub role: &'a str,
    pub superuser: bool,
    /// Connections that the role may have; `None` is no limit.
    pub limit: Option<usize>,
}

impl Slots {
    pub fn new(count_max: usize, reserved: usize) -> Arc<Slots> {
        Arc::new(Slots { count_max, reserved, counts: Mutex::default() })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clients now.
    pub fn count(&self) -> usize {
        self.counts().all
    }

    /// Clients that there may be.
    pub fn count_max(&self) -> usize {
        self.count_max
    }

    /// Lets one in that has not logged in, if there are not too many.
    pub fn unauthenticated(self: &Arc<Self>) -> Option<Unauthenticated> {
        let mut counts = self.counts();
        let room = counts.unauthenticated < UNAUTHENTICATED_COUNT_MAX;
        counts.unauthenticated += usize::from(room);
        room.then(|| Unauthenticated(self.clone()))
    }

    /// Gives a client its slot.
    ///
    /// # Errors
    /// 53300 when there is none for it.
    pub fn take(self: &Arc<Self>, request: &SlotRequest<'_>) -> SqlResult<Slot> {
        let mut counts = self.counts();
        let refused = |message| Err(SqlError::new(SqlState::TOO_MANY_CONNECTIONS, message));
        if counts.all >= self.count_max {
            return refused("sorry, too many clients already".to_owned());
        }
        if !request.superuser && counts.all + self.reserved >= self.count_max {
            let message =
                "remaining connection slots are reserved for non-replication superuser connections";
            return refused(message.to_owned());
        }
        let of_role = counts.by_role.get(request.role).copied().unwrap_or(0);
        if !request.superuser && request.limit.is_some_and(|limit| of_role >= limit) {
            return refused(format!("too many connections for role \"{}\"", request.role));
        }
        counts.all += 1;
        *counts.by_role.entry(request.role.to_owned()).or_default() += 1;
        Ok(Slot { slots: self.clone(), role: request.role.to_owned() })
    }
}
