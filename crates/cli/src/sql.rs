//! `dovetail sql`: the shell over a database file.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::DataType;
use clap::Args;
use engine::{
    CancelHandle, Database, ExecutionMode, ResultSet, RingKind, Session, SqlError, SqlResult,
    StatementResult, TableDef, TransactionStatus,
};
use types::text::format_value;

use crate::bucket::{self, Scratch};
use crate::location::{self, MemberArgs};
use crate::shell::backend::{
    Backend, Heading, Kind, Outcome, Relation, RelationColumn, RelationIndex, Table,
    TransactionBlock,
};
use crate::shell::input::{Script, Terminal};
use crate::shell::interrupt::Interrupts;
use crate::shell::settings::{Mode, Settings};
use crate::shell::{Flow, Shell, exit, fatal_text, os_message};
use crate::size::{parse_bytes, parse_page_bytes};

/// The database file when none is named.
const DATABASE_DEFAULT: &str = "main.dovetail";

/// Open a database file in a SQL shell with psql's manners
#[derive(Args)]
#[command(after_help = "Exit codes: 0 ok, 1 the shell or a -c statement failed, \
2 the database could not be opened, 3 a script failed and ON_ERROR_STOP is set.")]
pub struct SqlArgs {
    /// Database file, created when it does not exist; or a location of objects, s3://bucket/database, whose
    /// tables are read with the keys of AWS_ACCESS_KEY_ID and its kin
    #[arg(default_value = DATABASE_DEFAULT)]
    database: PathBuf,
    /// Run this and exit; may be repeated
    #[arg(short = 'c', long, value_name = "SQL", conflicts_with = "file")]
    command: Vec<String>,
    /// Run the commands of this file and exit; - is standard input
    #[arg(short, long)]
    file: Option<PathBuf>,
    /// Print rows as comma-separated values
    #[arg(long, conflicts_with_all = ["json", "no_align"])]
    csv: bool,
    /// Print rows as an array of objects
    #[arg(long, conflicts_with = "no_align")]
    json: bool,
    /// Print rows unaligned
    #[arg(short = 'A', long)]
    no_align: bool,
    /// Print rows only, no header and no count
    #[arg(short, long)]
    tuples_only: bool,
    /// Print no command tags and no greeting
    #[arg(short, long)]
    quiet: bool,
    /// Print one line a column
    #[arg(short = 'x', long)]
    expanded: bool,
    /// Set ON_ERROR_STOP, QUIET or VERBOSITY
    #[arg(short = 'v', long = "set", value_name = "NAME=VALUE")]
    variables: Vec<String>,
    /// Memory of the database, like 256MB: about half of it for the buffer pool
    #[arg(long, value_parser = parse_bytes)]
    memory: Option<usize>,
    /// Pages of a new database: 4kB (the default), 8kB, 16kB or 32kB
    #[arg(long, value_parser = parse_page_bytes)]
    page_size: Option<u32>,
    /// auto, uring or threads
    #[arg(long)]
    ring: Option<RingKind>,
    /// Have a kernel thread submit what io_uring is asked for
    #[arg(long)]
    sqpoll: bool,
    /// Poll the device instead of taking interrupts
    #[arg(long)]
    iopoll: bool,
    /// serial, static or ooo
    #[arg(long)]
    mode: Option<ExecutionMode>,
    #[command(flatten)]
    members: MemberArgs,
}

impl SqlArgs {
    fn settings(&self) -> Result<Settings, String> {
        let mut settings = Settings {
            mode: match (self.csv, self.json, self.no_align) {
                (true, _, _) => Mode::Csv,
                (_, true, _) => Mode::Json,
                (_, _, true) => Mode::Unaligned,
                _ => Mode::Aligned,
            },
            expanded: self.expanded,
            tuples_only: self.tuples_only,
            quiet: self.quiet,
            ..Settings::default()
        };
        for variable in &self.variables {
            let (name, value) = variable.split_once('=').unwrap_or((variable, ""));
            settings.set_variable(name, value)?;
        }
        Ok(settings)
    }

