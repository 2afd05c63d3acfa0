//! Runs `tests/sql/**/*.slt` in every execution mode and on every ring: the rows and the SQLSTATEs
//! must be PostgreSQL's, whatever the mode (see `tests/sql/README.md`).
#![allow(clippy::disallowed_methods)] // tests read their files without a runtime

#[path = "slt/expected_failures.rs"]
mod expected_failures;

use std::path::{Path, PathBuf};

use arrow_schema::DataType;
use engine::{
    Database, ExecutionMode, Options, ResultSet, RingKind, Session, SqlError, StatementResult,
    TransactionStatus,
};
use sqllogictest::{
    ColumnType, DB, DBOutput, DefaultColumnType, MakeConnection, Normalizer, Runner,
};
use types::text::format_value;

/// A small pool, so that the larger files do not fit.
const MEMORY_BYTES: usize = 8 << 20;

/// Under what circumstances the files are run.
#[derive(Clone, Copy)]
struct Circumstances {
    mode: ExecutionMode,
    ring: RingKind,
    /// A setting that makes it another way than usual, and its value.
    with: Option<(&'static str, &'static str)>,
    page_bytes: Option<u32>,
}

#[test]
fn sql_files_ooo_without_hash_joins() {
    run_without("enable_hashjoin");
}

#[test]
fn sql_files_ooo_without_index_joins() {
    run_without("enable_indexnestloop");
}

#[test]
fn sql_files_ooo_without_scans() {
    run_without("enable_seqscan");
}

#[test]
fn sql_files_serial_uring() {
    run_all(ExecutionMode::Serial, RingKind::Uring);
}

#[test]
fn sql_files_static_uring() {
    run_all(ExecutionMode::Static, RingKind::Uring);
}

#[test]
fn sql_files_ooo_uring() {
    run_all(ExecutionMode::OutOfOrder, RingKind::Uring);
}

#[test]
fn sql_files_serial_threads() {
    run_all(ExecutionMode::Serial, RingKind::Threads);
}

#[test]
fn sql_files_static_threads() {
    run_all(ExecutionMode::Static, RingKind::Threads);
}

/// Every statement goes by its text and by a plan for all values, from its first execution on.
#[test]
fn sql_files_ooo_threads() {
    let (mode, ring) = (ExecutionMode::OutOfOrder, RingKind::Threads);
    run(Circumstances { mode, ring, with: PLANS_FOR_ALL_VALUES, page_bytes: None });
}

#[test]
fn sql_files_serial_without_memory() {
    run_with_little_memory(ExecutionMode::Serial);
}

#[test]
fn sql_files_static_without_memory() {
    run_with_little_memory(ExecutionMode::Static);
}

#[test]
fn sql_files_ooo_without_memory() {
    run_with_little_memory(ExecutionMode::OutOfOrder);
}

#[test]
fn sql_files_ooo_with_pages_of_16_kb() {
    let (mode, ring) = (ExecutionMode::OutOfOrder, RingKind::Threads);
    run(Circumstances { mode, ring, with: MACHINE_CODE, page_bytes: Some(16_384) });
    let functions = engine::code_totals().functions;
    let compiled = functions.iter().find(|(outcome, _)| *outcome == "compiled");
    // The processors for which there is code.
    if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        assert!(compiled.is_some_and(|(_, count)| *count > 1000), "{functions:?}");
    }
    println!("machine code: {functions:?}");
}

#[test]
fn sql_files_serial_with_column_tables() {
    run_with_column_tables(ExecutionMode::Serial);
}

#[test]
fn sql_files_static_with_column_tables() {
    run_with_column_tables(ExecutionMode::Static);
}

#[test]
fn sql_files_ooo_with_column_tables() {
    run_with_column_tables(ExecutionMode::OutOfOrder);
}

/// Tables are column tables, and after each statement that inserts into one all its
/// rows are in chunks.
fn run_with_column_tables(mode: ExecutionMode) {
    let with = Some((STORAGE, "column"));
    run(Circumstances { mode, ring: RingKind::Threads, with, page_bytes: None });
}

