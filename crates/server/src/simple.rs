//! The simple protocol: a text of statements, all answered before the next query.

use std::io;

use engine::{Announced, ResultSet, SqlError, SqlResult, StatementResult, Template};

use crate::connection::Connection;
use crate::message::Reader;

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
        let (text, templates) = match statements(body) {
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
        for template in templates {
            let statement = match template.bind(&[]) {
                Ok(statement) => statement,
                Err(error) => return Ok(Err(error)),
            };
            match self.execute(statement).await? {
                Err(error) => return Ok(Err(error)),
                Ok(StatementResult::Command { tag }) => self.output.command_complete(&tag),
                Ok(StatementResult::Rows(rows)) => {
                    if let Err(error) = self.all_rows(&rows).await? {
                        return Ok(Err(error));
                    }
                }
            }
        }
        Ok(Ok(()))
    }

    /// Sends a whole result.
    async fn all_rows(&mut self, rows: &ResultSet) -> io::Result<Result<(), SqlError>> {
        self.output.row_description(&rows.schema, &[]);
        for batch in &rows.batches {
            for row in 0..batch.num_rows() {
                if let Err(error) = self.output.row(batch, row, &[]) {
                    return Ok(Err(error));
                }
                self.flush_if_long().await?;
            }
        }
        self.output.command_complete(&rows.tag);
        Ok(Ok(()))
    }
}

fn statements(body: &[u8]) -> SqlResult<(Announced, Vec<Template>)> {
    let mut reader = Reader(body);
    let text = reader.string()?;
    reader.end()?;
    Ok((text.into(), Template::all(text)?))
}
