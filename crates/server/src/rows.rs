//! Rows on their way to a client: as fast as they come and as fast as they are read, whichever is
//! slower. Before the connection waits for rows it sends those that it has.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use arrow_schema::{FieldRef, Schema};
use engine::{Held, Portion, RowStream, Session, SqlError, SqlResult};
use types::{described, oid};

use crate::attend::unless_gone;
use crate::connection::Connection;
use crate::message::format_at;
use crate::taken::Taken;

/// A result and where it goes on.
pub(crate) struct Rows {
    pub stream: RowStream,
    taken: Option<Taken>,
    row: usize,
    /// Whether it has begun, so that it must be woken before more is taken.
    lies_still: bool,
    /// Nothing is left.
    is_over: bool,
    /// Rows taken so far.
    pub position: u64,
    /// Bytes in the session's account since it lay still.
    held: Option<Held>,
}

/// Memory of a query that lies still: its plan, its tasks, and the first of its rows. Some 60 KiB
/// were measured for one of few rows, 300 KiB for one of 1,000 rows of 1 KiB each among thousands.
const STILL_BYTES: usize = 96 << 10;

impl Rows {
    pub fn new(stream: RowStream) -> Rows {
        let (taken, row, position) = (None, 0, 0);
        let (lies_still, is_over, held) = (false, false, None);
        Rows { stream, taken, row, lies_still, is_over, position, held }
    }

    /// It is not wanted before something else has run.
    ///
    /// # Errors
    /// 53200 when the session may not keep one more.
    pub fn lie_still(&mut self, session: &mut Session) -> SqlResult<()> {
        session.pause(&mut self.stream);
        self.lies_still = true;
        if self.held.is_none() && self.stream.is_query() {
            self.held = Some(session.account().hold(STILL_BYTES)?);
        }
        Ok(())
    }
}

/// What was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Rows.
    pub count: u64,
    /// Whether the result ended before the limit was reached. PostgreSQL does not look for one more
    /// either.
    pub at_end: bool,
}

/// What becomes of the rows.
pub(crate) enum Form<'a> {
    /// They are sent, their columns in these formats.
    Data(&'a [i16]),
    /// They are passed over.
    Nothing,
}

impl Connection {
    /// Takes up to `limit` rows of a result. The outer error ends the connection, and with it the
    /// query.
    pub(crate) async fn take_rows(
        &mut self,
        rows: &mut Rows,
        limit: u64,
        form: Form<'_>,
    ) -> io::Result<SqlResult<Sent>> {
        if rows.is_over || limit == 0 {
            return Ok(Ok(Sent { count: 0, at_end: rows.is_over }));
        }
        if std::mem::take(&mut rows.lies_still) {
            self.session.resume(&mut rows.stream);
        }
        self.output.intervals = self.session.settings().interval_style;
        self.output.context = self.session.context();
        let taken = self.take_rows_now(rows, limit, form).await?;
        if rows.stream.is_query() && !matches!(taken, Ok(Sent { at_end: false, .. })) {
            self.has_run();
        }
        rows.position += taken.as_ref().map_or(0, |sent| sent.count);
        match taken {
            Ok(sent) if sent.at_end => {
                (rows.is_over, rows.held) = (true, None);
                Ok(self.session.finish(&rows.stream).await.map(|()| sent))
            }
            Ok(sent) => {
                let still = rows.lie_still(&mut self.session);
                Ok(still.and_then(|()| self.session.check_rows(&rows.stream)).map(|()| sent))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    async fn take_rows_now(
        &mut self,
        rows: &mut Rows,
        limit: u64,
        form: Form<'_>,
    ) -> io::Result<SqlResult<Sent>> {
        if let Form::Data(formats) = form
            && let Err(error) = refuse_names(rows.stream.schema(), formats)
        {
            return Ok(Err(error));
        }
        let mut count = 0;
        while count < limit {
            let Some(taken) = &mut rows.taken else {
                (rows.taken, rows.row) = match self.next_portion(&mut rows.stream).await? {
                    Ok(Some(portion)) => (Some(Taken::new(portion, &rows.stream)), 0),
                    Ok(None) => return Ok(Ok(Sent { count, at_end: true })),
                    Err(error) => return Ok(Err(error)),
                };
                continue;
            };
            while rows.row < taken.row_count() && count < limit {
                if let Form::Data(formats) = form
                    && let Err(error) = self.output.row(taken, rows.row, formats)
                {
                    return Ok(Err(error));
                }
                (rows.row, count) = (rows.row + 1, count + 1);
                self.flush_if_long().await?;
            }
            if rows.row == taken.row_count() {
                rows.taken = None;
            }
        }
        Ok(Ok(Sent { count, at_end: false }))
    }

    /// The next rows. What is there is taken at once; before it waits, the connection sends what it
    /// has. A client that leaves while it waits ends the query.
    pub(crate) async fn next_portion(
        &mut self,
        stream: &mut RowStream,
    ) -> io::Result<SqlResult<Option<Portion>>> {
        let at_once = poll_fn(|cx| {
            Poll::Ready(match stream.poll_portion(cx) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            })
        });
        if let Some(result) = at_once.await {
            return Ok(result);
        }
        if self.output.has_rows {
            self.flush().await?;
        }
        unless_gone(&self.stream, self.ending(), stream.next_portion()).await
    }
}

/// Refuses relations by their names where a client wants numbers.
///
/// # Errors
/// 0A000
fn refuse_names(schema: &Schema, formats: &[i16]) -> SqlResult<()> {
    let mut fields = schema.fields().iter().enumerate();
    let is_one = |(index, field): (usize, &FieldRef)| {
        format_at(formats, index) != 0 && described::wire_type(field).oid == oid::REGCLASS
    };
    match fields.any(is_one) {
        false => Ok(()),
        true => Err(SqlError::unsupported("regclass in binary format")
            .with_hint("Cast it to text, or to oid.")),
    }
}
