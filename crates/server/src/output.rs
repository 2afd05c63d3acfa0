//! Messages of the server, written straight into the bytes that are sent.

use arrow_schema::SchemaRef;
use engine::{Notice, Notification};
use types::SqlError;
use types::text::IntervalStyle;
use types::zone::{self, Context};

use crate::descriptions::Descriptions;
use crate::internal;
use crate::message::format_at;
use crate::taken::Taken;

/// Bytes that wait to be sent.
#[derive(Default)]
pub(crate) struct Output {
    pub bytes: Vec<u8>,
    /// Whether rows are among them, for which a client may wait.
    pub has_rows: bool,
    /// The text form of intervals.
    pub intervals: IntervalStyle,
    /// What values are shown in.
    pub context: Context,
    descriptions: Descriptions,
}

impl Output {
    /// Writes one message; its length is filled in.
    pub fn message(&mut self, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(tag);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        body(&mut self.bytes);
        let len = (self.bytes.len() - at) as i32;
        self.bytes[at..at + 4].copy_from_slice(&len.to_be_bytes());
    }

    pub fn empty(&mut self, tag: u8) {
        self.message(tag, |_| {});
    }

    pub fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |body| {
            string(body, name);
            string(body, value);
        });
    }

    pub fn command_complete(&mut self, tag: &str) {
        self.message(b'C', |body| string(body, tag));
    }

    pub fn notification(&mut self, told: &Notification) {
        self.message(b'A', |body| {
            body.extend_from_slice(&told.pid.to_be_bytes());
            string(body, &told.channel);
            string(body, &told.payload);
        });
    }

    pub fn ready(&mut self, block: u8) {
        self.message(b'Z', |body| body.push(block));
    }

    pub fn error(&mut self, error: &SqlError, severity: &str) {
        internal::note(error);
        self.report(b'E', error, severity);
    }

    pub fn notice(&mut self, notice: &Notice) {
        self.report(b'N', &notice.message, notice.severity);
    }

    fn report(&mut self, tag: u8, error: &SqlError, severity: &str) {
        let position = error.position.map(|position| position.to_string());
        let subject = error.subject.as_deref().cloned().unwrap_or_default();
        let fields = [
            (b'S', Some(severity)),
            (b'V', Some(severity)),
            (b'C', Some(error.state.0)),
            (b'M', Some(error.message.as_str())),
            (b'D', error.detail.as_deref()),
            (b'H', error.hint.as_deref()),
            (b'P', position.as_deref()),
            (b'W', error.context()),
            (b's', subject.table.as_deref().map(|_| "public")),
            (b't', subject.table.as_deref()),
            (b'c', subject.column.as_deref()),
            (b'n', subject.constraint.as_deref()),
            (b'R', routine(error)),
        ];
        self.message(tag, |body| {
            for (field, value) in fields {
                if let Some(value) = value {
                    body.push(field);
                    string(body, value);
                }
            }
            body.push(0);
        });
    }

    /// Begins a COPY: `G` for data that the client sends, `H` for data that it gets.
    pub fn copy_response(&mut self, tag: u8, is_binary: bool, column_count: usize) {
        let format = i16::from(is_binary);
        self.message(tag, |body| {
            body.push(u8::from(is_binary));
            body.extend_from_slice(&(column_count as i16).to_be_bytes());
            (0..column_count).for_each(|_| body.extend_from_slice(&format.to_be_bytes()));
        });
    }

    pub fn copy_data(&mut self, data: &[u8]) {
        self.has_rows = true;
        self.message(b'd', |body| body.extend_from_slice(data));
    }

    /// The columns of a result; none of a statement that gives no rows.
    pub fn columns(&mut self, schema: Option<&SchemaRef>, formats: &[i16]) {
        match schema {
            Some(schema) => self.row_description(schema, formats),
            None => self.empty(b'n'),
        }
    }

    pub fn row_description(&mut self, schema: &SchemaRef, formats: &[i16]) {
        let mut descriptions = std::mem::take(&mut self.descriptions);
        self.message(b'T', |body| descriptions.write(body, schema, formats));
        self.descriptions = descriptions;
    }

    /// One of the rows that were taken.
    ///
    /// # Errors
    /// 0A000 for a type that has no binary form here; nothing is written then.
    pub fn row(&mut self, taken: &mut Taken, row: usize, formats: &[i16]) -> Result<(), SqlError> {
        let _entered = zone::enter(self.context);
        let begin = self.bytes.len();
        self.has_rows = true;
        let intervals = self.intervals;
        let mut result = Ok(());
        self.message(b'D', |body| {
            let count = taken.column_count();
            body.extend_from_slice(&(count as i16).to_be_bytes());
            for index in 0..count {
                let format = format_at(formats, index);
                let written = taken.write((row, index), (format, intervals), body);
                if written.is_err() {
                    result = written;
                }
            }
        });
        if result.is_err() {
            self.bytes.truncate(begin);
        }
        result
    }
}

/// The routine of PostgreSQL that drivers look for before they prepare a statement anew.
fn routine(error: &SqlError) -> Option<&'static str> {
    (error.message == "cached plan must not change result type").then_some("RevalidateCachedQuery")
}

/// A string and its zero byte; a zero byte within would end it early, so it is left out.
pub(crate) fn string(body: &mut Vec<u8>, text: &str) {
    body.extend(text.bytes().filter(|byte| *byte != 0));
    body.push(0);
}
