//! Settings that each session may change for itself.

use plan::catalog::TableStorage;
use plan::codegen::Start;
use types::text::IntervalStyle;
use types::zone::Zone;

use super::commit::SynchronousCommit;
use super::setting::{Context, Home, Kind, Setting, Unset};
use super::value::Value;
use super::{ExecutionMode, PlanCache, SearchPath, Settings, utc};
use crate::device;

const CLIENTS: &str = "Client Connection Defaults";
const PLANNER: &str = "Query Tuning";
const MEMORY: &str = "Resource Usage";
const TIMEOUTS: &str = "Timeouts";

/// Longest time that a setting can name, as in PostgreSQL: 2^31 - 1 milliseconds.
const TIME_MS_MAX: i64 = i32::MAX as i64;

macro_rules! setting {
    ($name:literal, $category:expr, $kind:expr, $default:literal, $home:expr, $about:literal) => {
        Setting {
            name: $name,
            category: $category,
            kind: $kind,
            context: Context::Session,
            unset: Unset::Is($default),
            description: $about,
            home: $home,
        }
    };
}

macro_rules! on_off {
    ($name:literal, $field:ident, $about:literal) => {
        setting!(
            $name,
            PLANNER,
            Kind::Bool,
            "on",
            Home::Field(|s| Value::Bool(s.$field), |s, v| s.$field = v.flag()),
            $about
        )
    };
}

macro_rules! time {
    ($name:literal, $field:ident, $about:literal) => {
        setting!(
            $name,
            TIMEOUTS,
            Kind::Time { unit: "ms", min: 0, max: TIME_MS_MAX },
            "0",
            Home::Field(|s| Value::Integer(s.$field as i64), |s, v| s.$field = v.count() as u64),
            $about
        )
    };
}

macro_rules! count {
    ($name:literal, $field:ident, $max:literal, $default:expr, $about:literal) => {
        Setting {
            name: $name,
            category: PLANNER,
            kind: Kind::Integer { min: 1, max: $max },
            context: Context::Session,
            unset: $default,
            description: $about,
            home: Home::Field(
                |s: &Settings| Value::Integer(s.$field as i64),
                |s, v| s.$field = v.count(),
            ),
        }
    };
}

/// As `SET jit` takes it.
fn jit_name(start: Option<Start>) -> &'static str {
    match start {
        None => "off",
        Some(Start::ManyRows) => "on",
        Some(Start::FirstUse) => "force",
    }
}

fn jit_of(name: &str) -> Option<Start> {
    [Start::ManyRows, Start::FirstUse].into_iter().find(|start| jit_name(Some(*start)) == name)
}

/// As `SET plan_cache_mode` takes them.
const PLAN_CACHES: [(&str, PlanCache); 3] = [
    ("auto", PlanCache::Auto),
    ("force_generic_plan", PlanCache::ForceGeneric),
    ("force_custom_plan", PlanCache::ForceCustom),
];

/// Locales that are the one there is, as values are compared.
const LOCALES: &[&str] = &["", "c", "posix", "c.utf8"];

