//! Cursors: portals that `DECLARE` makes and `FETCH` reads. They run as their rows are fetched, and go
//! forward only.

use std::io;

use engine::{
    CursorInfo, CursorStatement, DeclareCursor, Executed, Fetch, Session, SqlError, SqlResult,
    SqlState, Statement, TransactionStatus, Which, no_block, no_cursor,
};

use crate::connection::{Answer, Connection};
use crate::extended::{CursorEnd, PORTAL_BYTES, Portal};
use crate::rows::{Form, Rows};

/// Rows of a cursor that a `FETCH` is to give.
#[derive(Debug)]
pub(crate) struct Fetching {
    cursor: String,
    /// Rows that are passed over first.
    skip: u64,
    limit: u64,
}

impl Connection {
    /// Runs a statement about a cursor.
    pub(crate) async fn cursor(
        &mut self,
        statement: CursorStatement,
    ) -> io::Result<SqlResult<Answer>> {
        match statement {
            CursorStatement::Declare(declare) => self.declare(declare).await,
            CursorStatement::Close(name) => Ok(self.close_cursor(name.as_deref())),
            CursorStatement::Fetch(fetch) => {
                let fetching = match self.fetching(&fetch) {
                    Ok(fetching) => fetching,
                    Err(error) => return Ok(Err(error)),
                };
                if !fetch.is_move {
                    return Ok(Ok(Answer::Fetch(fetching)));
                }
                let moved = self.take_fetched(&fetching, Form::Nothing).await?;
                Ok(moved.map(|count| Answer::Command { tag: format!("MOVE {count}") }))
            }
        }
    }

    async fn declare(&mut self, declare: DeclareCursor) -> io::Result<SqlResult<Answer>> {
        let DeclareCursor { name, binary, hold, scroll, query, text } = declare;
        let is_in_block = self.session.transaction_status() != TransactionStatus::Idle;
        let end = match (hold, is_in_block) {
            (false, _) => CursorEnd::Transaction,
            (true, true) => CursorEnd::Rollback,
            (true, false) => CursorEnd::Session,
        };
        if !hold && !is_in_block {
            return Ok(Err(no_block("DECLARE CURSOR")));
        }
        if scroll {
            return Ok(Err(SqlError::unsupported("a SCROLL cursor")));
        }
        if hold && query.row_locks().is_some() {
            let error = SqlError::unsupported("DECLARE CURSOR WITH HOLD ... FOR UPDATE")
                .with_detail("Holdable cursors must be READ ONLY.");
            return Ok(Err(error));
        }
        if self.portals.contains_key(&name) {
            let message = format!("cursor \"{name}\" already exists");
            return Ok(Err(SqlError::new(SqlState("42P03"), message)));
        }
        let held = match self.session.account().hold(PORTAL_BYTES + text.len()) {
            Ok(held) => held,
            Err(error) => return Ok(Err(error)),
        };
        let start = async |session: &mut Session| match hold {
            true => session.start_held(&query).await,
            false => session.start(&query).await,
        };
        let mut rows = match self.planned(start).await? {
            Ok(stream) => Rows::new(stream),
            Err(error) => return Ok(Err(error)),
        };
        if let Err(error) = rows.lie_still(&mut self.session) {
            return Ok(Err(error));
        }
        self.session.show_cursor(&name, CursorInfo::new(text.as_str().into(), binary, hold));
        let bound = Some(Executed::Statement(Box::new(Statement::Query(query))));
        let formats = vec![i16::from(binary)];
        let portal = Portal {
            bound,
            text: text.as_str().into(),
            shape: None,
            formats,
            rows: Some(rows),
            cursor: true,
            end,
            source: None,
            _held: Some(held),
        };
        self.portals.insert(name, portal);
        Ok(Ok(Answer::Command { tag: "DECLARE CURSOR".to_owned() }))
    }

    /// Closes all cursors.
    pub(crate) fn close_cursors(&mut self) {
        self.portals.retain(|_, portal| !portal.cursor);
        self.session.hide_cursors(None);
    }

