//! The way from threads of Python to the task that has a session: one request at a time, waited for
//! without the interpreter's lock, so that others run meanwhile and Ctrl-C is heard.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use engine::{CancelHandle, Database, SqlError};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::attend::{Answer, Attendant, Mailbox, Request, Signs};
use crate::error::{raised, refused};
use crate::open;

/// How often whoever waits looks for Ctrl-C, and how often progress is shown. An answer wakes it at once.
const TICK: Duration = Duration::from_millis(50);

/// A connection, as all of its cursors and results have it.
pub(crate) struct Link {
    path: PathBuf,
    pub mailbox: Arc<Mailbox>,
    pub signs: Arc<Signs>,
    cancel: CancelHandle,
    /// Whose request is answered: others wait.
    turn: Mutex<()>,
    /// Whose turn it is: its own signal handlers and progress callables would wait for themselves.
    whose: Mutex<Option<ThreadId>>,
    /// `None` when it is closed.
    db: Mutex<Option<Database>>,
    /// What shows progress: a callable, or nothing.
    pub progress: Mutex<Option<Py<PyAny>>>,
}

impl Link {
    /// A session of a database that was entered under this name.
    pub fn new(path: PathBuf, db: Database) -> Link {
        static LINK_COUNT: AtomicU64 = AtomicU64::new(0);
        let number = LINK_COUNT.fetch_add(1, Ordering::Relaxed);
        let worker = (number % db.worker_count() as u64) as usize;
        let (mailbox, signs): (Arc<Mailbox>, Arc<Signs>) = Default::default();
        let session = db.session();
        let cancel = session.cancel_handle();
        let (theirs, seen) = (mailbox.clone(), signs.clone());
        let task = move || Attendant::new(session, theirs, seen).serve();
        // Nobody waits for the task itself: it answers when it ends.
        drop(db.runtime_handle().spawn_on(worker, task));
        let (turn, whose, progress) = Default::default();
        Link { path, mailbox, signs, cancel, turn, whose, db: Mutex::new(Some(db)), progress }
    }

    pub fn is_closed(&self) -> bool {
        lock(&self.db).is_none()
    }

    /// Asks for something that began at `since`, and waits for the answer. The interpreter's lock must
    /// not be held.
    ///
    /// # Errors
    /// The answer's, and what a signal raises: then the statement has been cancelled.
    pub fn ask<T>(
        &self,
        since: Instant,
        request: impl FnOnce(Answer<T>) -> Request,
    ) -> PyResult<T> {
        let _turn = self.take_turn()?;
        if self.is_closed() {
            return Err(raised(&closed()));
        }
        let (answer, answered) = channel();
        self.signs.stop.store(false, Ordering::Release);
        self.mailbox.send(request(answer));
        self.wait(since, &answered)
    }

    /// Waits until no other thread asks for anything.
    ///
    /// # Errors
    /// 55006 when the thread itself does.
    fn take_turn(&self) -> PyResult<Turn<'_>> {
        if *lock(&self.whose) == Some(thread::current().id()) {
            return Err(refused("55006", "the connection runs a statement of this thread"));
        }
        let turn = lock(&self.turn);
        *lock(&self.whose) = Some(thread::current().id());
        Ok(Turn { link: self, _turn: turn })
    }

    /// Ends what runs now, if anything does.
    pub fn interrupt(&self) {
        self.signs.stop.store(true, Ordering::Release);
        self.cancel.cancel();
    }

    /// Ends the session, and closes the database if this was its last one. The interpreter's lock must
    /// not be held.
    ///
    /// # Errors
    /// What closing says.
    pub fn close(&self) -> PyResult<()> {
        let _turn = self.take_turn()?;
        let Some(db) = lock(&self.db).take() else { return Ok(()) };
        let (answer, answered) = channel();
        self.mailbox.send(Request::End(answer));
        // It comes: the task ends at nothing else.
        let _ = answered.recv();
        drop(db);
        open::leave(&self.path).map_err(|error| raised(&error))
    }

    fn wait<T>(&self, since: Instant, answered: &Receiver<Result<T, SqlError>>) -> PyResult<T> {
        let (mut interrupted, mut is_shown) = (None, false);
        loop {
            match answered.recv_timeout(TICK) {
                Ok(answer) => {
                    let ended = if is_shown { self.show(None) } else { Ok(false) };
                    return match interrupted.or(ended.err()) {
                        Some(signal) => Err(signal),
                        None => answer.map_err(|error| raised(&error)),
                    };
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(raised(&SqlError::internal("the session has ended by itself")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if interrupted.is_none() {
                interrupted = Python::attach(|py| py.check_signals()).err();
            }
            match interrupted {
                // Again and again: the statement may begin only now.
                Some(_) => self.interrupt(),
                None => match self.show(Some(since.elapsed())) {
                    Ok(shown) => is_shown |= shown,
                    Err(signal) => interrupted = Some(signal),
                },
            }
        }
    }

    /// Shows how far the query is, or that it has ended; whether somebody wants to know.
    ///
    /// # Errors
    /// What is raised meanwhile and is no error of whoever shows it: Ctrl-C may come then, too.
    fn show(&self, elapsed: Option<Duration>) -> PyResult<bool> {
        Python::attach(|py| {
            let Some(show) = lock(&self.progress).as_ref().map(|show| show.clone_ref(py)) else {
                return Ok(false);
            };
            let told = match elapsed {
                None => show.call1(py, (None::<f64>, 0, 0, 0)),
                Some(elapsed) => {
                    let (done, known, rows) = self.figures();
                    show.call1(py, (elapsed.as_secs_f64(), done, known, rows))
                }
            };
            match told {
                Err(error) if error.is_instance_of::<PyException>(py) => {
                    // Whoever shows progress badly does not end the query.
                    error.write_unraisable(py, None);
                    Ok(true)
                }
                told => told.map(|_| true),
            }
        })
    }

    /// Parts of scans that are done, those known so far, and rows that operators have given, of the
    /// query that began last in this database.
    fn figures(&self) -> (u64, u64, u64) {
        let progress = lock(&self.db).as_ref().and_then(Database::query_progress);
        let Some(progress) = progress else { return (0, 0, 0) };
        let nodes = progress.snapshot().nodes;
        let sum = |figure: fn(&engine::NodeSnapshot) -> u64| nodes.iter().map(figure).sum();
        (sum(|node| node.parts_done), sum(|node| node.parts_known), sum(|node| node.rows))
    }
}

/// The turn of a thread.
struct Turn<'a> {
    link: &'a Link,
    _turn: MutexGuard<'a, ()>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.link.whose) = None;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.is_closed() {
            return;
        }
        // It may happen with the interpreter's lock, which whoever waits for the session must not have.
        let _ = Python::attach(|py| py.detach(|| self.close()));
    }
}

/// 08003
fn closed() -> SqlError {
    SqlError::new(engine::SqlState("08003"), "the connection is closed")
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
