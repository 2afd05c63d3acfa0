//! `statement_timeout`: a statement that takes longer is cancelled.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::Cancel;
use runtime::{JoinHandle, spawn, time};
use types::{SqlError, SqlResult, SqlState};

use crate::settings::Settings;

/// The clock of one statement.
pub(crate) struct StatementTimeout {
    over: Rc<Cell<bool>>,
    cancel: Cancel,
    timer: Option<JoinHandle<()>>,
}

impl StatementTimeout {
    /// Starts the clock, if the session has one: when the time is up it cancels.
    pub(crate) fn start(settings: &Settings, cancel: &Cancel) -> StatementTimeout {
        let over = Rc::new(Cell::new(false));
        let ms = settings.statement_timeout_ms;
        if ms > 0 {
            cancel.set_deadline(time::now() + Duration::from_millis(ms));
        }
        let timer = (ms > 0).then(|| {
            let (over, cancel) = (over.clone(), cancel.clone());
            spawn(async move {
                time::sleep(Duration::from_millis(ms)).await;
                over.set(true);
                cancel.cancel();
            })
        });
        StatementTimeout { over, cancel: cancel.clone(), timer }
    }

    /// Says so when the clock was the reason for the end.
    pub(crate) fn judge<T>(&self, result: SqlResult<T>) -> SqlResult<T> {
        let is_over = self.over.get() || self.cancel.is_overdue();
        result.map_err(|error| match is_over && error.state == SqlState::QUERY_CANCELED {
            true => SqlError::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            ),
            false => error,
        })
    }
}

impl Drop for StatementTimeout {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}
