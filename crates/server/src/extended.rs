//! The extended protocol: statements that are prepared, portals that are run in parts.

use std::io;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use engine::{
    Announced, CursorStatement, Datum, Executed, Held, NamedStatement, Parameter, Query, Setting,
    Shape, SqlError, SqlResult, SqlState, Statement, Template, TransactionStatus, no_statement,
    nulls,
};
use types::{binary, oid};

use crate::attend::unless_gone;
use crate::connection::{Answer, Connection};
use crate::frame::Frame;
use crate::message::{self, Bind, Named, Parse};
use crate::rows::{Form, Rows};

/// A statement with its parameters, and as much of its result as is still to be sent.
pub(crate) struct Portal {
    /// What is to run; `None` is the empty statement, and one that has begun to give `rows`.
    pub bound: Option<Executed>,
    pub text: Announced,
    pub shape: Option<Arc<Shape>>,
    pub formats: Vec<i16>,
    pub rows: Option<Rows>,
    /// Whether `DECLARE` made it.
    pub cursor: bool,
    /// When it ends.
    pub end: CursorEnd,
    /// The statement that it was bound from; `None` for a cursor.
    pub source: Option<Arc<NamedStatement>>,
    /// The memory that it takes.
    pub _held: Option<Held>,
}

/// Memory of a portal besides the values of its parameters.
pub(crate) const PORTAL_BYTES: usize = 4 << 10;

/// When a portal ends that nobody closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorEnd {
    /// With its transaction.
    Transaction,
    /// With its transaction, if that does not commit: `WITH HOLD`.
    Rollback,
    /// With the session: its transaction has committed.
    Session,
}

impl Portal {
    /// An error with its place in the statement's text.
    fn located(&self, error: SqlError) -> SqlError {
        match &self.source {
            Some(source) => source.located(error),
            None => error,
        }
    }
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_PORTAL, format!("portal \"{name}\" does not exist"))
}

impl Connection {
    /// Answers a message of the extended protocol; after an error all is skipped until `Sync`.
    pub(crate) async fn extended(&mut self, frame: Frame) -> io::Result<()> {
        let outcome = match frame.tag {
            _ if frame.is_too_long => Err(self.session.message_bytes_max().1),
            b'P' => Box::pin(self.parse(&frame.body)).await,
            b'B' => self.bind(frame),
            b'D' => self.describe(&frame.body).await,
            b'C' => self.close(&frame.body),
            _ => self.run_portal(&frame.body).await?,
        };
        if let Err(error) = outcome {
            self.fail(&error);
            self.skipping = true;
        }
        self.flush_if_long().await
    }

    /// Ends a round of the extended protocol.
    pub(crate) async fn sync(&mut self) -> io::Result<()> {
        self.skipping = false;
        if let Err(error) = self.end_implicit().await? {
            self.fail(&error);
        }
        if self.session.transaction_status() == TransactionStatus::Idle {
            self.end_cursors(CursorEnd::Transaction);
        }
        self.ready().await
    }

    async fn parse(&mut self, body: &[u8]) -> SqlResult<()> {
        let Parse { name, text, oids } = Parse::read(body)?;
        let statement = match self.session.prepared_before(text, &oids)? {
            Some(statement) => statement,
            None => match self.by_text(name, text, &oids).await? {
                Some(statement) => statement,
                None => self.prepared_now(text, oids).await?,
            },
        };
        match name {
            "" => self.unnamed = Some(Arc::new(statement)),
            name => self.session.keep_statement(name, statement)?,
        }
        self.output.empty(b'1');
        Ok(())
    }

    /// The statement without a name that is found by its text, if it has literals and no
    /// parameters.
    async fn by_text(
        &self,
        name: &str,
        text: &str,
        oids: &[u32],
    ) -> SqlResult<Option<NamedStatement>> {
        match name.is_empty() && oids.is_empty() {
            true => self.session.prepared_by_text(text).await,
            false => Ok(None),
        }
    }

