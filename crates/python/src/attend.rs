//! The task that has a session: it does what a connection asks for, one thing after the other, and keeps
//! the results whose rows are still to be taken. Results stay on the worker that has begun them.

mod known;
mod statement;

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use engine::{
    Lent, NamedRelation, Parameter, RowStream, Session, SqlError, SqlResult, SqlState,
    TransactionStatus,
};
use runtime::sync::WaitQueue;

use known::KnownStatements;

/// Results that a session may have open at once. Each holds the batches that its query has made ahead, a
/// few megabytes at most: together they stay below the default memory of a database.
const RESULTS_MAX: usize = 256;

/// Where the answer to a request goes.
pub(crate) type Answer<T> = Sender<SqlResult<T>>;

/// What a connection asks for.
pub(crate) enum Request {
    Run(Run, Answer<Ran>),
    RunMany(RunMany, Answer<u64>),
    /// The next rows of a result; `None` at its end, of which it is told once.
    Next(u64, Answer<Option<RecordBatch>>),
    /// A result is wanted no longer.
    Forget(u64),
    Lend(String, Box<Lent>, Answer<()>),
    TakeBack(String, Answer<bool>),
    /// The session ends.
    End(Answer<()>),
}

/// A text to be run.
pub(crate) struct Run {
    pub text: String,
    pub parameters: Vec<Parameter>,
    /// Whether a transaction begins when none is open.
    pub begins: bool,
    /// Whether relations that nobody knows are told instead of running it.
    pub asks: bool,
}

/// A statement to be run for each of several rows of values.
pub(crate) struct RunMany {
    pub text: String,
    pub rows: Vec<Vec<Parameter>>,
    pub begins: bool,
}

/// What running a text gave.
pub(crate) enum Ran {
    /// It did not run: nobody knows these relations.
    Unknown(Vec<NamedRelation>),
    Command {
        tag: String,
    },
    Rows(RanRows),
}

/// Rows, the first of which are there.
pub(crate) struct RanRows {
    pub schema: SchemaRef,
    /// Those that have come already.
    pub batches: Vec<RecordBatch>,
    /// The rest; `None` when nothing is left.
    pub rest: Option<Rest>,
    /// The tag of a statement that has changed rows and returns some.
    pub tag: Option<String>,
}

/// The rows that a result has left. Dropped, it is wanted no longer.
pub(crate) struct Rest {
    pub id: u64,
    mailbox: Arc<Mailbox>,
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.mailbox.send(Request::Forget(self.id));
    }
}

/// Requests on their way to the task. A connection waits for each of its answers, so there are not more
/// than one of each kind and one for each result that was dropped meanwhile: [`RESULTS_MAX`].
#[derive(Default)]
pub(crate) struct Mailbox {
    requests: Mutex<VecDeque<Request>>,
    filled: WaitQueue,
}

impl Mailbox {
    pub fn send(&self, request: Request) {
        self.requests().push_back(request);
        self.filled.wake_one();
    }

    async fn next(&self) -> Request {
        self.filled.wait(|| self.requests().pop_front()).await
    }

    fn requests(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What both sides look at.
#[derive(Default)]
pub(crate) struct Signs {
    /// Somebody wants what runs to end.
    pub stop: AtomicBool,
    status: AtomicU8,
}

impl Signs {
    /// Whether a transaction is open, and whether it has failed.
    pub fn status(&self) -> &'static str {
        ["idle", "open", "failed"][usize::from(self.status.load(Ordering::Acquire))]
    }

    fn show(&self, status: TransactionStatus) {
        let number = match status {
            TransactionStatus::Idle => 0,
            TransactionStatus::Open => 1,
            TransactionStatus::Failed => 2,
        };
        self.status.store(number, Ordering::Release);
    }
}

/// The task's state.
pub(crate) struct Attendant {
    session: Session,
    mailbox: Arc<Mailbox>,
    signs: Arc<Signs>,
    known: KnownStatements,
    results: HashMap<u64, OpenResult>,
    result_count: u64,
    /// The result of the one statement that the open transaction consists of.
    sole: Option<u64>,
}

/// A result whose rows are not all taken.
struct OpenResult {
    rows: RowStream,
    /// What came before it was asked for.
    ahead: Option<RecordBatch>,
    /// Whether it ends with the open transaction, if that is undone.
    in_block: bool,
}

impl Attendant {
    pub fn new(session: Session, mailbox: Arc<Mailbox>, signs: Arc<Signs>) -> Attendant {
        let (known, results) = (KnownStatements::default(), HashMap::new());
        Attendant { session, mailbox, signs, known, results, result_count: 0, sole: None }
    }

