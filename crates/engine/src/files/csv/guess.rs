//! The types of the columns of a CSV file, from its first records: of the types that read all values of a
//! column, the first one in a list that ends with text.

use sql::parse::CopyOptions;
use types::parse::ColumnParser;
use types::{Column, LogicalType, SqlResult};

use super::super::found::Found;
use super::reading::{Portions, Records};
use crate::input::record::{Field, RecordFormat};
use crate::objects::tally::Tally;

/// What a column may be, the narrowest type first.
const CANDIDATES: [LogicalType; 7] = [
    LogicalType::Bool,
    LogicalType::Int64,
    LogicalType::Float64,
    LogicalType::Date,
    LogicalType::Time,
    LogicalType::Timestamp,
    LogicalType::TimestampTz,
];

/// Bytes of a sample at most.
const SAMPLE_BYTES_MAX: usize = 8 << 20;

/// The first records of a file.
pub(super) struct Sample {
    records: Vec<Vec<Field<'static>>>,
    /// Their bytes, about, and those of the file.
    bytes: u64,
    file_bytes: u64,
}

impl Sample {
    /// Rows of the whole file, about; at least one, for it may grow.
    pub(super) fn rows_of_whole(&self) -> u64 {
        let per_record = (self.bytes / self.records.len().max(1) as u64).max(1);
        (self.file_bytes / per_record).max(1)
    }
}

/// What a sample tells.
pub(super) struct Guessed {
    pub(super) columns: Vec<(String, LogicalType)>,
    pub(super) has_header: bool,
}

/// Reads the first records of a file.
///
/// # Errors
/// Those of reading.
pub(super) async fn sample(found: &Found, format: &CopyOptions, count: usize) -> SqlResult<Sample> {
    let file_bytes = found.open().await?.length();
    let format = RecordFormat::of(format);
    let mut portions = Portions::open(found, format, None, Tally::default()).await?;
    let (mut records, mut bytes) = (vec![], 0);
    while records.len() < count && bytes < SAMPLE_BYTES_MAX {
        let Some(portion) = portions.next().await? else { break };
        let (mut found, mut record) = (Records::of(&found.path, format, &portion), vec![]);
        while records.len() < count && bytes < SAMPLE_BYTES_MAX && found.next(&mut record)? {
            bytes += record.iter().map(|field| field.bytes.len() + 1).sum::<usize>();
            records.push(record.drain(..).map(Field::into_owned).collect());
            give_way().await;
        }
    }
    Ok(Sample { records, bytes: bytes as u64, file_bytes })
}

/// Names and types of the columns. Unless it is known, there is a header where the first record has texts
/// alone and they would be names: none is there twice, or empty.
///
/// # Errors
/// 22021 for what is no UTF-8.
pub(super) async fn guess(
    sample: &Sample,
    null: &str,
    header: Option<bool>,
    all_text: bool,
) -> SqlResult<Guessed> {
    let Some(first) = sample.records.first() else {
        return Ok(Guessed { columns: vec![], has_header: false });
    };
    let texts = first.iter().map(|field| field.text().map(str::to_owned));
    let texts = texts.collect::<SqlResult<Vec<_>>>()?;
    let has_header = header.unwrap_or_else(|| are_names(&texts));
    let rows = &sample.records[usize::from(has_header)..];
    let mut columns = vec![];
    for (number, text) in texts.into_iter().enumerate() {
        let name = match has_header && !text.is_empty() {
            true => text,
            false => format!("column{number}"),
        };
        let ty = if all_text { LogicalType::Text } else { type_of(rows, number, null).await };
        columns.push((name, ty));
    }
    Ok(Guessed { columns, has_header })
}

/// Gives other tasks of the worker their turn.
async fn give_way() {
    if runtime::need_preempt() {
        runtime::yield_now().await;
    }
}

fn are_names(texts: &[String]) -> bool {
    let is_name = |(at, text): (usize, &String)| {
        !text.is_empty()
            && !texts[..at].contains(text)
            && !CANDIDATES.into_iter().any(|ty| reads(ty, text))
    };
    texts.iter().enumerate().all(is_name)
}

async fn type_of(rows: &[Vec<Field<'_>>], number: usize, null: &str) -> LogicalType {
    let mut candidates = CANDIDATES.to_vec();
    let mut has_values = false;
    for row in rows {
        let Some(field) = row.get(number) else { continue };
        if !field.quoted && field.is(null.as_bytes()) {
            continue;
        }
        has_values = true;
        give_way().await;
        let Ok(text) = field.text() else { return LogicalType::Text };
        candidates.retain(|ty| reads(*ty, text));
        if candidates.is_empty() {
            return LogicalType::Text;
        }
    }
    match candidates.first() {
        Some(ty) if has_values => *ty,
        _ => LogicalType::Text,
    }
}

/// Whether a text looks like a value of the type: more plainly than it would have to.
fn reads(ty: LogicalType, text: &str) -> bool {
    let begins_as_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let looks = match ty {
        LogicalType::Bool => {
            return ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word));
        }
        // A zero at the begin is one of a code, which would be lost.
        LogicalType::Int64 => !has_zero_before(text),
        LogicalType::Float64 => !has_zero_before(text) && text.chars().all(is_of_float),
        LogicalType::Date => text.len() == "2024-01-01".len() && text.contains('-'),
        LogicalType::Time => text.contains(':') && !text.contains(['-', ' ', '+', 'T']),
        LogicalType::Timestamp => text.contains(':') && text.contains('-') && !has_zone(text),
        LogicalType::TimestampTz => text.contains(':') && text.contains('-') && has_zone(text),
        _ => false,
    };
    let column = Column { name: String::new(), ty, nullable: false };
    begins_as_number && looks && ColumnParser::new(&column).push(Some(text)).is_ok()
}

fn is_of_float(c: char) -> bool {
    c.is_ascii_digit() || "+-.eE".contains(c)
}

fn has_zero_before(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a zone stands behind the time of day.
fn has_zone(text: &str) -> bool {
    let time = text.find(':').map_or("", |at| &text[at..]);
    time.contains(['+', '-']) || time.ends_with(['Z', 'z'])
}

#[cfg(test)]
mod tests;