fn run_all(mode: ExecutionMode, ring: RingKind) {
    run(Circumstances { mode, ring, with: None, page_bytes: None });
}

fn run_without(setting: &'static str) {
    let (mode, ring) = (ExecutionMode::OutOfOrder, RingKind::Threads);
    run(Circumstances { mode, ring, with: Some((setting, "off")), page_bytes: None });
}

/// So little that every operator with more than a few hundred rows spills.
fn run_with_little_memory(mode: ExecutionMode) {
    let with = Some(("work_mem", "64kB"));
    run(Circumstances { mode, ring: RingKind::Threads, with, page_bytes: None });
}

/// The setting that makes column tables.
const STORAGE: &str = "default_table_storage";

/// All expressions that can be are machine code: it is a matter of expressions, not of pages.
const MACHINE_CODE: Option<(&str, &str)> = Some(("jit", "force"));

/// Literals become parameters, and their plans serve for all values, wherever that can be.
const PLANS_FOR_ALL_VALUES: Option<(&str, &str)> = Some(("plan_cache_mode", "force_generic_plan"));

/// The stack of a thread that runs statements, as workers and the program have it.
const STACK_BYTES: usize = 8 << 20;

fn run(circumstances: Circumstances) {
    let files = std::thread::Builder::new().stack_size(STACK_BYTES);
    let ran = files.spawn(move || run_files(circumstances)).expect("a thread").join();
    if let Err(failures) = ran {
        std::panic::resume_unwind(failures);
    }
}

/// Runs every file and reports all failures, not only the first.
fn run_files(circumstances: Circumstances) {
    let Circumstances { mode, ring, with, page_bytes } = circumstances;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql");
    let (with, pages) = (with.map_or("all", |(name, _)| name), page_bytes.unwrap_or_default());
    let folder = Folder::new(&format!("{}-{ring:?}-{with}-{pages}", mode.name()));
    if let Err(error) = create(&folder.0.join("probe.dovetail"), circumstances) {
        assert!(ring == RingKind::Uring, "{error}");
        println!("SKIPPED: io_uring is not to be had here: {error}");
        return;
    }
    let mut files = Vec::new();
    find(&root, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no files in {}", root.display());
    let failures: Vec<String> = files
        .iter()
        .enumerate()
        .filter_map(|(number, file)| {
            let database = folder.0.join(format!("{number}.dovetail"));
            run_file(file, &root, &database, circumstances).err()
        })
        .collect();
    assert!(failures.is_empty(), "{} files failed:\n{}", failures.len(), failures.join("\n"));
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of the SQL tests").flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "slt") {
            files.push(path);
        }
    }
}

/// Runs one file on a fresh database.
fn run_file(
    file: &Path,
    root: &Path,
    database: &Path,
    circumstances: Circumstances,
) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let data = root.join("data").canonicalize().map_err(|error| error.to_string())?;
    let text = text.replace("{data}", &data.to_string_lossy());
    let db = create(database, circumstances)?;
    let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned();
    let result = {
        let open = db.clone();
        let mut runner = Runner::new(move || {
            let mut session = open.session();
            session.settings().execution_mode = circumstances.mode;
            let set = circumstances.with.map(|(name, to)| session.settings().set(name, to));
            let in_chunks = circumstances.with.is_some_and(|(name, _)| name == STORAGE);
            let opened = set.transpose().map_err(Failure);
            let opened = opened.map(|_| Connection { session, in_chunks });
            async move { opened }
        });
        runner.with_validator(same_rows);
        runner.with_column_validator(same_kinds);
        run_records(&mut runner, &text, &name)
    };
    db.close().map_err(|error| error.to_string())?;
    result
}

