//! Settings of the server, and what can only be asked for.

use super::Settings;
use super::setting::{Context, Home, Kind, Setting, Unset};
use super::value::Value;

const CONNECTIONS: &str = "Connections and Authentication";
const FILES: &str = "Files and Memory";
const LOGS: &str = "Logging";
const PRESET: &str = "Preset Options";

/// Longest drain: a day.
const DRAIN_S_MAX: i64 = 86_400;

macro_rules! server {
    ($name:literal, $category:expr, $context:ident, $kind:expr, $default:expr, $about:literal) => {
        Setting {
            name: $name,
            category: $category,
            kind: $kind,
            context: Context::$context,
            unset: $default,
            description: $about,
            home: Home::Server,
        }
    };
}

macro_rules! preset {
    ($name:literal, $kind:expr, $value:literal, $about:literal) => {
        Setting {
            name: $name,
            category: PRESET,
            kind: $kind,
            context: Context::Internal,
            unset: Unset::Is($value),
            description: $about,
            home: Home::Fixed(&[]),
        }
    };
}

use Kind::{Bool, List, Path, Text};
use Unset::Is;

/// What the server is started with, in the order of the documentation.
pub(super) const SERVER: &[Setting] = &[
    server!(
        "data",
        FILES,
        Start,
        Path,
        Is("main.dovetail"),
        "Database file, created when it does not exist; in a folder, main.dovetail."
    ),
    server!(
        "archive",
        FILES,
        Start,
        Path,
        Is(""),
        "Folder to which what becomes of the database is archived: a backup leads to any later moment."
    ),
    server!(
        "replica_of",
        FILES,
        Start,
        Text,
        Is(""),
        "Folder of another database's archive, or HOST:PORT of its server: data is a copy that follows it, and is only read."
    ),
    server!(
        "replica_user",
        FILES,
        Start,
        Text,
        Is("dovetail"),
        "Role that a replica logs in as at the server that it follows: a superuser, or one with REPLICATION."
    ),
    server!(
        "replica_password_file",
        FILES,
        Start,
        Path,
        Is(""),
        "File whose first line is the password of that role."
    ),
    server!(
        "max_standby_streaming_delay",
        FILES,
        Reload,
        Kind::Time { unit: "ms", min: -1, max: i32::MAX as i64 },
        Is("30s"),
        "How long statements of a replica may go on with a state that was replaced; -1: without end."
    ),
    server!(
        "memory",
        FILES,
        Start,
        Kind::Size { unit: "B", min: 1 << 20, zero: false },
        Is("1GB"),
        "Memory of the database: about half of it for the buffer pool."
    ),
    server!(
        "pool",
        FILES,
        Start,
        Kind::Size { unit: "B", min: 4 << 20, zero: true },
        Is("0"),
        "Memory of the buffer pool alone, part of the above; 0 is half of it."
    ),
    server!(
        "page_size",
        FILES,
        Start,
        Kind::Choice(&["auto", "4kB", "8kB", "16kB", "32kB"]),
        Is("auto"),
        "Pages of a new database; auto is 4kB. A file of other pages is not opened."
    ),
    server!(
        "ring",
        FILES,
        Start,
        Kind::Choice(&["auto", "uring", "threads"]),
        Is("auto"),
        "What does the I/O: io_uring, a pool of threads, or io_uring where the kernel allows it."
    ),
    server!(
        "sqpoll",
        FILES,
        Start,
        Bool,
        Is("off"),
        "A kernel thread submits what io_uring is asked for (SQPOLL); awake it takes a core."
    ),
    server!(
        "iopoll",
        FILES,
        Start,
        Bool,
        Is("off"),
        "Poll the device instead of taking interrupts (IOPOLL); refused where it cannot be polled."
    ),
    server!(
        "wal_sync_method",
        FILES,
        Start,
        Kind::Choice(&["auto", "fdatasync", "linked", "open_datasync"]),
        Is("auto"),
        "How commits become durable: a write and a sync, both given to the kernel together, or a write with RWF_DSYNC; auto is the last one with direct I/O on ext4, XFS, Btrfs and F2FS, else the first."
    ),
    server!(
        "workers",
        FILES,
        Start,
        Kind::Integer { min: 1, max: 1024 },
        Unset::Cores,
        "Threads that run queries."
    ),
    server!(
        "column_merge_rows",
        FILES,
        Reload,
        Kind::Integer { min: 0, max: 100_000_000 },
        Is("65536"),
        "Rows that column tables take in row form before they become a part in the background; 0: they do not."
    ),
    server!(
        "column_merge_deleted",
        FILES,
        Reload,
        Kind::Integer { min: 1, max: 100 },
        Is("20"),
        "Deleted rows of a part of a column table, in percent, from which on the part is written anew in the background."
    ),
    server!(
        "listen",
        CONNECTIONS,
        Start,
        List,
        Is("127.0.0.1:5432"),
        "Addresses to listen at, HOST or HOST:PORT."
    ),
    server!(
        "unix_socket",
        CONNECTIONS,
        Start,
        Path,
        Is(""),
        "Folder for a unix socket, named as PostgreSQL names it."
    ),
    server!("http", CONNECTIONS, Start, Bool, Is("on"), "Whether to answer HTTP."),
    server!(
        "http_listen",
        CONNECTIONS,
        Start,
        List,
        Is("127.0.0.1:8432"),
        "Addresses for health, metrics and the console in a browser."
    ),
    server!(
        "object_store_hosts",
        CONNECTIONS,
        Start,
        List,
        Is(""),
        "Endpoints of object stores that statements may name: HOST, HOST:PORT or *.DOMAIN; empty for all."
    ),
    server!(
        "object_store_snapshots",
        CONNECTIONS,
        Start,
        Kind::Integer { min: 0, max: 10_000 },
        Is("0"),
        "Lists of a table in an object store that are kept, to read earlier states by; 0 for none."
    ),
    server!(
        "console_writes",
        CONNECTIONS,
        Start,
        Bool,
        Is("off"),
        "Whether the console runs statements that write."
    ),
    server!(
        "max_connections",
        CONNECTIONS,
        Start,
        Kind::Integer { min: 1, max: 262_143 },
        Is("1000"),
        "Clients at once."
    ),
    server!(
        "superuser_reserved_connections",
        CONNECTIONS,
        Start,
        Kind::Integer { min: 0, max: 262_143 },
        Is("3"),
        "Of these, the last ones are for superusers."
    ),
    server!(
        "authentication_timeout",
        CONNECTIONS,
        Reload,
        Kind::Time { unit: "s", min: 1, max: 600 },
        Is("10s"),
        "A client that has not logged in by then is hung up on."
    ),
    server!(
        "hba",
        CONNECTIONS,
        Reload,
        Path,
        Is(""),
        "File with the rules who may connect from where, in the form of pg_hba.conf."
    ),
    server!(
        "tls_cert",
        CONNECTIONS,
        Reload,
        Path,
        Is(""),
        "File with the server's certificate and those that vouch for it, as PEM; without it there is no TLS."
    ),
    server!(
        "tls_key",
        CONNECTIONS,
        Reload,
        Path,
        Is(""),
        "File with the private key of the certificate, as PEM."
    ),
    server!(
        "drain",
        CONNECTIONS,
        Reload,
        Kind::Time { unit: "s", min: 0, max: DRAIN_S_MAX },
        Is("30s"),
        "How long statements and transactions that run may go on after SIGTERM."
    ),
    server!(
        "log_format",
        LOGS,
        Reload,
        Kind::Choice(&["text", "json"]),
        Is("text"),
        "Form of the log's lines."
    ),
    server!(
        "log_connections",
        LOGS,
        Reload,
        Bool,
        Is("off"),
        "Whether clients that come and go are logged."
    ),
    server!(
        "log_min_duration_statement",
        LOGS,
        Reload,
        Kind::Time { unit: "ms", min: -1, max: i32::MAX as i64 },
        Is("-1"),
        "Statements that take as long are logged, with their plan; 0 logs all, -1 none."
    ),
    server!(
        "log_lock_waits",
        LOGS,
        Reload,
        Bool,
        Is("off"),
        "Whether waits for locks are logged that take longer than deadlock_timeout."
    ),
    server!(
        "deadlock_timeout",
        LOGS,
        Reload,
        Kind::Time { unit: "ms", min: 1, max: i32::MAX as i64 },
        Is("1s"),
        "When a wait for a lock is long. Deadlocks are found at once."
    ),
];

