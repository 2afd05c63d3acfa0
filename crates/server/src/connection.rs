//! One connection: messages in, answers out.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use engine::{
    Client, CopySource, CopyTarget, Discard, Executed, NamedStatement, PointExecution, RowStream,
    Session, SqlError, SqlResult, SqlState, Statement, StatementResult,
};
use foldhash::HashMap;
use runtime::net::{Address, Socket};
use runtime::time;

use crate::cancel::{CancelKey, Doing, Presence};
use crate::cursor::Fetching;
use crate::drain::{self, Stage};
use crate::extended::Portal;
use crate::frame::{Frame, Input};
use crate::log::Severity;
use crate::output::Output;
use crate::report::Reported;
use crate::shared::Shared;
use crate::slots::{Slot, Unauthenticated};
use crate::stream::{KEPT_BYTES_MAX, Stream};
use crate::transaction::status_byte;

/// Bytes of answers that are sent without waiting for the end of the statement.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// What a statement gives.
pub(crate) enum Answer {
    /// A command tag.
    Command { tag: String },
    /// Rows, which are to be taken.
    Rows(RowStream),
    /// Rows of a cursor, which are to be taken.
    Fetch(Fetching),
}

impl From<StatementResult> for Answer {
    fn from(result: StatementResult) -> Answer {
        match result {
            StatementResult::Command { tag } => Answer::Command { tag },
            StatementResult::Rows(result) => Answer::Rows(RowStream::collected(result)),
        }
    }
}

/// A client's connection.
pub(crate) struct Connection {
    pub stream: Stream,
    /// Where the client is.
    pub peer: Address,
    pub input: Input,
    pub output: Output,
    pub shared: Arc<Shared>,
    pub session: Session,
    /// The prepared statement without a name; the others are the session's.
    pub unnamed: Option<Arc<NamedStatement>>,
    pub portals: HashMap<String, Portal>,
    pub key: Option<CancelKey>,
    /// How others see the connection, once it is a client's.
    pub presence: Option<Arc<Presence>>,
    /// The text of the statement that is worked at, as others see it.
    pub text: Option<Arc<str>>,
    /// Whether it has begun to run.
    pub ran: bool,
    /// What the client knows of the session's settings.
    pub reported: Reported,
    /// The last query is answered, and the client has begun no other.
    pub rests: bool,
    pub slot: Option<Slot>,
    /// Until it has logged in.
    pub unauthenticated: Option<Unauthenticated>,
    /// After an error of the extended protocol, until `Sync`.
    pub skipping: bool,
    /// The last statement was cancelled to end the connection: nothing answers it but the farewell.
    pub broken_off: bool,
    /// The client is a replica.
    pub replicates: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.shared.sessions.leave(key);
        }
    }
}

impl Connection {
    pub fn new(socket: Socket, peer: Address, shared: Arc<Shared>) -> Connection {
        let session = shared.db().session();
        Connection {
            stream: Stream::new(socket),
            peer,
            input: Input::default(),
            output: Output::default(),
            shared,
            session,
            unnamed: None,
            portals: HashMap::default(),
            key: None,
            presence: None,
            text: None,
            ran: false,
            reported: Reported::default(),
            rests: true,
            slot: None,
            unauthenticated: None,
            skipping: false,
            broken_off: false,
            replicates: false,
        }
    }

    /// Sends what waits to be sent.
    pub async fn flush(&mut self) -> io::Result<()> {
        flush(&mut self.stream, &mut self.output).await
    }

