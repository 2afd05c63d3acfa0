//! The simple protocol: a text of statements, all answered before the next query.

use std::io;
use std::sync::Arc;

use engine::{
    Announced, Executed, Part, PointExecution, Shape, SqlError, SqlResult, Statement, Template,
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
            Ok(None) => match self.session.parts(text) {
                Some(parts) => return Box::pin(self.run_parts(text, parts)).await,
                None => self.session.read_beside(text, read).await,
            },
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
                Err(error) => {
                    let template = template.or_else(|| template_of(whole, number));
                    return Ok(Err(located(template, error)));
                }
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

    /// Answers a text of several statements, each of which is found by its own text.
    async fn run_parts(&mut self, text: &str, parts: Vec<Part<'_>>) -> io::Result<SqlResult<()>> {
        let announced = Announced::from(text);
        self.session.activity().announce(&announced);
        self.text = Some(announced.shown().clone());
        let last = parts.len() - 1;
        for (number, part) in parts.into_iter().enumerate() {
            self.session.expect_more(number < last);
            let before = text[..part.start].chars().count();
            let mut ended = self.run_part(part).await?;
            if number == last && ended.is_ok() {
                ended = self.end_implicit().await?.and(ended);
            }
            match ended {
                Ok(tag) => self.output.command_complete(&tag),
                Err(error) => return Ok(Err(moved(error, before))),
            }
        }
        Ok(Ok(()))
    }

    /// Runs one statement of several and sends its rows; its tag, or an error with its place in the
    /// statement's own text.
    async fn run_part(&mut self, part: Part<'_>) -> io::Result<SqlResult<String>> {
        let text = part.text;
        let ran = self.run_known(part).await?;
        Ok(ran.map_err(|error| located(template_of(text, 0), error)))
    }

    async fn run_known(&mut self, part: Part<'_>) -> io::Result<SqlResult<String>> {
        let (statement, shape) = match self.session.recalled(part.text).await {
            Ok(Some((Executed::Statement(statement), shape))) => (*statement, shape),
            Ok(Some((Executed::Point(point), shape))) => {
                return self.looked_up(&point, shape).await;
            }
            Ok(None) => match part.template().and_then(|template| bound(&template)) {
                Ok(read) => read,
                Err(error) => return Ok(Err(error)),
            },
            Err(error) => return Ok(Err(error)),
        };
        self.session.activity().announce_shape(shape);
        self.run_one(statement).await
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
        let sent = self.looked_up(point, shape).await?;
        Ok(sent.map(|tag| self.output.command_complete(&tag)))
    }

    /// Sends the rows of a look-up; its tag.
    async fn looked_up(
        &mut self,
        point: &PointExecution,
        shape: Arc<Shape>,
    ) -> io::Result<SqlResult<String>> {
        self.session.activity().announce_shape(shape);
        match self.look_up(point).await {
            Ok(Answer::Rows(rows)) => self.all_rows(Rows::new(rows)).await,
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

/// An error with its place in the text of its statement, if that is known.
fn located(template: Option<Template>, error: SqlError) -> SqlError {
    match template {
        Some(template) => template.located(error),
        None => error,
    }
}

/// An error whose place is so many characters further on.
fn moved(error: SqlError, characters: usize) -> SqlError {
    match error.position {
        Some(position) => SqlError { position: Some(position + characters), ..error },
        None => error,
    }
}

/// The template of a statement of a text, which is read for it.
fn template_of(text: &str, number: usize) -> Option<Template> {
    Template::all(text).ok()?.into_iter().nth(number)
}

/// The statements of a message. What does not parse runs in no part.
fn read(text: &str) -> SqlResult<Vec<Read>> {
    let one = |template: Template| {
        let (statement, shape) = bound(&template).map_err(|error| template.located(error))?;
        Ok(Read { template: Some(template), statement, shape })
    };
    Template::all(text)?.into_iter().map(one).collect()
}

/// A statement without values, and what it has in common with others.
fn bound(template: &Template) -> SqlResult<(Statement, Arc<Shape>)> {
    Ok((template.bind(&[])?, Arc::new(template.shape())))
}