    /// Does what is asked for until the session is to end.
    pub async fn serve(mut self) {
        let ended = loop {
            match self.mailbox.next().await {
                Request::Run(run, answer) => {
                    let ran = Box::pin(self.run(run)).await;
                    self.answer(&answer, ran);
                }
                Request::RunMany(run, answer) => {
                    let count = Box::pin(self.run_many(run)).await;
                    self.answer(&answer, count);
                }
                Request::Next(id, answer) => {
                    let rows = self.next_rows(id).await;
                    self.answer(&answer, rows);
                }
                Request::Forget(id) => drop(self.results.remove(&id)),
                Request::Lend(name, lent, answer) => {
                    self.session.lend(&name, *lent);
                    self.answer(&answer, Ok(()));
                }
                Request::TakeBack(name, answer) => {
                    let taken = self.session.take_back(&name);
                    self.answer(&answer, Ok(taken));
                }
                Request::End(answer) => break answer,
            }
        };
        // The session holds the database, which somebody waits to close.
        drop(self);
        let _ = ended.send(Ok(()));
    }

    fn answer<T>(&self, answer: &Answer<T>, what: SqlResult<T>) {
        self.signs.show(self.session.transaction_status());
        // Who asked may have gone.
        let _ = answer.send(what);
    }

    /// The first rows of a result, and the rest if there is one. A small result is whole at once.
    async fn opened(&mut self, mut rows: RowStream) -> SqlResult<RanRows> {
        let schema = rows.schema().clone();
        let first = rows.next().await?;
        let (mut batches, mut ahead, mut is_over) = (vec![], None, first.is_none());
        batches.extend(first);
        if !is_over {
            let next = poll_fn(|cx| Poll::Ready(rows.poll_next(cx))).await;
            match next {
                Poll::Ready(next) => {
                    ahead = next?;
                    is_over = ahead.is_none();
                }
                Poll::Pending => {}
            }
        }
        let tag = (!rows.is_query()).then(|| rows.tag(rows.row_count()));
        if is_over {
            self.session.finish(&rows).await?;
            return Ok(RanRows { schema, batches, rest: None, tag });
        }
        let rest = Some(self.kept(rows, ahead)?);
        Ok(RanRows { schema, batches, rest, tag })
    }

    /// Keeps a result for later.
    fn kept(&mut self, mut rows: RowStream, ahead: Option<RecordBatch>) -> SqlResult<Rest> {
        if self.results.len() >= RESULTS_MAX {
            let message = format!("a connection has at most {RESULTS_MAX} results open");
            return Err(SqlError::new(SqlState("53000"), message)
                .with_hint("Fetch their rows, or close their cursors."));
        }
        self.session.pause(&mut rows);
        self.result_count += 1;
        let (id, mailbox) = (self.result_count, self.mailbox.clone());
        let in_block = self.session.transaction_status() != TransactionStatus::Idle;
        self.results.insert(id, OpenResult { rows, ahead, in_block });
        Ok(Rest { id, mailbox })
    }

    async fn next_rows(&mut self, id: u64) -> SqlResult<Option<RecordBatch>> {
        let Some(mut open) = self.results.remove(&id) else { return Err(gone()) };
        if let Some(ahead) = open.ahead.take() {
            self.results.insert(id, open);
            return Ok(Some(ahead));
        }
        self.session.resume(&mut open.rows);
        match open.rows.next().await {
            Ok(Some(batch)) => {
                self.session.pause(&mut open.rows);
                self.results.insert(id, open);
                Ok(Some(batch))
            }
            Ok(None) => {
                let finished = self.session.finish(&open.rows).await;
                self.session.end_transaction();
                finished.map(|()| None)
            }
            Err(error) => {
                drop(open);
                self.failed(self.sole == Some(id)).await;
                Err(error)
            }
        }
    }

    /// A statement has failed. A transaction that it was all of ends with it: there is nothing that
    /// anybody could want to keep.
    async fn failed(&mut self, was_all: bool) {
        self.session.fail();
        if was_all && self.session.transaction_status() != TransactionStatus::Idle {
            // What cannot be undone now is when the session ends.
            let _ = self.session.run_all("rollback").await;
            self.results.retain(|_, open| !open.in_block);
        }
        self.session.end_transaction();
    }
}

/// 55000
fn gone() -> SqlError {
    SqlError::new(SqlState("55000"), "the rows of this result are gone")
        .with_detail("Its transaction was rolled back, or it has failed before.")
}
