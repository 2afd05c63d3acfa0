//! Session settings: each is defined once, `SET`, `SHOW` and the documentation derive from it.

mod clients;

use exec::Mode;
use std::collections::BTreeMap;
use types::{SqlError, SqlResult, SqlState};

/// How queries are decomposed into tasks (anagodb, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionMode {
    /// One task, one request in flight.
    Serial,
    /// The driving scan is split once.
    Static,
    /// Split wherever the work can be split.
    OutOfOrder,
}

impl ExecutionMode {
    /// All modes, in the order of the demonstration.
    pub const ALL: [ExecutionMode; 3] =
        [ExecutionMode::Serial, ExecutionMode::Static, ExecutionMode::OutOfOrder];

    /// As `SET execution_mode` takes it.
    pub fn name(self) -> &'static str {
        match self {
            ExecutionMode::Serial => "serial",
            ExecutionMode::Static => "static",
            ExecutionMode::OutOfOrder => "ooo",
        }
    }
}

impl std::str::FromStr for ExecutionMode {
    type Err = String;

    fn from_str(text: &str) -> Result<ExecutionMode, String> {
        let found = ExecutionMode::ALL.into_iter().find(|m| m.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| format!("mode must be serial, static or ooo, not \"{text}\""))
    }
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `execution_mode`
    pub execution_mode: ExecutionMode,
    /// `static_partitions`
    pub static_partitions: usize,
    /// `max_tasks`
    pub max_tasks: usize,
    /// `lookup_batch_rows`
    pub lookup_batch_rows: usize,
    /// `work_mem`, in bytes; 0 is no limit but the database's.
    pub work_mem: usize,
    /// `enable_hashjoin`
    pub enable_hashjoin: bool,
    /// `enable_indexnestloop`
    pub enable_indexnestloop: bool,
    /// `enable_seqscan`
    pub enable_seqscan: bool,
    /// `application_name`: kept for clients that set it.
    pub application_name: String,
    /// `statement_timeout`; 0 is none. Kept by the server.
    pub statement_timeout_ms: u64,
    /// What clients set and nothing here depends on.
    kept: BTreeMap<&'static str, String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            execution_mode: ExecutionMode::OutOfOrder,
            static_partitions: runtime::Config::default().workers,
            max_tasks: 4096,
            lookup_batch_rows: 128,
            work_mem: 0,
            enable_hashjoin: true,
            enable_indexnestloop: true,
            enable_seqscan: true,
            application_name: String::new(),
            statement_timeout_ms: 0,
            kept: BTreeMap::new(),
        }
    }
}

/// One setting: its name, what it means, how it is read and written.
pub struct Setting {
    /// The name.
    pub name: &'static str,
    /// One sentence.
    pub description: &'static str,
    get: fn(&Settings) -> String,
    set: fn(&mut Settings, &str) -> Result<(), String>,
}

macro_rules! on_off {
    ($field:ident, $description:literal) => {
        Setting {
            name: stringify!($field),
            description: $description,
            get: |s| if s.$field { "on".into() } else { "off".into() },
            set: |s, v| parse_bool(v).map(|b| s.$field = b),
        }
    };
}

macro_rules! count {
    ($field:ident, $min:literal, $max:literal, $description:literal) => {
        Setting {
            name: stringify!($field),
            description: $description,
            get: |s| s.$field.to_string(),
            set: |s, v| parse_count(v, $min, $max).map(|n| s.$field = n),
        }
    };
}

/// All settings, ordered by name.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "application_name",
        description: "Name of the application, for the operator's eyes.",
        get: |s| s.application_name.clone(),
        set: |s, v| {
            s.application_name = v.to_owned();
            Ok(())
        },
    },
    on_off!(enable_hashjoin, "Whether the planner may use hash joins where it has a choice."),
    on_off!(enable_indexnestloop, "Whether the planner may use index nested-loop joins."),
    on_off!(enable_seqscan, "Whether the planner may scan whole tables where it has a choice."),
    Setting {
        name: "execution_mode",
        description: "How a query is decomposed into tasks: serial, static or ooo (out of order).",
        get: |s| s.execution_mode.name().into(),
        set: |s, v| v.parse().map(|m| s.execution_mode = m),
    },
    count!(lookup_batch_rows, 1, 65_536, "Outer rows per task of an index nested-loop join."),
    count!(max_tasks, 1, 1_000_000, "Tasks that a query may have alive; more work runs inline."),
    count!(static_partitions, 1, 1024, "Parts of the driving scan in static mode."),
    Setting {
        name: "work_mem",
        description: "Memory of one operator before it spills; 0 is all that is free.",
        get: |s| show_memory(s.work_mem),
        set: |s, v| parse_memory(v).map(|bytes| s.work_mem = bytes),
    },
];