    /// Sends when much waits, so that a slow client holds up its own query and not our memory.
    pub async fn flush_if_long(&mut self) -> io::Result<()> {
        match self.output.bytes.len() > OUTPUT_BYTES_MAX {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Answers messages until the client leaves.
    pub async fn run(&mut self) -> io::Result<()> {
        loop {
            let frame = match self.next_frame().await {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(error) => return self.part(&error),
            };
            if frame.tag == b'X' {
                return Ok(());
            }
            if self.rests && self.session.is_behind() {
                self.session.catch_up().await;
            }
            self.rests = false;
            (self.text, self.ran) = (None, false);
            self.answer(frame).await?;
            // A pipeline may come as fast as it is answered: others have their turn meanwhile.
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
    }

    /// The client's next message; `None` when the connection ends, and the client knows why.
    async fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        if self.shared.drain.stage() == Stage::Closing || self.is_ended() {
            return self.leave(&drain::farewell());
        }
        if self.input.has_frame() {
            return self.input.next(&mut self.stream).await;
        }
        // In the middle of a pipeline the client may take its time, unless others wait for it.
        if !self.rests && !self.session.is_implicit() {
            let next = self.input.next(&mut self.stream).await;
            return self.unless_woken(next);
        }
        if !self.rests {
            self.flush().await?;
        }
        self.appear(if self.session.is_idle() { Doing::Rests } else { Doing::Waits });
        self.output.bytes.shrink_to(KEPT_BYTES_MAX);
        if self.must_leave() {
            return self.leave(&drain::farewell());
        }
        let next = match self.pause() {
            None => self.next_input().await,
            Some((pause, error)) => match time::timeout(pause, self.next_input()).await {
                Ok(next) => next,
                Err(_) => return self.leave(&error),
            },
        };
        self.appear(Doing::Works);
        self.unless_woken(next)
    }

    /// The next message of a client that rests, which is told meanwhile what it listens to, and
    /// whether its database follows another one.
    async fn next_input(&mut self) -> io::Result<Option<Frame>> {
        while self.session.rests_freely() && self.session.may_be_stirred() {
            self.session.catch_up().await;
            self.reported.follow(&mut self.output, &mut self.session);
            if self.session.is_idle() {
                self.pass_notifications();
            }
            self.flush().await?;
            let (mut stirred, mut readable) =
                (pin!(self.session.stirred()), pin!(self.stream.readable()));
            let is_stirred = poll_fn(|cx| match readable.as_mut().poll(cx) {
                Poll::Ready(ready) => Poll::Ready(ready.map(|()| false)),
                Poll::Pending => stirred.as_mut().poll(cx).map(|()| Ok(true)),
            });
            if !is_stirred.await? {
                break;
            }
        }
        if self.session.database().is_in_recovery()
            && let Some(error) = self.outlasted().await?
        {
            return self.leave(&error);
        }
        self.input.next(&mut self.stream).await
    }

    /// The error of a client that rests in a transaction whose state lasts too long, unless it says
    /// something before.
    async fn outlasted(&mut self) -> io::Result<Option<SqlError>> {
        let (mut over, mut readable) =
            (pin!(self.session.outlasted()), pin!(self.stream.readable()));
        poll_fn(|cx| match readable.as_mut().poll(cx) {
            Poll::Ready(ready) => Poll::Ready(ready.map(|()| None)),
            Poll::Pending => over.as_mut().poll(cx).map(|error| Ok(Some(error))),
        })
        .await
    }

    fn pass_notifications(&mut self) {
        let told = self.session.take_notifications();
        told.iter().for_each(|told| self.output.notification(told));
    }

    /// The end of the stream may be the end of the server.
    fn unless_woken(&mut self, next: io::Result<Option<Frame>>) -> io::Result<Option<Frame>> {
        match next {
            Ok(None) if self.must_leave() => self.leave(&drain::farewell()),
            next => next,
        }
    }

    fn appear(&self, doing: Doing) {
        if let Some(presence) = &self.presence {
            presence.set(doing);
        }
    }

    /// Whether the server or this connection ends, to be asked while work has the session.
    pub(crate) fn ending(&self) -> impl Fn() -> bool + use<> {
        let (shared, presence) = (self.shared.clone(), self.presence.clone());
        move || {
            let is_ended = presence.as_ref().is_some_and(|presence| presence.is_ended());
            is_ended || shared.drain.stage() == Stage::Closing
        }
    }

    /// Whether somebody wants this connection to end.
    fn is_ended(&self) -> bool {
        self.presence.as_ref().is_some_and(|presence| presence.is_ended())
    }

    /// Whether the server or the connection ends, and the client has nothing to finish.
    fn must_leave(&self) -> bool {
        if self.is_ended() {
            return true;
        }
        match self.shared.drain.stage() {
            Stage::Open => false,
            Stage::Draining => self.session.is_idle(),
            Stage::Closing => true,
        }
    }

    fn leave(&mut self, error: &SqlError) -> io::Result<Option<Frame>> {
        self.record_error(error, Severity::Fatal);
        self.output.error(error, "FATAL");
        Ok(None)
    }

    /// Ends the connection because of what cannot be answered otherwise.
    fn break_off<T>(&mut self, error: &SqlError) -> io::Result<T> {
        self.record_error(error, Severity::Fatal);
        self.output.error(error, "FATAL");
        Err(io::ErrorKind::InvalidData.into())
    }

    /// How long the client may pause now, and what it is told if it pauses longer.
    fn pause(&mut self) -> Option<(Duration, SqlError)> {
        let is_idle = self.session.is_idle();
        let settings = self.session.settings();
        let (ms, state, kind) = match is_idle {
            true => (settings.idle_session_ms, "57P05", "idle-session"),
            false => (settings.idle_in_transaction_ms, "25P03", "idle-in-transaction"),
        };
        let message = || format!("terminating connection due to {kind} timeout");
        (ms > 0).then(|| (Duration::from_millis(ms), SqlError::new(SqlState(state), message())))
    }

    /// The last words to a client that does not speak the protocol.
    fn part(&mut self, error: &io::Error) -> io::Result<()> {
        if error.kind() == io::ErrorKind::InvalidData {
            let error = SqlError::new(SqlState::PROTOCOL_VIOLATION, error.to_string());
            self.record_error(&error, Severity::Fatal);
            self.output.error(&error, "FATAL");
        }
        Ok(())
    }

    async fn answer(&mut self, frame: Frame) -> io::Result<()> {
        match frame.tag {
            b'Q' if frame.is_too_long => {
                self.skipping = false;
                self.fail(&self.session.message_bytes_max().1);
                self.ready().await
            }
            b'Q' if self.replicates => self.replication_command(&frame.body).await,
            b'Q' => self.simple_query(&frame.body).await,
            b'S' => self.sync().await,
            b'H' => self.flush().await,
            // The rest of a COPY that failed. Its answer may have waited for what stands behind it.
            b'd' | b'c' | b'f' if self.input.has_frame() => Ok(()),
            b'd' | b'c' | b'f' => self.flush().await,
            _ if self.skipping => Ok(()),
            b'P' | b'B' | b'D' | b'E' | b'C' => self.extended(frame).await,
            b'F' => {
                let error = SqlError::unsupported("the function call message");
                self.output.error(&error, "ERROR");
                self.ready().await
            }
            tag => {
                let message = format!("invalid frontend message type {tag}");
                self.break_off(&SqlError::new(SqlState::PROTOCOL_VIOLATION, message))
            }
        }
    }

    /// Says that the next query may come.
    pub async fn ready(&mut self) -> io::Result<()> {
        self.reported.follow(&mut self.output, &mut self.session);
        self.session.end_transaction();
        if self.broken_off {
            return Ok(());
        }
        if self.session.is_idle() {
            self.pass_notifications();
        }
        self.output.ready(status_byte(self.session.transaction_status()));
        self.rests = true;
        // More of a pipeline may be here already: then one call sends both answers.
        match self.input.has_frame() {
            true => self.flush_if_long().await,
            false => {
                self.output.has_rows = false;
                self.stream.send_soon(&mut self.output.bytes).await
            }
        }
    }

    /// Notes and reports an error.
    pub fn fail(&mut self, error: &SqlError) {
        let error = &self.session.judged(error.clone());
        self.session.fail();
        // Of a statement that ends with its connection the client is told that.
        if self.is_ended() && error.state == SqlState::QUERY_CANCELED {
            self.broken_off = true;
            return;
        }
        self.record_error(error, Severity::Error);
        self.output.error(error, "ERROR");
    }

    /// Runs a statement as the transaction block allows; what an `EXECUTE` stands for, if it is one.
    /// The outer error ends the connection.
    pub async fn execute(&mut self, statement: Statement) -> io::Result<SqlResult<Answer>> {
        if let Err(error) = self.session.admit(&statement) {
            return Ok(Err(error));
        }
        let Statement::Execute(execute) = &statement else { return self.step(statement).await };
        match self.session.executed(execute) {
            Err(error) => Ok(Err(error)),
            Ok(Executed::Statement(statement)) => match self.session.admit(&statement) {
                Ok(()) => self.step(*statement).await,
                Err(error) => Ok(Err(error)),
            },
            Ok(Executed::Point(point)) => Ok(self.look_up(&point).await),
        }
    }

    /// Runs a statement that the transaction lets run.
    async fn step(&mut self, statement: Statement) -> io::Result<SqlResult<Answer>> {
        let result = match statement {
            Statement::Transaction(step) => self.transact(step).await,
            Statement::Prepare(prepare) => {
                let prepared = self.session.prepare(&prepare).await;
                return Ok(prepared.map(|()| Answer::Command { tag: "PREPARE".into() }));
            }
            Statement::Query(query) => {
                let started = self.planned(async |session| session.start(&query).await).await?;
                if !started.as_ref().is_ok_and(RowStream::is_query) {
                    self.has_run();
                }
                return Ok(started.map(Answer::Rows));
            }
            // A rare statement has a future for itself: that of all others is small without it.
            Statement::Cursor(cursor) => return Box::pin(self.cursor(cursor)).await,
            Statement::CopyTo(copy) if copy.target == CopyTarget::Stdout => {
                return Box::pin(self.copy_out(copy)).await;
            }
            Statement::Copy(copy) if copy.source == CopySource::Stdin => {
                Box::pin(self.copy_in(copy)).await
            }
            other => {
                if matches!(other, Statement::Discard(Discard::All)) {
                    self.unnamed = None;
                    self.close_cursors();
                }
                self.perform(other).await
            }
        };
        Ok(result?.map(Answer::from))
    }

    /// Runs a look-up that is planned already: one row is found at once, several are a query.
    pub async fn look_up(&mut self, point: &PointExecution) -> SqlResult<Answer> {
        self.session.check_not_failed()?;
        let rows = self.session.look_up(point).await;
        if !rows.as_ref().is_ok_and(RowStream::is_query) {
            self.has_run();
        }
        rows.map(Answer::Rows)
    }

    /// Runs a statement; it is waited for in any case.
    pub async fn perform(
        &mut self,
        statement: Statement,
    ) -> io::Result<SqlResult<StatementResult>> {
        let run = async |session: &mut Session| session.run(statement, Client::default()).await;
        let result = self.attended(run).await?;
        self.has_run();
        Ok(result)
    }

    /// Passes on what the session has to tell.
    pub(crate) fn pass_notices(&mut self) {
        self.session.take_notices().iter().for_each(|notice| self.output.notice(notice));
    }

    /// A statement has run, well or not.
    pub(crate) fn has_run(&mut self) {
        self.ran = true;
        self.record_statement();
    }
}

/// Sends what waits to be sent.
pub(crate) async fn flush(stream: &mut Stream, output: &mut Output) -> io::Result<()> {
    let sent = stream.send_all(&output.bytes).await;
    output.bytes.clear();
    output.has_rows = false;
    sent
}