    async fn prepared_now(&self, text: &str, oids: Vec<u32>) -> SqlResult<NamedStatement> {
        let mut templates = self.session.read_beside(text, Template::all).await?;
        if templates.len() > 1 {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        self.session.prepared_now(templates.pop(), oids, text).await
    }

    /// The prepared statement of this name.
    fn prepared(&self, name: &str) -> SqlResult<Arc<NamedStatement>> {
        match name {
            "" => self.unnamed.clone().ok_or_else(|| no_statement("")),
            name => self.session.named_statement(name).cloned(),
        }
    }

    fn bind(&mut self, frame: Frame) -> SqlResult<()> {
        let Frame { body, held, .. } = frame;
        let bind = Bind::read(&body)?;
        // Of a long message the portal has the memory after it.
        let held = match held {
            Some(held) => held,
            None => self.session.account().hold(PORTAL_BYTES + body.len())?,
        };
        let prepared = self.prepared(bind.statement)?;
        let (given, needed) = (bind.parameters.len(), prepared.oids.len());
        if given != needed {
            let name = bind.statement;
            let message = format!(
                "bind message supplies {given} parameters, but prepared statement \"{name}\" requires {needed}"
            );
            return Err(SqlError::new(SqlState::PROTOCOL_VIOLATION, message));
        }
        let parameters = self.parameters(&bind, &prepared.oids)?;
        let bound = self.session.bound_named(&prepared, &parameters);
        let bound = bound.map_err(|error| prepared.located(error))?;
        let (text, shape) = (prepared.text.clone(), prepared.shape.clone());
        let (formats, rows, cursor) = (bind.formats, None, false);
        let (end, source) = (CursorEnd::Transaction, Some(prepared));
        let portal =
            Portal { bound, text, shape, formats, rows, cursor, end, source, _held: Some(held) };
        self.portals.insert(bind.portal.to_owned(), portal);
        self.output.empty(b'2');
        Ok(())
    }

    /// The values that a message binds parameters of these types to. In a failed block none is
    /// looked at further.
    fn parameters(&self, bind: &Bind<'_>, oids: &[u32]) -> SqlResult<Vec<Parameter>> {
        let _entered = types::zone::enter(self.session.context());
        let values = bind.parameters.iter().zip(oids).enumerate();
        let read = values.map(|(index, ((format, bytes), oid))| {
            parameter(*oid, *format, *bytes).map_err(|error| of_parameter(index, error))
        });
        read.collect::<SqlResult<_>>().or_else(|error| {
            self.session.check_not_failed()?;
            Err(error)
        })
    }

    async fn describe(&mut self, body: &[u8]) -> SqlResult<()> {
        match Named::read(body, "DESCRIBE")? {
            Named::Statement(name) => {
                let source = self.prepared(name)?;
                self.parameter_description(&source.oids);
                let columns = match self.session.described_columns(&source) {
                    Some(columns) => columns,
                    None => self.columns_of_statement(&source).await?,
                };
                source.tell(&columns);
                self.output.columns(columns.as_ref(), &[]);
            }
            Named::Portal(name) => {
                let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
                let columns = match (&portal.rows, &portal.bound) {
                    (Some(rows), _) => Ok(Some(rows.stream.schema().clone())),
                    (None, Some(Executed::Point(point))) => Ok(Some(point.schema())),
                    (None, Some(Executed::Statement(s))) => self.columns_of(Some(s)).await,
                    (None, None) => Ok(None),
                };
                let columns = columns.map_err(|error| portal.located(error))?;
                self.output.columns(columns.as_ref(), &portal.formats);
            }
        }
        Ok(())
    }

    async fn columns_of_statement(&self, source: &NamedStatement) -> SqlResult<Option<SchemaRef>> {
        let columns = match &source.statement {
            Some(statement) => {
                let bound = statement.template().bind(&nulls(&source.oids))?;
                self.columns_of(Some(&bound)).await
            }
            None => match self.session.bound_named(source, &[]) {
                Ok(Some(Executed::Point(point))) => Ok(Some(point.schema())),
                Ok(Some(Executed::Statement(bound))) => self.columns_of(Some(&bound)).await,
                Ok(None) => Ok(None),
                Err(error) => Err(error),
            },
        };
        columns.map_err(|error| source.located(error))
    }

    async fn columns_of(&self, statement: Option<&Statement>) -> SqlResult<Option<SchemaRef>> {
        match statement {
            Some(statement) => self.columns(statement).await,
            None => Ok(None),
        }
    }

    fn parameter_description(&mut self, oids: &[u32]) {
        self.output.message(b't', |body| {
            body.extend_from_slice(&(oids.len() as u16).to_be_bytes());
            for oid in oids {
                let oid = if matches!(*oid, 0 | oid::UNKNOWN) { oid::TEXT } else { *oid };
                body.extend_from_slice(&oid.to_be_bytes());
            }
        });
    }

    /// The columns of what a statement gives; `None` when it gives no rows.
    async fn columns(&self, statement: &Statement) -> SqlResult<Option<SchemaRef>> {
        let texts = |names: &[&str]| {
            let field = |name: &&str| Field::new(*name, DataType::Utf8View, true);
            Some(Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>())))
        };
        Ok(match statement {
            Statement::Query(query) => Some(self.described(query).await?),
            Statement::Explain(_) | Statement::ExplainWrite(_) => texts(&["QUERY PLAN"]),
            Statement::CheckDatabase => texts(&[engine::CHECK_COLUMN]),
            Statement::Show { name } if name.eq_ignore_ascii_case("all") => {
                texts(&["name", "setting", "description"])
            }
            Statement::Show { name } => texts(&[Setting::find(name)?.name]),
            Statement::Cursor(CursorStatement::Fetch(fetch)) if !fetch.is_move => {
                // A missing portal may be declared before this runs.
                let portal = self.portals.get(&fetch.cursor);
                portal
                    .and_then(|portal| portal.rows.as_ref())
                    .map(|rows| rows.stream.schema().clone())
            }
            Statement::Execute(execute) => match self.session.executed(execute)? {
                Executed::Statement(statement) => Box::pin(self.columns(&statement)).await?,
                Executed::Point(point) => Some(point.schema()),
            },
            Statement::WithWrites(with) => self.session.describe_with(with).await?,
            other => self.session.returned(other)?,
        })
    }

    /// The columns of a query, as long as there is somebody to tell.
    async fn described(&self, query: &Query) -> SqlResult<SchemaRef> {
        let describe = self.session.describe(query);
        let described = unless_gone(&self.stream, self.ending(), describe).await;
        // Who is gone hears of nothing; the connection finds out when it reads on.
        described.unwrap_or_else(|_| Err(SqlError::cancelled()))
    }

    fn close(&mut self, body: &[u8]) -> SqlResult<()> {
        match Named::read(body, "CLOSE")? {
            Named::Statement("") => self.unnamed = None,
            Named::Statement(name) => {
                self.session.forget_statements(Some(name));
            }
            Named::Portal(name) => {
                if self.portals.remove(name).is_some_and(|portal| portal.cursor) {
                    self.session.hide_cursors(Some(name));
                }
            }
        }
        self.output.empty(b'3');
        Ok(())
    }

    async fn run_portal(&mut self, body: &[u8]) -> io::Result<SqlResult<()>> {
        let (name, limit) = match message::execute(body) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let Some(mut portal) = self.portals.remove(name) else { return Ok(Err(no_portal(name))) };
        if portal.rows.is_none() {
            let Some(bound) = portal.bound.take() else {
                self.output.empty(b'I');
                return Ok(Ok(()));
            };
            let activity = self.session.activity();
            activity.announce(&portal.text);
            if let Some(shape) = &portal.shape {
                activity.announce_shape(shape.clone());
            }
            self.text = Some(portal.text.shown().clone());
            let executed = match bound {
                Executed::Statement(statement) => self.execute_before_sync(*statement).await?,
                Executed::Point(point) => self.look_up(&point).await,
            };
            match executed {
                Err(error) => return Ok(Err(portal.located(error))),
                Ok(Answer::Command { tag }) => {
                    self.output.command_complete(&tag);
                    return Ok(Ok(()));
                }
                Ok(Answer::Fetch(fetching)) => {
                    let sent = self.send_fetched(&fetching, &portal.formats, true);
                    let sent = Box::pin(sent).await?;
                    return Ok(sent.map(|tag| self.output.command_complete(&tag)));
                }
                Ok(Answer::Rows(rows)) => {
                    let checked = portal.source.as_ref().map(|s| s.check_result(rows.schema()));
                    if let Some(Err(error)) = checked {
                        return Ok(Err(error));
                    }
                    portal.rows = Some(Rows::new(rows));
                }
            }
        } else if let Err(error) = self.session.check_not_failed() {
            self.portals.insert(name.to_owned(), portal);
            return Ok(Err(error));
        }
        let limit = u64::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(u64::MAX);
        let sent = self.some_rows(&mut portal, limit).await?;
        self.portals.insert(name.to_owned(), portal);
        Ok(sent)
    }

    /// Runs a statement of a pipeline. One that writes is a transaction of its own if the pipeline ends
    /// behind it, and else the first of those that are one together.
    async fn execute_before_sync(&mut self, statement: Statement) -> io::Result<SqlResult<Answer>> {
        if self.session.may_be_alone(&statement) {
            let goes_on = self.input.peek(&mut self.stream).await? != Some(b'S');
            self.session.expect_more(goes_on);
        }
        self.execute(statement).await
    }

    /// Sends up to `limit` rows of a portal, and whether there may be more.
    async fn some_rows(&mut self, portal: &mut Portal, limit: u64) -> io::Result<SqlResult<()>> {
        let rows = portal.rows.as_mut().expect("the portal has run");
        let sent = match self.take_rows(rows, limit, Form::Data(&portal.formats)).await? {
            Ok(sent) => sent,
            Err(error) => return Ok(Err(portal.located(error))),
        };
        match sent.at_end {
            true => self.output.command_complete(&rows.stream.tag(sent.count)),
            false => self.output.empty(b's'),
        }
        Ok(Ok(()))
    }
}

/// Says which parameter has the wrong bytes.
fn of_parameter(index: usize, error: SqlError) -> SqlError {
    match error.state {
        SqlState::BAD_BINARY => {
            let message = format!("{} in bind parameter {}", error.message, index + 1);
            SqlError { message, ..error }
        }
        _ => error,
    }
}

/// The value of a parameter, from its bytes in a format.
pub(crate) fn parameter(oid: u32, format: i16, bytes: Option<&[u8]>) -> SqlResult<Parameter> {
    match (format, bytes) {
        (_, None) => Ok(Parameter::of_type(oid, Datum::Null)),
        (0, Some(bytes)) => Parameter::read(oid, binary::text(bytes)?),
        (_, Some(bytes)) => Ok(Parameter::of_type(oid, binary::datum(oid, bytes)?)),
    }
}
