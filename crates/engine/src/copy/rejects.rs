//! Rows of `COPY .. FROM` that cannot be read, where the statement goes on without them: `ON_ERROR ignore` of
//! PostgreSQL 17, its `REJECT_LIMIT`, and a table that takes them with their lines and reasons.

use arrow_array::{ArrayRef, BooleanArray};
use arrow_select::filter::filter;
use sql::parse::{CopyOptions, Ignored};
use sql::{Statement, quote_ident};
use types::{SqlError, SqlResult, SqlState};

use super::rejected::Reject;
use crate::catalog::snapshot::Snapshot;
use crate::notice::Notice;

/// Bytes of ignored rows that a statement keeps for its table.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Bytes of the text of a statement that puts rows into the table, and one row more.
const TEXT_BYTES: usize = 256 << 10;

/// The columns of a table that takes rows.
const COLUMNS: [&str; 3] = ["line", "reason", "data"];

/// What could not be read.
#[derive(Default)]
pub(crate) struct Rejects {
    ignored: Option<Ignored>,
    count: u64,
    kept: Vec<Reject>,
    kept_bytes: usize,
}

impl Rejects {
    pub(crate) fn new(options: &CopyOptions) -> Rejects {
        Rejects { ignored: options.ignored.clone(), ..Rejects::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes a row that is left out.
    ///
    /// # Errors
    /// 22P02 when there are more than is allowed, 54000 when they need too much memory.
    pub(crate) fn take(&mut self, reject: Reject) -> SqlResult<()> {
        let Some(ignored) = &self.ignored else { return Ok(()) };
        self.count += 1;
        if let Some(count_max) = ignored.count_max.filter(|count_max| self.count > *count_max) {
            let message = format!(
                "skipped more than REJECT_LIMIT ({count_max}) rows due to data type incompatibility"
            );
            return Err(SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
        }
        if ignored.table.is_none() {
            return Ok(());
        }
        self.kept_bytes += reject.reason.len() + reject.data.len() + size_of::<Reject>();
        if self.kept_bytes > KEPT_BYTES_MAX {
            return Err(SqlError::new(SqlState("54000"), "too many rows cannot be read")
                .with_detail(format!("{} rows were rejected so far.", self.count))
                .with_hint("Set REJECT_LIMIT, or copy less at a time."));
        }
        self.kept.push(reject);
        Ok(())
    }

    /// The statements that put the rows into their table.
    ///
    /// # Errors
    /// None that their texts could cause: they are quoted.
    pub(crate) fn inserts(&self) -> SqlResult<Vec<Statement>> {
        let Some(table) = self.ignored.as_ref().and_then(|ignored| ignored.table.as_ref()) else {
            return Ok(vec![]);
        };
        let begin = format!("insert into {} ({}) values ", quote_ident(table), COLUMNS.join(", "));
        let mut texts: Vec<String> = vec![];
        for Reject { line, reason, data } in &self.kept {
            let row = format!("({line}, {}, {})", quoted(reason), quoted(data));
            match texts.last_mut().filter(|text| text.len() < TEXT_BYTES) {
                Some(text) => text.extend([", ", &row]),
                None => texts.push(format!("{begin}{row}")),
            }
        }
        let parsed = |text: String| {
            let statement = sql::parse::parse(&text)?.pop();
            statement.ok_or_else(|| SqlError::internal("no statement inserts the rows"))
        };
        texts.into_iter().map(parsed).collect()
    }

    /// What the client is told of them.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let (rows, were) = if self.count == 1 { ("row", "was") } else { ("rows", "were") };
        let table = self.ignored.as_ref().and_then(|ignored| ignored.table.as_deref());
        let what = match table {
            Some(table) => format!("put into table \"{table}\""),
            None => "skipped due to data type incompatibility".to_owned(),
        };
        let message = format!("{} {rows} {were} {what}", self.count);
        (self.count > 0).then(|| Notice::information(message))
    }
}

/// A text as a statement has it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The rows of a batch that are to be kept.
pub(crate) fn without(arrays: Vec<ArrayRef>, kept: &[bool]) -> SqlResult<Vec<ArrayRef>> {
    if kept.iter().all(|kept| *kept) {
        return Ok(arrays);
    }
    let kept = BooleanArray::from(kept.to_vec());
    let filtered = arrays.iter().map(|array| filter(array, &kept)).collect::<Result<_, _>>();
    filtered.map_err(|error| SqlError::internal(error.to_string()))
}

/// Whether there is a table for the rows: better said before they are read.
///
/// # Errors
/// 42P01, 42703.
pub(crate) fn check_table(ignored: Option<&Ignored>, snapshot: &Snapshot) -> SqlResult<()> {
    let Some(table) = ignored.and_then(|ignored| ignored.table.as_ref()) else { return Ok(()) };
    let hint = || {
        let table = quote_ident(table);
        format!("CREATE TABLE {table} (line bigint, reason text, data text)")
    };
    let entry = snapshot.table(table).map_err(|error| error.with_hint(hint()))?;
    let columns = &entry.def.schema.columns;
    for name in COLUMNS {
        if !columns.iter().any(|column| column.name == name) {
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, message).with_hint(hint()));
        }
    }
    Ok(())
}