/// What can be asked for and not changed.
pub(super) const PRESETS: &[Setting] = &[
    Setting {
        name: "block_size",
        category: PRESET,
        kind: Kind::Integer { min: 4096, max: 32_768 },
        context: Context::Internal,
        unset: Is("4096"),
        description: "Bytes of a page.",
        home: Home::Server,
    },
    Setting {
        name: "in_hot_standby",
        category: PRESET,
        kind: Bool,
        context: Context::Internal,
        unset: Is("off"),
        description: "Whether the database follows another one, and is only read.",
        home: Home::Field(
            |s: &Settings| Value::Bool(s.in_recovery),
            |s, v| s.in_recovery = v.flag(),
        ),
    },
    preset!("integer_datetimes", Bool, "on", "Whether times are whole microseconds."),
    Setting {
        name: "is_superuser",
        category: PRESET,
        kind: Bool,
        context: Context::Internal,
        unset: Is("on"),
        description: "Whether the session's role may do everything.",
        home: Home::Field(
            |s: &Settings| Value::Bool(s.is_superuser),
            |s, v| s.is_superuser = v.flag(),
        ),
    },
    preset!("lc_collate", Text, "C", "Order of text: by bytes."),
    preset!("lc_ctype", Text, "C", "Classes of characters."),
    preset!(
        "max_identifier_length",
        Kind::Integer { min: 63, max: 63 },
        "63",
        "Longest name, in bytes."
    ),
    preset!(
        "max_index_keys",
        Kind::Integer { min: 32, max: 32 },
        "32",
        "Most columns of an index."
    ),
    preset!("server_encoding", Text, "UTF8", "Encoding of the database."),
    preset!("server_version", Text, "15.0", "The release of PostgreSQL whose behaviour this is."),
    preset!(
        "server_version_num",
        Kind::Integer { min: 150_000, max: 150_000 },
        "150000",
        "The same as a number."
    ),
    preset!("wal_level", Text, "minimal", "What the log is good for: recovery."),
];