    fn close_cursor(&mut self, name: Option<&str>) -> SqlResult<Answer> {
        let tag = match name {
            None => {
                self.close_cursors();
                "CLOSE CURSOR ALL"
            }
            Some(name) => {
                self.portals.remove(name).ok_or_else(|| no_cursor(name))?;
                self.session.hide_cursors(Some(name));
                "CLOSE CURSOR"
            }
        };
        Ok(Answer::Command { tag: tag.to_owned() })
    }

    /// How many rows of which cursor.
    fn fetching(&mut self, fetch: &Fetch) -> SqlResult<Fetching> {
        let portal = self.portals.get(&fetch.cursor).ok_or_else(|| no_cursor(&fetch.cursor))?;
        let Some(rows) = &portal.rows else {
            return Err(SqlError::unsupported("FETCH from a portal that has not run"));
        };
        let position = i64::try_from(rows.position).unwrap_or(i64::MAX);
        let (skip, limit) = match fetch.which {
            Which::All => (0, u64::MAX),
            Which::Forward(count @ 0..) => (0, count.unsigned_abs()),
            Which::Relative(0) => (0, 0),
            Which::Relative(count @ 1..) => (count.unsigned_abs() - 1, 1),
            Which::Absolute(row @ 1..) if row > position => {
                ((row - position).unsigned_abs() - 1, 1)
            }
            Which::Absolute(0) if position == 0 => (0, 0),
            _ => return Err(forward_only()),
        };
        Ok(Fetching { cursor: fetch.cursor.clone(), skip, limit })
    }

    /// Takes the rows of a `FETCH`; how many there were.
    pub(crate) async fn take_fetched(
        &mut self,
        fetching: &Fetching,
        form: Form<'_>,
    ) -> io::Result<SqlResult<u64>> {
        let Some(mut portal) = self.portals.remove(&fetching.cursor) else {
            return Ok(Err(no_cursor(&fetching.cursor)));
        };
        let Some(rows) = &mut portal.rows else {
            return Ok(Err(SqlError::internal("a cursor without rows")));
        };
        let taken = match self.take_rows(rows, fetching.skip, Form::Nothing).await? {
            Ok(skipped) if skipped.at_end => Ok(0),
            Ok(_) => {
                let taken = self.take_rows(rows, fetching.limit, form).await?;
                taken.map(|taken| taken.count)
            }
            Err(error) => Err(error),
        };
        match &taken {
            Ok(_) => drop(self.portals.insert(fetching.cursor.clone(), portal)),
            Err(_) => self.session.hide_cursors(Some(&fetching.cursor)),
        }
        Ok(taken)
    }

    /// Sends the rows of a `FETCH`; its tag. A cursor that was declared binary gives its rows so whatever is asked for.
    pub(crate) async fn send_fetched(
        &mut self,
        fetching: &Fetching,
        formats: &[i16],
        described: bool,
    ) -> io::Result<SqlResult<String>> {
        let Some(portal) = self.portals.get(&fetching.cursor) else {
            return Ok(Err(no_cursor(&fetching.cursor)));
        };
        let own = portal.formats.clone();
        let formats = if own.contains(&1) { &own } else { formats };
        if !described && let Some(rows) = &portal.rows {
            self.output.row_description(rows.stream.schema(), formats);
        }
        let count = match self.take_fetched(fetching, Form::Data(formats)).await? {
            Ok(count) => count,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(format!("FETCH {count}")))
    }

    /// Ends cursors: those that end so, or sooner.
    pub(crate) fn end_cursors(&mut self, end: CursorEnd) {
        let ends = |portal: &Portal| match portal.end {
            CursorEnd::Transaction => true,
            own => own == end,
        };
        for (name, _) in self.portals.extract_if(|_, portal| ends(portal)) {
            self.session.hide_cursors(Some(&name));
        }
    }

    /// The block has committed: its cursors that are `WITH HOLD` stay until they are closed.
    pub(crate) fn hold_cursors(&mut self) {
        for portal in self.portals.values_mut().filter(|portal| portal.end == CursorEnd::Rollback) {
            portal.end = CursorEnd::Session;
        }
    }
}

/// 55000
fn forward_only() -> SqlError {
    SqlError::new(SqlState("55000"), "cursor can only scan forward")
        .with_hint("Declare it with SCROLL option to enable backward scan.")
}