    /// The database; what is opened from a bucket has a file of its own as long as it is open.
    fn open(&self) -> SqlResult<(Database, Option<Scratch>)> {
        let mut options = pg::options();
        options.memory_bytes = self.memory.unwrap_or(options.memory_bytes);
        crate::allocator::fit_into(options.memory_bytes);
        options.page_bytes = self.page_size;
        options.ring = self.ring.unwrap_or(options.ring);
        (options.sqpoll, options.iopoll) = (self.sqpoll, self.iopoll);
        if let Some(location) = bucket::location_of(&self.database) {
            return bucket::open(location, options).map(|(db, scratch)| (db, Some(scratch)));
        }
        options.volume = self.members.volume();
        if location::is_there(&self.database) {
            return Database::open(&self.database, options).map(|db| (db, None));
        }
        let db = Database::create(&self.members.first(&self.database), options)?;
        if !self.quiet {
            eprintln!("Created {}.", self.database.display());
        }
        Ok((db, None))
    }
}

/// `dovetail sql`: the exit code.
pub fn run(args: &SqlArgs) -> u8 {
    let settings = match args.settings() {
        Ok(settings) => settings,
        Err(message) => return fail(&message),
    };
    let interrupts = Interrupts::install();
    let (db, scratch) = match args.open() {
        Ok(opened) => opened,
        Err(error) => {
            eprint!("dovetail: {}", fatal_text(&error));
            return exit::BAD_DATABASE;
        }
    };
    let code = run_shell(args, settings, interrupts, &db, scratch.is_some());
    match db.close() {
        Ok(()) => code,
        Err(error) => {
            eprint!("dovetail: {}", fatal_text(&error));
            exit::FATAL
        }
    }
}

fn run_shell(
    args: &SqlArgs,
    settings: Settings,
    interrupts: Interrupts,
    db: &Database,
    is_bucket: bool,
) -> u8 {
    let mut session = db.session();
    if is_bucket && let Err(error) = session.execute("set default_transaction_read_only = on") {
        return fail(&error.to_string());
    }
    if let Some(mode) = args.mode {
        session.settings().execution_mode = mode;
    }
    let greeting = !settings.quiet;
    let (out, err) = (Box::new(io::stdout()), Box::new(io::stderr()));
    let mut shell = Shell::new(EngineBackend { session }, settings, interrupts, out, err);
    if !args.command.is_empty() {
        return run_commands(&mut shell, &args.command);
    }
    match &args.file {
        Some(path) if path.as_os_str() != "-" => run_file(&mut shell, path),
        Some(_) => script_code(shell.run_lines(&mut stdin_lines(), Some("<stdin>"))),
        None if io::stdin().is_terminal() => run_terminal(&mut shell, db, greeting),
        None => script_code(shell.run_lines(&mut stdin_lines(), None)),
    }
}

fn stdin_lines() -> Script<io::StdinLock<'static>> {
    Script::new(io::stdin().lock())
}

/// Like psql, goes on after a failed `-c` unless ON_ERROR_STOP is set; the last one decides.
fn run_commands(shell: &mut Shell<EngineBackend>, commands: &[String]) -> u8 {
    let mut code = exit::OK;
    for command in commands {
        let flow = shell.run_command(command, &mut stdin_lines());
        code = if matches!(flow, Flow::Failed | Flow::Stop) { exit::FATAL } else { exit::OK };
        if flow == Flow::Stop || (flow == Flow::Failed && shell.stops_on_error()) {
            break;
        }
    }
    code
}

fn run_file(shell: &mut Shell<EngineBackend>, path: &Path) -> u8 {
    match File::open(path) {
        Ok(file) => {
            let name = path.display().to_string();
            script_code(shell.run_lines(&mut Script::new(BufReader::new(file)), Some(&name)))
        }
        Err(error) => fail(&format!("{}: {}", path.display(), os_message(&error))),
    }
}

