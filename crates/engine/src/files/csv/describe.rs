//! The columns of CSV files.

use plan::catalog::TableStatistics;
use runtime::sync::Cancel;
use sql::FileCall;
use sql::parse::{CopyFormat, CopyOptions, ForcedColumns, Header, ParquetOptions};
use txn::waiting::unless_cancelled;
use types::SqlResult;

use super::file::{CsvFile, SAMPLE_RECORDS};
use crate::files::columns::{ColumnType, FileColumn, Origin};
use crate::files::file::{Content, Described, File};
use crate::files::found::Found;
use crate::files::hive::Partitions;
use crate::files::options;
use crate::files::options::{byte, count, flag};

pub(crate) const OPTIONS: [&str; 9] = [
    "header",
    "delim",
    "sep",
    "quote",
    "escape",
    "nullstr",
    "sample_size",
    "all_varchar",
    "hive_partitioning",
];

/// The files of a call; the first one says which columns there are, and of which types.
pub(crate) async fn describe(
    call: &FileCall,
    found: &[Found],
    cancel: &Cancel,
) -> SqlResult<Described> {
    options::check_known(call, &OPTIONS)?;
    let partitions = Partitions::of(call, found)?;
    let mut format = format(call, &found[0].path)?;
    let sample_count = count(call, "sample_size")?.unwrap_or(SAMPLE_RECORDS);
    let sample = super::guess::sample(&found[0], &format, sample_count);
    let sample = unless_cancelled(cancel, sample).await??;
    let header = flag(call, "header")?;
    let all_text = flag(call, "all_varchar")?.unwrap_or(false);
    let guessed = super::guess::guess(&sample, &format.null, header, all_text);
    let guessed = unless_cancelled(cancel, guessed).await??;
    format.header = if guessed.has_header { Header::Yes } else { Header::No };
    let stored = guessed.columns.into_iter().enumerate().map(|(number, (name, ty))| FileColumn {
        name,
        ty: ColumnType::Known(ty),
        origin: Origin::Stored(number),
    });
    let stored: Vec<FileColumn> = stored.collect();
    let names: Vec<String> = stored.iter().map(|column| column.name.clone()).collect();
    let columns = partitions.columns(stored);
    let row_count = sample.rows_of_whole().saturating_mul(found.len() as u64);
    let statistics = TableStatistics { row_count, ..TableStatistics::default() };
    let files = found.iter().zip(partitions.values()).map(|(found, parts)| {
        let (found, format, names) = (found.clone(), format.clone(), names.clone());
        File { parts, content: Content::Csv(Box::new(CsvFile { found, format, names })) }
    });
    Ok(Described { columns, files: files.collect(), statistics })
}

/// How records are written, as far as the call and the name of the file say it.
pub(crate) fn format(call: &FileCall, path: &str) -> SqlResult<CopyOptions> {
    let is_tabbed = path.to_ascii_lowercase().ends_with(".tsv");
    let delimiter = byte(call, "delim")?.or(byte(call, "sep")?);
    let delimiter = delimiter.unwrap_or(if is_tabbed { b'\t' } else { b',' });
    let quote = byte(call, "quote")?.unwrap_or(b'"');
    if quote == delimiter {
        let message = "delimiter and quote of read_csv must be different";
        return Err(options::invalid(message.to_owned()));
    }
    Ok(CopyOptions {
        format: CopyFormat::Csv,
        header: Header::No,
        delimiter,
        null: options::text(call, "nullstr").unwrap_or_default().to_owned(),
        quote,
        escape: byte(call, "escape")?.unwrap_or(quote),
        force_quote: ForcedColumns::Named(vec![]),
        force_not_null: vec![],
        force_null: vec![],
        parquet: ParquetOptions::default(),
        ignored: None,
    })
}
