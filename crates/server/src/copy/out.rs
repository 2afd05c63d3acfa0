//! `COPY .. TO STDOUT`: rows leave as they come, each in a message of its own.

use std::io;

use engine::{Copied, CopyFormatter, CopyTo, RowStream, SqlResult, StatementResult};

use crate::connection::{Answer, Connection};

impl Connection {
    /// Runs a COPY whose data the client gets.
    pub(crate) async fn copy_out(&mut self, copy: CopyTo) -> io::Result<SqlResult<Answer>> {
        let started = match &copy.copied {
            Copied::Returning(statement) => {
                let performed = self.perform((**statement).clone()).await?;
                performed.and_then(|result| self.returned_rows(&copy, result))
            }
            _ => self.planned(async |session| session.start_copy(&copy).await).await?,
        };
        let (mut rows, formatter) = match started {
            Ok(started) => started,
            Err(error) => return Ok(Err(error)),
        };
        let sent = self.send_copy(&mut rows, &formatter).await?;
        if rows.is_query() {
            self.has_run();
        }
        let count = rows.row_count();
        let finished = match sent {
            Ok(()) => self.session.finish(&rows).await,
            Err(error) => Err(error),
        };
        Ok(finished.map(|()| Answer::Command { tag: format!("COPY {count}") }))
    }

    fn returned_rows(
        &self,
        copy: &CopyTo,
        result: StatementResult,
    ) -> SqlResult<(RowStream, CopyFormatter)> {
        let StatementResult::Rows(result) = result else {
            return Err(engine::nothing_returned());
        };
        let formatter = self.session.copy_formatter(copy, &result.schema)?;
        Ok((RowStream::collected(result), formatter))
    }

    async fn send_copy(
        &mut self,
        rows: &mut RowStream,
        formatter: &CopyFormatter,
    ) -> io::Result<SqlResult<()>> {
        let (format, columns) = (formatter.is_binary(), formatter.column_count());
        self.output.copy_response(b'H', format, columns);
        // The head of a binary file goes with its first row, as PostgreSQL sends it.
        let mut line = vec![];
        formatter.begin(&mut line);
        if !format && !line.is_empty() {
            self.output.copy_data(&line);
            line.clear();
        }
        loop {
            let portion = self.next_portion(rows).await?;
            let vectors = |portion: Option<_>| portion.map(|some| rows.vectors(some)).transpose();
            let batch = match portion.and_then(vectors) {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(error) => return Ok(Err(error)),
            };
            for row in 0..batch.num_rows() {
                if let Err(error) = formatter.row(&batch, row, &mut line) {
                    return Ok(Err(error));
                }
                self.output.copy_data(&line);
                line.clear();
                self.flush_if_long().await?;
            }
        }
        formatter.end(&mut line);
        if !line.is_empty() {
            self.output.copy_data(&line);
        }
        self.output.empty(b'c');
        Ok(Ok(()))
    }
}