fn run_terminal(shell: &mut Shell<EngineBackend>, db: &Database, greeting: bool) -> u8 {
    let mut terminal = match Terminal::open(history_path()) {
        Ok(terminal) => terminal,
        Err(error) => return fail(&os_message(&error)),
    };
    if greeting {
        let version = env!("CARGO_PKG_VERSION");
        println!("dovetail {version}, ring {}\nType \\? for help.\n", db.file_backend());
    }
    shell.run_lines(&mut terminal, None);
    exit::OK
}

fn script_code(flow: Flow) -> u8 {
    if flow == Flow::Stop { exit::SCRIPT_ERROR } else { exit::OK }
}

fn fail(message: &str) -> u8 {
    eprintln!("dovetail: error: {message}");
    exit::FATAL
}

/// `$DOVETAIL_HISTORY`, else a file in the home folder; without either, no history is kept.
fn history_path() -> Option<PathBuf> {
    let named = std::env::var_os("DOVETAIL_HISTORY").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".dovetail_history"));
    named.or(home)
}

/// The engine as the shell sees it.
struct EngineBackend {
    session: Session,
}

impl Backend for EngineBackend {
    fn execute(&mut self, sql: &str) -> SqlResult<Vec<Outcome>> {
        Ok(self.session.execute(sql)?.into_iter().map(outcome).collect())
    }

    fn copy_in(&mut self, sql: &str, data: &mut dyn Read) -> SqlResult<Outcome> {
        self.session.copy_in(sql, data).map(outcome)
    }

    fn copy_out(&mut self, sql: &str, data: &mut dyn Write) -> SqlResult<Outcome> {
        self.session.copy_out(sql, data).map(outcome)
    }

    fn notices(&mut self) -> Vec<(&'static str, SqlError)> {
        let notices = self.session.take_notices().into_iter();
        notices.map(|notice| (notice.severity, notice.message)).collect()
    }

    fn block(&self) -> TransactionBlock {
        match self.session.transaction_status() {
            TransactionStatus::Idle => TransactionBlock::None,
            TransactionStatus::Open => TransactionBlock::Open,
            TransactionStatus::Failed => TransactionBlock::Failed,
        }
    }

    fn relations(&self) -> Vec<Relation> {
        self.session.database().tables().iter().map(relation).collect()
    }

    fn canceller(&self) -> Box<dyn Fn() + Send> {
        let handle: CancelHandle = self.session.cancel_handle();
        Box::new(move || handle.cancel())
    }
}

fn outcome(result: StatementResult) -> Outcome {
    match result {
        StatementResult::Rows(rows) => Outcome::Rows(table(&rows)),
        StatementResult::Command { tag } => Outcome::Command(tag),
    }
}

fn table(result: &ResultSet) -> Table {
    let fields = result.schema.fields().iter();
    let heading =
        |field: &Arc<_>| Heading { name: name_of(field), kind: kind_of(field.data_type()) };
    let mut rows = Vec::with_capacity(result.row_count());
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|column| format_value(column, row)).collect());
        }
    }
    Table { columns: fields.map(heading).collect(), rows }
}

fn name_of(field: &arrow_schema::Field) -> String {
    field.name().clone()
}

fn kind_of(ty: &DataType) -> Kind {
    match ty {
        DataType::Boolean => Kind::Boolean,
        ty if ty.is_numeric() => Kind::Number,
        _ => Kind::Text,
    }
}

fn relation(def: &Arc<TableDef>) -> Relation {
    let name = |&ordinal: &usize| def.schema.columns[ordinal].name.clone();
    let column = |column: &types::Column| RelationColumn {
        name: column.name.clone(),
        ty: column.ty.to_string(),
        nullable: column.nullable,
    };
    let index = |index: &Arc<engine::IndexDef>| RelationIndex {
        name: index.name.clone(),
        columns: index.columns.iter().map(name).collect(),
        included: index.included.iter().map(name).collect(),
        unique: index.unique,
        primary: index.primary,
        deferral: index.deferral.words(),
        method: index.method.name(),
    };
    Relation {
        name: def.name.clone(),
        columns: def.schema.columns.iter().map(column).collect(),
        primary_key: def.primary_key.iter().map(name).collect(),
        indexes: def.indexes.iter().map(index).collect(),
        row_count: def.statistics.row_count,
    }
}