/// Ordered by name.
pub(super) const SETTINGS: &[Setting] = &[
    setting!(
        "application_name",
        CLIENTS,
        Kind::Text,
        "",
        Home::Field(
            |s| Value::Text(s.application_name.clone()),
            |s, v| s.application_name = v.text().to_owned()
        ),
        "Name of the application, for the operator's eyes."
    ),
    setting!(
        "bytea_output",
        CLIENTS,
        Kind::Text,
        "hex",
        Home::Fixed(&["hex"]),
        "Text form of bytea."
    ),
    setting!(
        "check_function_bodies",
        CLIENTS,
        Kind::Bool,
        "on",
        Home::Kept,
        "Kept; there are no functions to check."
    ),
    setting!(
        "client_encoding",
        CLIENTS,
        Kind::Text,
        "UTF8",
        Home::Fixed(&["utf8", "unicode"]),
        "Encoding of the client."
    ),
    setting!(
        "client_min_messages",
        CLIENTS,
        Kind::Choice(&[
            "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"
        ]),
        "notice",
        Home::Kept,
        "Least severity of messages that are sent."
    ),
    setting!(
        "DateStyle",
        CLIENTS,
        Kind::Text,
        "ISO, MDY",
        Home::Fixed(&["iso", "iso,mdy", "iso,dmy", "iso,ymd"]),
        "Text form of dates."
    ),
    setting!(
        "default_tablespace",
        CLIENTS,
        Kind::Text,
        "",
        Home::Fixed(&[""]),
        "Where tables are kept: in the one file."
    ),
    setting!(
        "default_table_access_method",
        CLIENTS,
        Kind::Choice(TableStorage::ACCESS_METHODS),
        "heap",
        Home::Shared {
            with: "default_table_storage",
            get: |s| Value::Text(s.default_table_storage.access_method().to_owned()),
            set: |s, v| s.default_table_storage = TableStorage::of_access_method(v.text()),
        },
        "`default_table_storage` in PostgreSQL's words: `heap` for rows. Dumps set it."
    ),
    setting!(
        "default_table_storage",
        CLIENTS,
        Kind::Choice(TableStorage::NAMES),
        "row",
        Home::Field(
            |s| Value::Text(s.default_table_storage.name().to_owned()),
            |s, v| s.default_table_storage = TableStorage::of_name(v.text()).unwrap_or_default()
        ),
        "How new tables are kept that do not say it; those without columns as rows all the same."
    ),
    setting!(
        "default_transaction_deferrable",
        CLIENTS,
        Kind::Bool,
        "off",
        Home::Kept,
        "Kept; no transaction waits for a snapshot."
    ),
    setting!(
        "default_transaction_isolation",
        CLIENTS,
        Kind::Choice(sql::parse::ISOLATION_LEVELS),
        "read committed",
        Home::Kept,
        "Isolation of transactions, as `docs/limits.md` tells it."
    ),
    setting!(
        "default_transaction_read_only",
        CLIENTS,
        Kind::Bool,
        "off",
        Home::Kept,
        "Whether statements that write are refused."
    ),
    setting!(
        "device_profile",
        PLANNER,
        Kind::Device,
        "auto",
        Home::Field(
            |s| Value::Text(s.device.as_ref().map_or("auto".to_owned(), device::text::figures)),
            |s, v| s.device = device::text::parse_figures(v.text()).ok()
        ),
        "What the device gives, for the prices of reads: as probed, or as said (`docs/sql.md`)."
    ),
    on_off!(
        "enable_hashjoin",
        enable_hashjoin,
        "Whether the planner may use hash joins where it has a choice."
    ),
    on_off!(
        "enable_indexnestloop",
        enable_indexnestloop,
        "Whether the planner may use index nested-loop joins."
    ),
    on_off!(
        "enable_indexonlyscan",
        enable_indexonlyscan,
        "Whether the planner may scan an index without its table."
    ),
    on_off!(
        "enable_indexscan",
        enable_indexscan,
        "Whether the planner may scan by an index where it has a choice."
    ),
    on_off!(
        "enable_rowprogram",
        enable_rowprogram,
        "Whether plans of few rows that are kept run as row programs."
    ),
    on_off!(
        "enable_seqscan",
        enable_seqscan,
        "Whether the planner may scan whole tables where it has a choice."
    ),
    setting!(
        "escape_string_warning",
        CLIENTS,
        Kind::Bool,
        "on",
        Home::Kept,
        "Kept; a backslash in a text is a letter."
    ),
    setting!(
        "execution_mode",
        PLANNER,
        Kind::Choice(&["serial", "static", "ooo"]),
        "ooo",
        Home::Field(
            |s| Value::Text(s.execution_mode.name().to_owned()),
            |s, v| s.execution_mode = v.text().parse().unwrap_or(ExecutionMode::OutOfOrder)
        ),
        "How a query is decomposed into tasks: serial, static or ooo (out of order)."
    ),
    setting!(
        "extra_float_digits",
        CLIENTS,
        Kind::Integer { min: -15, max: 3 },
        "1",
        Home::Kept,
        "Digits of floats; kept, they always have the shortest exact form."
    ),
    time!(
        "idle_in_transaction_session_timeout",
        idle_in_transaction_ms,
        "Longest pause of a client within a transaction, after which it is disconnected; 0 is no limit."
    ),
    time!(
        "idle_session_timeout",
        idle_session_ms,
        "Longest pause of a client outside of transactions, after which it is disconnected; 0 is no limit."
    ),
    setting!(
        "IntervalStyle",
        CLIENTS,
        Kind::Choice(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
        Home::Field(
            |s| {
                let named =
                    IntervalStyle::NAMES.iter().find(|(_, style)| *style == s.interval_style);
                Value::Text(named.map_or("", |(name, _)| *name).to_owned())
            },
            |s, v| {
                let styled = IntervalStyle::NAMES.iter().find(|(name, _)| *name == v.text());
                s.interval_style = styled.map_or_else(Default::default, |(_, style)| *style);
            }
        ),
        "Text form of intervals in results; conversions within a statement use `postgres`."
    ),
    setting!(
        "jit",
        PLANNER,
        Kind::Choice(&["off", "on", "force"]),
        "off",
        Home::Field(|s| Value::Text(jit_name(s.jit).to_owned()), |s, v| s.jit = jit_of(v.text())),
        "When expressions become machine code: never, after many rows, or at once."
    ),
    setting!(
        "lc_messages",
        CLIENTS,
        Kind::Text,
        "C",
        Home::Fixed(LOCALES),
        "Language of messages."
    ),
    setting!(
        "lc_monetary",
        CLIENTS,
        Kind::Text,
        "C",
        Home::Fixed(LOCALES),
        "Form of amounts of money in `to_char`."
    ),
    setting!(
        "lc_numeric",
        CLIENTS,
        Kind::Text,
        "C",
        Home::Fixed(LOCALES),
        "Form of numbers in `to_char`."
    ),
    setting!(
        "lc_time",
        CLIENTS,
        Kind::Text,
        "C",
        Home::Fixed(LOCALES),
        "Names of days and months in `to_char`."
    ),
    time!(
        "lock_timeout",
        lock_timeout_ms,
        "Longest wait of a statement that writes for the one that writes before it; 0 is no limit."
    ),
    count!(
        "lookup_batch_rows",
        lookup_batch_rows,
        65_536,
        Unset::Is("128"),
        "Outer rows per task of an index nested-loop join."
    ),
    count!(
        "max_tasks",
        max_tasks,
        1_000_000,
        Unset::Is("4096"),
        "Tasks that a query may have alive; more work runs inline."
    ),
    setting!(
        "password_encryption",
        CLIENTS,
        Kind::Text,
        "scram-sha-256",
        Home::Fixed(&["scramsha256"]),
        "How passwords are kept."
    ),
    setting!("row_security", CLIENTS, Kind::Bool, "on", Home::Kept, "Kept; no table has policies."),
    setting!(
        "plan_cache_mode",
        PLANNER,
        Kind::Choice(&["auto", "force_generic_plan", "force_custom_plan"]),
        "auto",
        Home::Field(
            |s| {
                let named = PLAN_CACHES.iter().find(|(_, cache)| *cache == s.plan_cache);
                Value::Text(named.map_or("", |(name, _)| *name).to_owned())
            },
            |s, v| {
                let meant = PLAN_CACHES.iter().find(|(name, _)| *name == v.text());
                s.plan_cache = meant.map_or_else(Default::default, |(_, cache)| *cache);
            }
        ),
        "When a plan serves for all values: if it costs no more, if there is one, or never."
    ),
    setting!(
        "search_path",
        CLIENTS,
        Kind::Text,
        "\"$user\", public",
        Home::Field(
            |s| Value::Text(s.search_path.text.as_ref().to_owned()),
            |s, v| s.search_path = SearchPath::of(v.text())
        ),
        "Schemas in which names are looked up; those that do not exist are passed over."
    ),
    setting!(
        "standard_conforming_strings",
        CLIENTS,
        Kind::Text,
        "on",
        Home::Fixed(&["on"]),
        "Whether a backslash in a text is a letter: always."
    ),
    setting!(
        "synchronous_commit",
        CLIENTS,
        Kind::Choice(SynchronousCommit::NAMES),
        "on",
        Home::Field(
            |s| Value::Text(s.synchronous_commit.name().to_owned()),
            |s, v| {
                s.synchronous_commit = SynchronousCommit::of_name(v.text()).unwrap_or_default();
            }
        ),
        "Whether commits wait until they are durable: with `off` a crash takes those of the last half second."
    ),
    time!(
        "statement_timeout",
        statement_timeout_ms,
        "Longest time of a statement, after which it is cancelled; 0 is no limit."
    ),
    count!(
        "static_partitions",
        static_partitions,
        1024,
        Unset::Cores,
        "Parts of the driving scan in static mode."
    ),
    setting!(
        "synchronize_seqscans",
        CLIENTS,
        Kind::Bool,
        "on",
        Home::Kept,
        "Kept; each scan begins at the beginning."
    ),
    setting!(
        "TimeZone",
        CLIENTS,
        Kind::Zone,
        "UTC",
        Home::Field(
            |s| Value::Text(s.zone.1.clone()),
            |s, v| s.zone = Zone::of_setting(v.text()).unwrap_or_else(utc)
        ),
        "Time zone in which instants are read and shown: a name, or hours east of UTC."
    ),
    setting!(
        "transaction_deferrable",
        CLIENTS,
        Kind::Bool,
        "off",
        Home::Kept,
        "Kept; no transaction waits for a snapshot."
    ),
    setting!(
        "transaction_isolation",
        CLIENTS,
        Kind::Choice(sql::parse::ISOLATION_LEVELS),
        "read committed",
        Home::Kept,
        "Isolation of this transaction."
    ),
    setting!(
        "transaction_read_only",
        CLIENTS,
        Kind::Bool,
        "off",
        Home::Kept,
        "Whether this transaction only reads; `BEGIN READ ONLY` and `SET TRANSACTION` say so."
    ),
    setting!(
        "work_mem",
        MEMORY,
        Kind::Size { unit: "kB", min: 64, zero: true },
        "0",
        Home::Field(
            |s| Value::Integer((s.work_mem >> 10) as i64),
            |s, v| s.work_mem = v.count().saturating_mul(1 << 10)
        ),
        "Memory of one operator before it spills; 0 is all that is free."
    ),
    setting!(
        "xmloption",
        CLIENTS,
        Kind::Choice(&["content", "document"]),
        "content",
        Home::Kept,
        "Kept; there is no XML."
    ),
];