fn parse_bool(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" | "t" => Ok(true),
        "off" | "false" | "no" | "0" | "f" => Ok(false),
        _ => Err("it must be on or off".into()),
    }
}

fn parse_count(text: &str, min: usize, max: usize) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(n) if (min..=max).contains(&n) => Ok(n),
        _ => Err(format!("it must be a whole number from {min} to {max}")),
    }
}

/// The least `work_mem`, as PostgreSQL's.
const WORK_MEM_MIN: u64 = 64 << 10;

/// As PostgreSQL: a number alone counts kilobytes.
fn parse_memory(text: &str) -> Result<usize, String> {
    let plain = text.trim().parse::<u64>().ok().and_then(|kb| kb.checked_mul(1 << 10));
    let bytes = match plain {
        Some(bytes) => bytes,
        None => stdx::parse_bytes(text).map_err(|_| "it must be a size like 64kB or 16MB")?,
    };
    match usize::try_from(bytes) {
        Ok(size) if bytes == 0 || bytes >= WORK_MEM_MIN => Ok(size),
        _ => Err("it must be 0, or 64kB or more".into()),
    }
}

/// With the largest unit that leaves a whole number.
fn show_memory(bytes: usize) -> String {
    let units = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    let whole = units.into_iter().find(|(size, _)| bytes != 0 && bytes.is_multiple_of(*size));
    whole.map_or_else(|| bytes.to_string(), |(size, unit)| format!("{}{unit}", bytes / size))
}

/// All settings: the engine's own, then those that clients make.
pub(crate) fn all() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(clients::CLIENT_SETTINGS)
}

fn find(name: &str) -> SqlResult<&'static Setting> {
    let lower = name.to_ascii_lowercase();
    all().find(|s| s.name == lower).ok_or_else(|| {
        let message = format!("unrecognized configuration parameter \"{name}\"");
        let error = SqlError::new(SqlState::UNDEFINED_OBJECT, message);
        match nearest(&lower) {
            Some(near) => error.with_hint(format!("Perhaps you meant \"{near}\".")),
            None => error.with_hint("SHOW ALL lists the settings."),
        }
    })
}

/// The setting whose name shares the longest prefix, if that is at least four letters.
fn nearest(name: &str) -> Option<&'static str> {
    let shared = |s: &Setting| s.name.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    all().map(|s| (shared(s), s.name)).filter(|(n, _)| *n >= 4).max().map(|(_, s)| s)
}

impl Settings {
    /// `SET name = value`.
    pub fn set(&mut self, name: &str, value: &str) -> SqlResult<()> {
        let setting = find(name)?;
        (setting.set)(self, value).map_err(|why| {
            let message = format!("invalid value for parameter \"{}\": \"{value}\"", setting.name);
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(why)
        })
    }

    /// `SHOW name`.
    pub fn show(&self, name: &str) -> SqlResult<String> {
        Ok((find(name)?.get)(self))
    }

    /// `RESET name`, or of all when `name` is `all`.
    pub fn reset(&mut self, name: &str) -> SqlResult<()> {
        let defaults = Settings::default();
        if name.eq_ignore_ascii_case("all") {
            *self = defaults;
            return Ok(());
        }
        let value = defaults.show(name)?;
        self.set(name, &value)
    }

    /// The decomposition policy for `exec`.
    pub(crate) fn mode(&self) -> Mode {
        match self.execution_mode {
            ExecutionMode::Serial => Mode::Serial,
            ExecutionMode::Static => Mode::Static { partitions: self.static_partitions },
            ExecutionMode::OutOfOrder => Mode::OutOfOrder,
        }
    }
}
