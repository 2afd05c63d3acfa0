//! `statement_timeout`: a statement that takes longer is cancelled.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use engine::{Session, SqlError, SqlResult, SqlState};
use runtime::{JoinHandle, spawn, time};

/// The clock of one statement.
pub(crate) struct Limit {
    over: Rc<Cell<bool>>,
    timer: Option<JoinHandle<()>>,
}

impl Limit {
    /// Starts the clock, if the session has one.
    pub fn start(session: &mut Session) -> Limit {
        let over = Rc::new(Cell::new(false));
        let ms = session.settings().statement_timeout_ms;
        let timer = (ms > 0).then(|| {
            let (over, handle) = (over.clone(), session.cancel_handle());
            spawn(async move {
                time::sleep(Duration::from_millis(ms)).await;
                over.set(true);
                handle.cancel();
            })
        });
        Limit { over, timer }
    }

    /// Stops the clock, and says so when it was the reason for the end.
    pub fn judge<T>(self, result: SqlResult<T>) -> SqlResult<T> {
        result.map_err(|error| match self.over.get() && error.state == SqlState::QUERY_CANCELED {
            true => SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            ),
            false => error,
        })
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}
