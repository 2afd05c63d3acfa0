//! One connection: messages in, answers out.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use engine::{
    Client, CopyTarget, Discard, Executed, NamedStatement, PointExecution, RowStream, Session,
    SqlError, SqlResult, SqlState, Statement, StatementResult,
};
use runtime::net::{Address, Socket};
use runtime::time;

use crate::Shared;
use crate::block::{Block, in_failed_block};
use crate::cancel::{CancelKey, Doing, Presence};
use crate::copy::CopyPipe;
use crate::cursor::Fetching;
use crate::drain::{self, Stage};
use crate::extended::Portal;
use crate::frame::{Frame, Input};
use crate::limit::Limit;
use crate::log::Severity;
use crate::output::Output;
use crate::places::{Place, Stranger};
use crate::report::Reported;
use crate::stream::{KEPT_BYTES_MAX, Stream};

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
    /// Away only while a statement runs.
    pub session: Option<Session>,
    pub block: Block,
    /// The prepared statement without a name; the others are the session's.
    pub unnamed: Option<Arc<NamedStatement>>,
    pub portals: HashMap<String, Portal>,
    /// Of the open transaction block, in order.
    pub savepoints: Vec<String>,
    /// Whether what follows belongs to the same transaction, without a block: the statements of one
    /// message, or of one pipeline.
    pub goes_on: bool,
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
    pub place: Option<Place>,
    /// Until it has logged in.
    pub stranger: Option<Stranger>,
    /// After an error of the extended protocol, until `Sync`.
    pub skipping: bool,
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
        let session = Some(shared.db.session());
        Connection {
            stream: Stream::new(socket),
            peer,
            input: Input::default(),
            output: Output::default(),
            shared,
            session,
            block: Block::Idle,
            unnamed: None,
            portals: HashMap::new(),
            savepoints: vec![],
            goes_on: false,
            key: None,
            presence: None,
            text: None,
            ran: false,
            reported: Reported::default(),
            rests: true,
            place: None,
            stranger: None,
            skipping: false,
        }
    }

    /// Sends what waits to be sent.
    pub async fn flush(&mut self) -> io::Result<()> {
        let sent = self.stream.send_all(&self.output.bytes).await;
        self.output.bytes.clear();
        self.output.has_rows = false;
        sent
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
            self.rests = false;
            (self.text, self.ran) = (None, false);
            self.answer(frame).await?;
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
        if !self.rests && !self.is_implicit() {
            let next = self.input.next(&mut self.stream).await;
            return self.unless_woken(next);
        }
        if !self.rests {
            self.flush().await?;
        }
        let is_idle = self.block == Block::Idle && !self.is_implicit();
        self.appear(if is_idle { Doing::Rests } else { Doing::Waits });
        self.output.bytes.shrink_to(KEPT_BYTES_MAX);
        if self.must_leave() {
            return self.leave(&drain::farewell());
        }
        let next = match self.pause() {
            None => self.input.next(&mut self.stream).await,
            Some((pause, error)) => {
                match time::timeout(pause, self.input.next(&mut self.stream)).await {
                    Ok(next) => next,
                    Err(_) => return self.leave(&error),
                }
            }
        };
        self.appear(Doing::Works);
        self.unless_woken(next)
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
            Stage::Draining => self.block == Block::Idle && !self.is_implicit(),
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
        let is_idle = self.block == Block::Idle && !self.is_implicit();
        let settings = self.session.as_mut()?.settings();
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
            b'Q' => self.simple_query(&frame.body).await,
            b'S' => self.sync().await,
            b'H' => self.flush().await,
            // What is left of a COPY that failed.
            b'd' | b'c' | b'f' => Ok(()),
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
        if let Some(session) = &mut self.session {
            self.reported.follow(&mut self.output, session);
            if self.block == Block::Idle {
                session.end_transaction();
            }
        }
        if self.is_ended() {
            return Ok(());
        }
        self.output.ready(self.block.status());
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
        self.abandon();
        // Of a statement that ends with its connection the client is told that.
        if self.is_ended() && error.state == SqlState::QUERY_CANCELED {
            return;
        }
        self.record_error(error, Severity::Error);
        self.output.error(error, "ERROR");
    }

    /// Runs a statement as the transaction block allows; what an `EXECUTE` stands for, if it is one.
    /// The outer error ends the connection.
    pub async fn execute(&mut self, statement: Statement) -> io::Result<SqlResult<Answer>> {
        let Statement::Execute(execute) = &statement else { return self.step(statement).await };
        let session = self.session.as_ref().expect("no statement runs now");
        let executed = match self.block {
            Block::Failed => Err(in_failed_block()),
            _ => session.executed(execute),
        };
        match executed {
            Err(error) => Ok(Err(error)),
            Ok(Executed::Statement(statement)) => self.step(*statement).await,
            Ok(Executed::Point(point)) => Ok(self.look_up(&point).await),
        }
    }

    /// The statement that an `EXECUTE` stands for; what is wrong with it is told when it runs.
    pub(crate) fn resolved(&self, statement: &Statement) -> Option<Statement> {
        let (Statement::Execute(execute), Some(session)) = (statement, &self.session) else {
            return None;
        };
        match session.executed(execute) {
            Ok(Executed::Statement(statement)) => Some(*statement),
            _ => None,
        }
    }

    async fn step(&mut self, statement: Statement) -> io::Result<SqlResult<Answer>> {
        if let Statement::Transaction(step) = statement {
            return Ok(self.end_or_begin(step).await?.map(Answer::from));
        }
        if let Err(error) = self.allow(&statement) {
            return Ok(Err(error));
        }
        match &statement {
            Statement::Prepare(prepare) => {
                let session = self.session.as_mut().expect("no statement runs now");
                let prepared = session.prepare(prepare);
                return Ok(prepared.map(|()| Answer::Command { tag: "PREPARE".into() }));
            }
            Statement::Query(query) => {
                let started = self.planned(async |session| session.start(query).await).await?;
                return Ok(started.map(Answer::Rows));
            }
            Statement::Discard(Discard::All) => self.unnamed = None,
            _ => {}
        }
        let statement = match statement {
            Statement::Cursor(cursor) => return self.cursor(cursor).await,
            Statement::CopyTo(copy) if copy.target == CopyTarget::Stdout => {
                return self.copy_out(copy).await;
            }
            other => other,
        };
        let source = match self.copy_in(&statement) {
            Ok(source) => source,
            Err(error) => return Ok(Err(error)),
        };
        let result = match source {
            Some(pipe) => self.copy(statement, pipe).await,
            None => self.perform(statement).await,
        };
        Ok(result?.map(Answer::from))
    }

    /// Runs a look-up that is planned already: one row is found at once, several are a query.
    pub async fn look_up(&mut self, point: &PointExecution) -> SqlResult<Answer> {
        if self.block == Block::Failed {
            return Err(in_failed_block());
        }
        let session = self.session.as_mut().expect("no statement runs now");
        let Some(found) = session.find(point).await.transpose() else {
            return Ok(Answer::Rows(session.start_point(point)));
        };
        self.has_run();
        found.map(|found| Answer::Rows(RowStream::collected(found)))
    }

    /// Runs a statement; it is waited for in any case.
    pub async fn perform(
        &mut self,
        statement: Statement,
    ) -> io::Result<SqlResult<StatementResult>> {
        let mut session = self.session.take().expect("one statement runs at a time");
        let limit = Limit::start(&mut session);
        let handle = session.cancel_handle();
        let run = session.run(statement, Client::default());
        let result = self.attended(run, &handle).await?;
        self.welcome_back(session);
        Ok(limit.judge(result))
    }

    /// A statement has run, well or not.
    pub(crate) fn has_run(&mut self) {
        self.ran = true;
        self.record_statement();
    }

    /// Takes the session back from a statement, and passes on what it has to tell.
    fn welcome_back(&mut self, mut session: Session) {
        session.take_notices().iter().for_each(|notice| self.output.notice(notice));
        self.session = Some(session);
        self.has_run();
    }

    /// Runs a COPY that the client feeds: its task and the client's messages go on together.
    async fn copy(
        &mut self,
        statement: Statement,
        (sender, receiver): CopyPipe,
    ) -> io::Result<SqlResult<StatementResult>> {
        self.flush().await?;
        let mut session = self.session.take().expect("one statement runs at a time");
        let running = runtime::spawn(async move {
            let client = Client { input: Some(receiver), ..Client::default() };
            let result = session.run(statement, client).await;
            (session, result)
        });
        let fed = self.feed(sender).await;
        let (session, result) = running.await.map_err(io::Error::other)?;
        self.welcome_back(session);
        fed.map(|told| told.and(result))
    }
}
