//! The portions of a COPY's data: this task reads and cuts it, tasks on all workers parse it, and what they
//! have parsed is taken in the order of the data. So rows, and the first thing that is wrong, are those of one
//! task that parses alone.

use std::collections::VecDeque;
use std::sync::Arc;

use runtime::RemoteHandle;
use runtime::sync::Cancel;
use txn::waiting::{give_way, unless_cancelled};
use types::{SqlError, SqlResult};

use super::form::Form;
use super::parsing::{End, Parsed, Parser};
use crate::input::cutter::{Cutter, Portion, PortionSize};
use crate::input::pieces::Input;

/// Portions that are parsed or wait to be taken, beside one for each worker: some, so that none idles.
const PORTIONS_AHEAD: usize = 2;

/// Reads, cuts and parses.
pub(crate) struct Portions {
    form: Arc<Form>,
    input: Input,
    cutter: Cutter,
    size: PortionSize,
    cancel: Cancel,
    begun: VecDeque<Begun>,
    /// Bytes of what is begun, and at most.
    begun_bytes: usize,
    bytes_max: usize,
    /// Rows that this task has parsed itself, where it would only wait.
    own: Option<Parser>,
    /// The worker that parses the next portion: each in turn.
    worker: usize,
    /// Nothing more is to be begun.
    is_all_begun: bool,
    /// Why there is no more data.
    failed: Option<SqlError>,
    /// Nothing more can be read.
    has_input_failed: bool,
}

/// A portion on its way.
enum Begun {
    Own(Parsed),
    Elsewhere { bytes: usize, task: Task },
}

/// A task that parses. It is wanted no longer when nobody waits for it.
struct Task(RemoteHandle<SqlResult<Parsed>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Portions {
    /// `bytes_max` of the data may be parsed at once; call it in a task.
    pub(crate) fn new(
        form: Arc<Form>,
        input: Input,
        size: PortionSize,
        bytes_max: usize,
        cancel: Cancel,
    ) -> Portions {
        Portions {
            cutter: Cutter::of_size(form.format(), size),
            form,
            input,
            size,
            cancel,
            begun: VecDeque::new(),
            begun_bytes: 0,
            bytes_max,
            own: None,
            worker: runtime::worker(),
            is_all_begun: false,
            failed: None,
            has_input_failed: false,
        }
    }

    /// The line behind all that was read.
    pub(crate) fn next_line(&self) -> u64 {
        self.cutter.next_line()
    }

    /// What was parsed next; `None` at the end.
    ///
    /// # Errors
    /// 57014, those of reading; what is wrong with records is in what was parsed.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<Parsed>> {
        self.begin().await?;
        let parsed = match self.begun.pop_front() {
            None => return self.failed.take().map_or(Ok(None), Err),
            Some(Begun::Own(parsed)) => parsed,
            Some(Begun::Elsewhere { bytes, mut task }) => {
                self.begun_bytes -= bytes;
                let aborted =
                    |why| Err(SqlError::internal(format!("the parsing of records failed: {why}")));
                unless_cancelled(&self.cancel, &mut task.0).await?.unwrap_or_else(aborted)?
            }
        };
        if let End::Marker(line) = parsed.end {
            self.skip_rest(line).await?;
        }
        Ok(Some(parsed))
    }

    /// Begins to parse as much as there is room for.
    async fn begin(&mut self) -> SqlResult<()> {
        while !self.is_all_begun && self.has_room() {
            give_way(&self.cancel).await?;
            if let Some(portion) = self.cutter.full() {
                self.begin_full(portion).await?;
            } else if self.cutter.has_ended() {
                self.end().await?;
            } else if let Err(error) = self.cutter.check_length() {
                self.fail(error).await?;
            } else if !self.input.is_idle() {
                self.receive().await?;
            } else if !self.begun.is_empty() {
                // What is parsed can be taken meanwhile.
                return Ok(());
            } else if let Some(portion) = self.cutter.rest() {
                self.parse(&portion).await?;
            } else {
                self.receive().await?;
            }
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        let count_max = match runtime::worker_count() {
            1 => 1,
            workers => workers + PORTIONS_AHEAD,
        };
        let is_within = self.begun_bytes < self.bytes_max || self.begun.is_empty();
        is_within && self.begun.len() < count_max
    }

    async fn receive(&mut self) -> SqlResult<()> {
        match self.input.next(&self.cancel).await {
            Ok(Some(bytes)) => self.cutter.push(bytes),
            Ok(None) => self.cutter.end(),
            Err(error) => {
                self.has_input_failed = true;
                self.fail(error).await?;
            }
        }
        Ok(())
    }

    /// Begins a portion of the full size.
    async fn begin_full(&mut self, portion: Portion) -> SqlResult<()> {
        if runtime::worker_count() == 1 {
            self.parse(&portion).await?;
            self.hand_over();
            return Ok(());
        }
        self.hand_over();
        let (form, cancel, bytes) = (self.form.clone(), self.cancel.clone(), portion.bytes.len());
        let parse = move || async move {
            let mut parser = Parser::new(form);
            parser.read(&portion, &cancel).await?;
            Ok(parser.finish())
        };
        self.worker = (self.worker + 1) % runtime::worker_count();
        let task = Task(runtime::spawn_on(self.worker, parse));
        self.begun_bytes += bytes;
        self.begun.push_back(Begun::Elsewhere { bytes, task });
        Ok(())
    }

    /// Parses records in this task.
    async fn parse(&mut self, portion: &Portion) -> SqlResult<()> {
        let own = self.own.get_or_insert_with(|| Parser::new(self.form.clone()));
        own.read(portion, &self.cancel).await?;
        let PortionSize { records, bytes } = self.size;
        let is_full = own.row_count() >= records || own.bytes() >= bytes;
        self.is_all_begun |= own.is_at_end();
        if is_full || self.is_all_begun {
            self.hand_over();
        }
        Ok(())
    }

    /// Puts what this task has parsed behind what was begun.
    fn hand_over(&mut self) {
        self.begun.extend(self.own.take().map(|own| Begun::Own(own.finish())));
    }

    /// Parses what is left.
    async fn end(&mut self) -> SqlResult<()> {
        if let Some(portion) = self.cutter.rest() {
            self.parse(&portion).await?;
        }
        self.hand_over();
        self.is_all_begun = true;
        Ok(())
    }

    /// There is no more data, for which an error is the reason.
    async fn fail(&mut self, error: SqlError) -> SqlResult<()> {
        let error = self.form.at_line(error, self.cutter.line());
        if self.cancel.is_cancelled() {
            return Err(error);
        }
        self.failed = Some(error);
        self.end().await
    }

    /// Passes over everything that a client still sends; what else there is need not be read.
    async fn skip_rest(&mut self, line: u64) -> SqlResult<()> {
        self.begun.clear();
        self.own = None;
        self.is_all_begun = true;
        let failed = self.failed.take();
        if !self.input.is_client() {
            return Ok(());
        }
        // What is wrong with data behind the marker is nothing.
        if let Some(error) = failed.filter(|_| self.has_input_failed) {
            return Err(error);
        }
        while !self.cutter.has_ended() {
            let next = self.input.next(&self.cancel).await;
            if next.map_err(|error| self.form.at_line(error, line))?.is_none() {
                self.cutter.end();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
