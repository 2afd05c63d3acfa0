//! Running statements: texts of several, one alone, and a `COPY` whose data a program has.

use std::io;
use std::io::{Read, Write};
use std::sync::Arc;

use exec::LocalFuture;
use runtime::Handle;
use runtime::sync::Cancel;
use sql::parse::{self, Statement};
use sql::{Shape, Template};
use types::{SqlError, SqlResult, SqlState};

use super::client::{COPY_CHUNKS, Client};
use super::state::Session;
use crate::pipe::{PipeReceiver, PipeSender, pipe};
use crate::planning::entered;
use crate::result::StatementResult;
use crate::statements::Executed;
use crate::timeout::StatementTimeout;
use crate::{columns, door};

/// Bytes that are read at once for a `COPY`.
const COPY_CHUNK_BYTES: usize = 1 << 18;

impl Session {
    /// Runs all statements of `text` in order, up to the first error. Outside of a block, which `BEGIN`
    /// opens and this or a later text ends, each is a transaction. From an ordinary thread.
    ///
    /// # Errors
    /// That of the first statement which fails.
    pub fn execute(&mut self, text: &str) -> SqlResult<Vec<StatementResult>> {
        let handle = self.db.handle();
        door::wait(&handle, || self.run_all(text))
    }

    /// The same in a task of the database's runtime. Dropped before its end, it fails the block that is
    /// open.
    ///
    /// # Errors
    /// That of the first statement which fails.
    pub fn run_all<'a>(
        &'a mut self,
        text: &'a str,
    ) -> LocalFuture<'a, SqlResult<Vec<StatementResult>>> {
        Box::pin(async move {
            let results = self.run_each(text).await;
            // What cannot be read fails a block, too.
            self.or_fail(results)
        })
    }

    async fn run_each(&mut self, text: &str) -> SqlResult<Vec<StatementResult>> {
        self.activity.announce(&text.into());
        if let Some((known, shape)) = self.recalled(text).await? {
            return self.run_known(known, shape).await.map(|result| vec![result]);
        }
        let statements = Template::all(text)?.into_iter();
        let bound = statements.map(|template| {
            template.bind(&[]).map(|statement| (statement, Arc::new(template.shape())))
        });
        let mut results = vec![];
        for (statement, shape) in bound.collect::<SqlResult<Vec<_>>>()? {
            self.activity.announce_shape(shape);
            let result = self.run(statement, Client::default()).await;
            self.end_transaction();
            results.push(result?);
        }
        Ok(results)
    }

    async fn run_known(
        &mut self,
        known: Executed,
        shape: Arc<Shape>,
    ) -> SqlResult<StatementResult> {
        match known {
            Executed::Point(point) => {
                self.check_not_failed()?;
                self.activity.announce_shape(shape);
                let look_up = async |session: &mut Session, cancel| {
                    session.run_look_up(&point, cancel).await.map(StatementResult::Rows)
                };
                self.watched(look_up).await
            }
            Executed::Statement(statement) => {
                self.activity.announce_shape(shape);
                let result = self.run(*statement, Client::default()).await;
                self.end_transaction();
                result
            }
        }
    }

    /// Makes tables of all that lie one folder below a location of objects, to be read; their names. From an
    /// ordinary thread.
    ///
    /// # Errors
    /// 58P01 where there is none, 42P07 for a name that is taken, and those of the store.
    pub fn attach_all(&mut self, location: &str) -> SqlResult<Vec<String>> {
        let (handle, snapshot) = (self.db.handle(), self.db.snapshot());
        let names = door::wait(&handle, || {
            Box::pin(async { columns::remote::tables::tables(&snapshot, location).await })
        })?;
        if names.is_empty() {
            let message = format!("there are no tables at \"{location}\"");
            return Err(SqlError::new(SqlState::UNDEFINED_FILE, message)
                .with_hint("Tables are folders there: location/table/list."));
        }
        for name in &names {
            let place = format!("{}/{name}", location.trim_end_matches('/')).replace('\'', "''");
            let name = sql::quote_ident(name);
            self.execute(&format!("create table {name} with (location = '{place}')"))?;
        }
        Ok(names)
    }

    /// Runs `COPY table FROM STDIN` with `input` as its data, read by the calling ordinary thread.
    pub fn copy_in(&mut self, text: &str, input: &mut dyn Read) -> SqlResult<StatementResult> {
        let statement = self.only_copy(text)?;
        self.activity.announce(&text.into());
        let (sender, receiver) = pipe(COPY_CHUNKS);
        let (handle, client) = (self.db.handle(), Client { input: Some(receiver), output: None });
        door::wait_beside(
            &handle,
            || self.run(statement, client),
            || {
                send_all(&handle, sender, input);
            },
        )
    }

    /// Runs `COPY .. TO STDOUT`, its data written to `output` by the calling ordinary thread.
    pub fn copy_out(&mut self, text: &str, output: &mut dyn Write) -> SqlResult<StatementResult> {
        let statement = self.only_copy(text)?;
        self.activity.announce(&text.into());
        let (sender, receiver) = pipe(COPY_CHUNKS);
        let (handle, client) = (self.db.handle(), Client { input: None, output: Some(sender) });
        door::wait_beside(
            &handle,
            || self.run(statement, client),
            || {
                write_all(&handle, &receiver, output);
            },
        )
    }

    /// Runs one statement, as its transaction lets it, inside of a task of the database's runtime. An
    /// error fails the block that is open.
    ///
    /// # Errors
    /// The statement's, and those of [`Session::admit`].
    pub fn run(
        &mut self,
        statement: Statement,
        client: Client,
    ) -> LocalFuture<'_, SqlResult<StatementResult>> {
        Box::pin(async move {
            self.enter_statement();
            if self.is_behind() {
                self.catch_up().await;
            }
            let result = match self.admit(&statement) {
                Ok(()) => self.run_admitted(statement, client).await,
                Err(error) => Err(error),
            };
            self.leave_statement();
            self.or_fail(result)
        })
    }

    async fn run_admitted(
        &mut self,
        statement: Statement,
        client: Client,
    ) -> SqlResult<StatementResult> {
        if let Statement::Transaction(step) = &statement {
            return self.transact(step).await;
        }
        let run = async |session: &mut Session, cancel| {
            let done = Box::pin(session.dispatch(statement, client, cancel)).await;
            session.looked(done)
        };
        self.watched(run).await
    }

    /// Does the work of a statement, for others to see, and no longer than `statement_timeout`.
    pub(super) async fn watched(
        &mut self,
        work: impl AsyncFnOnce(&mut Session, Cancel) -> SqlResult<StatementResult>,
    ) -> SqlResult<StatementResult> {
        let (cancel, context) = (self.begin(), self.context());
        let timeout = StatementTimeout::start(&self.settings, &cancel);
        let governor = self.db.governor().clone();
        let result = entered(context, cancel.clone(), &governor, work(self, cancel)).await;
        let rows = result.as_ref().map_or(0, StatementResult::row_count);
        timeout.judge(self.activity.end(result, rows))
    }

    fn only_copy(&mut self, text: &str) -> SqlResult<Statement> {
        let statement = one_copy(text);
        self.or_fail(statement)
    }
}

/// The one statement of a text, a `COPY`.
fn one_copy(text: &str) -> SqlResult<Statement> {
    let mut statements = parse::parse(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement @ (Statement::Copy(_) | Statement::CopyTo(_))), true) => Ok(statement),
        _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, "one COPY statement is expected")),
    }
}

/// Sends what there is to read; the calling thread waits while nobody takes it.
fn send_all(handle: &Handle, sender: PipeSender<Vec<u8>>, input: &mut dyn Read) {
    loop {
        let mut chunk = vec![0; COPY_CHUNK_BYTES];
        match input.read(&mut chunk) {
            Ok(0) => return sender.finish(),
            Ok(count) => chunk.truncate(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return sender.fail(error.to_string()),
        }
        if door::wait(handle, || Box::pin(sender.send(chunk))).is_err() {
            // The statement has ended and says why.
            return;
        }
    }
}

/// Writes what comes. A statement that fails sends no more, and says why.
fn write_all(handle: &Handle, receiver: &PipeReceiver<Vec<u8>>, output: &mut dyn Write) {
    while let Ok(Some(chunk)) = door::wait(handle, || Box::pin(receiver.next())) {
        if let Err(error) = output.write_all(&chunk) {
            return receiver.close(&error.to_string());
        }
    }
}
