//! The simple protocol: a text of statements, all answered before the next query.

use std::io;
use std::sync::Arc;

use engine::{
    Announced, Executed, PointExecution, Shape, SqlError, SqlResult, Statement, Template,
};

use crate::connection::{Answer, Connection};
use crate::message::Reader;
use crate::rows::{Form, Rows};

impl Connection {
    /// Answers a `Query`.
    pub(crate) async fn simple_query(&mut self, body: &[u8]) -> io::Result<()> {
        self.skipping = false;
        self.portals.remove("");
        let outcome = Box::pin(self.run_all(body)).await?;
        if let Err(error) = outcome {
            self.fail(&error);
        }
        self.ready().await
    }

    async fn run_all(&mut self, body: &[u8]) -> io::Result<SqlResult<()>> {
        let mut reader = Reader(body);
        let text = match reader.string().and_then(|text| reader.end().map(|()| text)) {
            Ok(text) => text,
            Err(error) => return Ok(Err(error)),
        };
        let statements = match self.session.recalled(text).await {
            Ok(Some((Executed::Point(point), shape))) => {
                return self.look_up_known(text, &point, shape).await;
            }
            Ok(Some((Executed::Statement(statement), shape))) => {
                Ok(vec![Read { template: None, statement: *statement, shape }])
            }
            Ok(None) => self.session.read_beside(text, read).await,
            Err(error) => Err(error),
        };
        let statements = match statements {
            Ok(statements) => statements,
            Err(error) => return Ok(Err(error)),
        };
        let whole = text;
        let text = Announced::from(text);
        self.session.activity().announce(&text);
        self.text = Some(text.shown().clone());
        if statements.is_empty() {
            self.output.empty(b'I');
        }
        let all: Vec<&Statement> = statements.iter().map(|read| &read.statement).collect();
        if let Err(error) = self.session.admit_together(&all) {
            return Ok(Err(error));
        }
        let last = statements.len().saturating_sub(1);
        for (number, Read { template, statement, shape }) in statements.into_iter().enumerate() {
            self.session.activity().announce_shape(shape);
            self.session.expect_more(number < last);
            let tag = match self.run_one(statement).await? {
                Ok(tag) => tag,
                Err(error) => return Ok(Err(located(template, whole, error))),
            };
            if number == last
                && let Err(error) = self.end_implicit().await?
            {
                return Ok(Err(error));
            }
            self.output.command_complete(&tag);
        }
        Ok(Ok(()))
    }

    /// Runs one statement and sends its rows; its tag.
    async fn run_one(&mut self, statement: Statement) -> io::Result<SqlResult<String>> {
        match self.execute(statement).await? {
            Err(error) => Ok(Err(error)),
            Ok(Answer::Command { tag }) => Ok(Ok(tag)),
            Ok(Answer::Fetch(fetching)) => self.send_fetched(&fetching, &[], false).await,
            Ok(Answer::Rows(rows)) => self.all_rows(Rows::new(rows)).await,
        }
    }

    /// Answers a look-up of which the like has been planned before.
    async fn look_up_known(
        &mut self,
        text: &str,
        point: &PointExecution,
        shape: Arc<Shape>,
    ) -> io::Result<SqlResult<()>> {
        self.session.activity().announce(&text.into());
        self.session.activity().announce_shape(shape);
        match self.look_up(point).await {
            Ok(Answer::Rows(rows)) => {
                let sent = self.all_rows(Rows::new(rows)).await?;
                Ok(sent.map(|tag| self.output.command_complete(&tag)))
            }
            Ok(_) => Ok(Err(SqlError::internal("a look-up gave no rows"))),
            Err(error) => Ok(Err(error)),
        }
    }

    /// Sends a whole result, row by row as it comes; its tag.
    async fn all_rows(&mut self, mut rows: Rows) -> io::Result<SqlResult<String>> {
        self.output.row_description(rows.stream.schema(), &[]);
        let sent = match self.take_rows(&mut rows, u64::MAX, Form::Data(&[])).await? {
            Ok(sent) => sent,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(rows.stream.tag(sent.count)))
    }
}

/// A statement as it was read.
struct Read {
    /// `None` of a statement whose text has not been read: it is compiled.
    template: Option<Template>,
    statement: Statement,
    shape: Arc<Shape>,
}

/// An error with its place in the text of its statement, which is the whole text if it has no template.
fn located(template: Option<Template>, whole: &str, error: SqlError) -> SqlError {
    let template = template.or_else(|| Template::all(whole).ok()?.pop());
    match template {
        Some(template) => template.located(error),
        None => error,
    }
}

/// The statements of a message. What does not parse runs in no part.
fn read(text: &str) -> SqlResult<Vec<Read>> {
    let one = |template: Template| {
        let statement = template.bind(&[]).map_err(|error| template.located(error))?;
        let shape = Arc::new(template.shape());
        Ok(Read { template: Some(template), statement, shape })
    };
    Template::all(text)?.into_iter().map(one).collect()
}