/// Runs every record, also those after a failure, so that one run tells all.
fn run_records<M: MakeConnection<Conn = Connection>>(
    runner: &mut Runner<Connection, M>,
    text: &str,
    name: &str,
) -> Result<(), String> {
    let records = sqllogictest::parse_with_name(text, name).map_err(|error| error.to_string())?;
    let failures: Vec<String> = records
        .into_iter()
        .filter_map(|record| runner.run(record).err())
        .map(|error| error.to_string())
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn create(path: &Path, circumstances: Circumstances) -> Result<Database, String> {
    let Circumstances { ring, page_bytes, .. } = circumstances;
    let options = Options { memory_bytes: MEMORY_BYTES, workers: 2, ring, ..pg::options() };
    let options = Options { page_bytes, ..options };
    Database::create(path, options).map_err(|error| error.to_string())
}

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("dovetail-slt-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left-over files in the temporary folder are no reason to fail.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

struct Connection {
    session: Session,
    /// Rows that come are put into chunks.
    in_chunks: bool,
}

impl Connection {
    /// Puts the rows that a statement has inserted into chunks, unless a block is open.
    fn put_into_chunks(&mut self, sql: &str) -> Result<(), Failure> {
        let mut words = sql.split(|c: char| c.is_whitespace() || c == '(');
        let is = |word: Option<&str>, what| word.is_some_and(|w| w.eq_ignore_ascii_case(what));
        let inserts = is(words.next(), "insert") && is(words.next(), "into");
        // A name in quotes may be more than one word.
        let is_plain = |table: &&str| inserts && self.in_chunks && !table.starts_with('"');
        let table = words.next().filter(is_plain);
        let idle = self.session.transaction_status() == TransactionStatus::Idle;
        if let Some(table) = table.filter(|_| idle) {
            let all = format!("reorganize table {table}");
            self.session.execute(&all).map_err(Failure)?;
        }
        Ok(())
    }
}

/// A [`SqlError`] as the runner wants it.
#[derive(Debug)]
struct Failure(SqlError);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl DB for Connection {
    type Error = Failure;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failure> {
        let result = self.session.execute(sql).map_err(Failure)?.pop();
        self.put_into_chunks(sql)?;
        let _entered = types::zone::enter(self.session.context());
        match result {
            Some(StatementResult::Rows(result)) => Ok(rows_of(&result)),
            _ => Ok(DBOutput::StatementComplete(0)),
        }
    }

    fn engine_name(&self) -> &str {
        "dovetail"
    }

    fn error_sql_state(error: &Failure) -> Option<String> {
        Some(error.0.state.to_string())
    }
}

fn rows_of(result: &ResultSet) -> DBOutput<DefaultColumnType> {
    let types = result.schema.fields().iter().map(|field| kind(field.data_type())).collect();
    let mut rows = Vec::with_capacity(result.row_count());
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            let cell = |column| match format_value(column, row) {
                None => "NULL".to_string(),
                Some(text) if text.is_empty() => "(empty)".to_string(),
                Some(text) => text,
            };
            rows.push(batch.columns().iter().map(|column| cell(column.as_ref())).collect());
        }
    }
    DBOutput::Rows { types, rows }
}

fn kind(ty: &DataType) -> DefaultColumnType {
    match ty {
        // An oid is no number to the recorder.
        DataType::UInt32 => DefaultColumnType::Text,
        ty if ty.is_integer() => DefaultColumnType::Integer,
        ty if ty.is_numeric() => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

/// Rows are equal to the letter: no space is forgiven.
fn same_rows(_: Normalizer, actual: &[Vec<String>], expected: &[String]) -> bool {
    actual.len() == expected.len()
        && actual.iter().zip(expected).all(|(row, line)| &row.join("|") == line)
}

/// As many columns, and numbers where numbers are expected. (PostgreSQL has `numeric` in places
/// where `bigint` is enough, so integers and other numbers are not told apart.)
#[allow(clippy::ptr_arg)] // the runner's signature
fn same_kinds(actual: &Vec<DefaultColumnType>, expected: &Vec<DefaultColumnType>) -> bool {
    let is_text = |ty: &DefaultColumnType| ty.to_char() == 'T';
    actual.len() == expected.len()
        && actual.iter().zip(expected).all(|(a, e)| is_text(a) == is_text(e))
}
