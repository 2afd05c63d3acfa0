//! How many clients there are: in all, of each role, and of those that have not logged in yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{SqlError, SqlResult, SqlState};

/// Strangers at once, besides the clients. Each costs its task and at most a start-up message, and is
/// gone after the time that a start may take.
const STRANGER_COUNT_MAX: usize = 4096;

/// The counts of a server.
pub(crate) struct Places {
    /// Clients at once.
    count_max: usize,
    /// Of these, only superusers get the last ones.
    reserved: usize,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    all: usize,
    strangers: usize,
    by_role: HashMap<String, usize>,
}

/// A client that counts.
pub(crate) struct Place {
    places: Arc<Places>,
    role: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.places.counts();
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
pub(crate) struct Stranger(Arc<Places>);

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.counts().strangers -= 1;
    }
}

/// Who wants a place.
pub(crate) struct Guest<'a> {
    pub role: &'a str,
    pub superuser: bool,
    /// Connections that the role may have; `None` is no limit.
    pub limit: Option<usize>,
}

impl Places {
    pub fn new(count_max: usize, reserved: usize) -> Arc<Places> {
        Arc::new(Places { count_max, reserved, counts: Mutex::default() })
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

    /// Lets a stranger in, if there are not too many.
    pub fn stranger(self: &Arc<Self>) -> Option<Stranger> {
        let mut counts = self.counts();
        let room = counts.strangers < STRANGER_COUNT_MAX;
        counts.strangers += usize::from(room);
        room.then(|| Stranger(self.clone()))
    }

    /// Gives a client its place.
    ///
    /// # Errors
    /// 53300 when there is none for it.
    pub fn take(self: &Arc<Self>, guest: &Guest<'_>) -> SqlResult<Place> {
        let mut counts = self.counts();
        let refused = |message| Err(SqlError::new(SqlState::TOO_MANY_CONNECTIONS, message));
        if counts.all >= self.count_max {
            return refused("sorry, too many clients already".to_owned());
        }
        if !guest.superuser && counts.all + self.reserved >= self.count_max {
            let message =
                "remaining connection slots are reserved for non-replication superuser connections";
            return refused(message.to_owned());
        }
        let of_role = counts.by_role.get(guest.role).copied().unwrap_or(0);
        if !guest.superuser && guest.limit.is_some_and(|limit| of_role >= limit) {
            return refused(format!("too many connections for role \"{}\"", guest.role));
        }
        counts.all += 1;
        *counts.by_role.entry(guest.role.to_owned()).or_default() += 1;
        Ok(Place { places: self.clone(), role: guest.role.to_owned() })
    }
}
