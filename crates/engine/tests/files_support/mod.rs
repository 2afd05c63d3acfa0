//! What the tests of files share: a folder with a database, and files in it.
#![allow(dead_code)] // no test uses all of it

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use engine::{Database, Options, Session};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

pub const MODES: [&str; 3] = ["serial", "static", "ooo"];

pub struct Opened {
    pub folder: PathBuf,
    pub db: Database,
}

impl Drop for Opened {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl Opened {
    pub fn path(&self, name: &str) -> String {
        let path = self.folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("written");
        path
    }
}

pub fn open(name: &str) -> Opened {
    let folder = std::env::temp_dir().join(format!("dovetail-files-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = Options { memory_bytes: 32 << 20, workers: 2, ..pg::options() };
    let db = Database::create(&folder.join("t.dovetail"), options).expect("a database");
    Opened { folder, db }
}

/// The rows of a query as CSV, or what is wrong with it: its state, and its message.
pub fn outcome(session: &mut Session, query: &str) -> String {
    let mut out = vec![];
    match session.copy_out(&format!("copy ({query}) to stdout (format csv)"), &mut out) {
        Ok(_) => String::from_utf8(out).expect("UTF-8").trim_end().replace('\n', ";"),
        Err(error) => format!("! {}: {}", error.state.0, error.message),
    }
}

/// What a statement other than a query says.
pub fn told(session: &mut Session, text: &str) -> String {
    match session.execute(text) {
        Ok(mut results) => match results.pop().expect("a result") {
            engine::StatementResult::Command { tag } => tag,
            engine::StatementResult::Rows(rows) => rows.tag,
        },
        Err(error) => format!("! {}: {}", error.state.0, error.message),
    }
}

/// Queries give the same in all modes; `@` in them and in what is expected is the folder.
pub fn check(opened: &Opened, cases: &[(&str, &str)]) {
    let folder = opened.folder.to_str().expect("a path in UTF-8");
    let mut wrong = vec![];
    for mode in MODES {
        let mut session = opened.db.session();
        session.execute(&format!("set execution_mode = {mode}")).expect("set");
        for (query, expected) in cases {
            let (query, expected) = (query.replace('@', folder), expected.replace('@', folder));
            let found = outcome(&mut session, &query);
            if found != expected {
                wrong.push(format!("{mode}: {query}\n  expected {expected}\n  found    {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

pub fn parquet_bytes(columns: Vec<(&str, ArrayRef)>, row_group_rows: usize) -> Vec<u8> {
    parquet_with(columns, row_group_rows, Compression::SNAPPY)
}

pub fn parquet_with(
    columns: Vec<(&str, ArrayRef)>,
    row_group_rows: usize,
    compression: Compression,
) -> Vec<u8> {
    parquet_indexed(columns, row_group_rows, compression, true)
}

/// The same with or without an index of pages.
pub fn parquet_indexed(
    columns: Vec<(&str, ArrayRef)>,
    row_group_rows: usize,
    compression: Compression,
    has_index: bool,
) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let statistics = if has_index { EnabledStatistics::Page } else { EnabledStatistics::Chunk };
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(row_group_rows))
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(!has_index)
        .build();
    let mut bytes = vec![];
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("one");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
    bytes
}

pub fn numbers(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}
