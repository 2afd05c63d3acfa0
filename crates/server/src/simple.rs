//! The simple protocol: a text of statements, all answered before the next query.

use std::io;
use std::sync::Arc;

use engine::{Announced, SqlError, SqlResult, Statement, Template};

use crate::connection::{Answer, Connection};
use crate::message::Reader;
use crate::rows::{Form, Rows};

impl Connection {
    /// Answers a `Query`.
    pub(crate) async fn simple_query(&mut self, body: &[u8]) -> io::Result<()> {
        self.skipping = false;
        self.portals.remove("");
        let outcome = self.run_all(body).await?;
        if let Err(error) = outcome {
            self.fail(&error);
        }
        self.ready().await
    }

    async fn run_all(&mut self, body: &[u8]) -> io::Result<SqlResult<()>> {
        if let Some(answered) = self.known_look_up(body).await? {
            return Ok(answered);
        }
        let (text, templates, statements) = match read(body).await {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(session) = &self.session {
            session.activity().announce(&text);
        }
        self.text = Some(text.shown().clone());
        if templates.is_empty() {
            self.output.empty(b'I');
        }
        for (statement, template) in statements.into_iter().zip(&templates) {
            if let Some(session) = &self.session {
                session.activity().announce_shape(Arc::new(template.shape()));
            }
            match self.execute(statement).await? {
                Err(error) => return Ok(Err(template.located(error))),
                Ok(Answer::Command { tag }) => self.output.command_complete(&tag),
                Ok(Answer::Fetch(fetching)) => {
                    if let Err(error) = self.send_fetched(&fetching, &[], false).await? {
                        return Ok(Err(error));
                    }
                }
                Ok(Answer::Rows(rows)) => {
                    if let Err(error) = self.all_rows(Rows::new(rows)).await? {
                        return Ok(Err(template.located(error)));
                    }
                }
            }
        }
        Ok(Ok(()))
    }

    /// Answers a look-up of which the like has been planned before.
    async fn known_look_up(&mut self, body: &[u8]) -> io::Result<Option<SqlResult<()>>> {
        let mut reader = Reader(body);
        let (Ok(text), Ok(()), Some(session)) = (reader.string(), reader.end(), &mut self.session)
        else {
            return Ok(None);
        };
        let Some((point, shape)) = session.known_look_up(text) else { return Ok(None) };
        session.activity().announce(&text.into());
        session.activity().announce_shape(shape);
        match self.look_up(&point).await {
            Ok(Answer::Rows(rows)) => self.all_rows(Rows::new(rows)).await.map(Some),
            Ok(_) => Ok(None),
            Err(error) => Ok(Some(Err(error))),
        }
    }

    /// Sends a whole result, row by row as it comes.
    async fn all_rows(&mut self, mut rows: Rows) -> io::Result<SqlResult<()>> {
        self.output.row_description(rows.stream.schema(), &[]);
        let sent = match self.take_rows(&mut rows, u64::MAX, Form::Data(&[])).await? {
            Ok(sent) => sent,
            Err(error) => return Ok(Err(error)),
        };
        self.output.command_complete(&rows.stream.tag(sent.count));
        Ok(Ok(()))
    }
}

/// Longest text that is parsed at once: it takes some milliseconds.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// The statements of a message, and the text that others see. What does not parse runs in no part.
async fn read(body: &[u8]) -> SqlResult<(Announced, Vec<Template>, Vec<Statement>)> {
    let mut reader = Reader(body);
    let text = reader.string()?;
    reader.end()?;
    let (templates, statements) = match text.len() > TEXT_BYTES_MAX {
        false => parsed(text)?,
        true => {
            let text = text.to_owned();
            let parsed = runtime::offload(move || parsed(&text)).await;
            parsed.map_err(|aborted| SqlError::internal(format!("parsing failed: {aborted}")))??
        }
    };
    Ok((text.into(), templates, statements))
}

fn parsed(text: &str) -> SqlResult<(Vec<Template>, Vec<Statement>)> {
    let templates = Template::all(text)?;
    let bound = templates.iter().map(|t| t.bind(&[]).map_err(|error| t.located(error)));
    let statements = bound.collect::<SqlResult<Vec<_>>>()?;
    Ok((templates, statements))
}
