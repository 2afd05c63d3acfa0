//! `dovetail serve`: the database behind the PostgreSQL protocol.

mod addresses;
mod certificate;
mod configure;
mod flags;
mod served;
mod stderr;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use engine::{
    ArchiveOptions, Configuration, Database, Options, RecoveryWatch, RingKind, SqlError, SqlResult,
    SqlState,
};
use runtime::fs::Durability;
use runtime::sync::Cancel;
use server::{Address, Log, Rules, Server, ServerOptions, Severity};

use crate::location::{self, MemberArgs};
use crate::{console, signal, size};

use flags::Flags;
use served::Served;

/// Serve a database to PostgreSQL clients, with metrics and a console in a browser
#[derive(Args, Default)]
#[command(
    after_help = "Each flag can stand in the file of --config, as name = value with _ for -, \
or in the environment, as DOVETAIL_NAME. Flags win over the environment, and that over the file.\n\n\
SIGHUP reads the file, the rules and the certificate anew. SIGTERM and SIGINT stop the server: first \
what runs may finish (--drain), the second signal cancels it.\n\n\
Exit codes: 0 stopped by SIGTERM or SIGINT, 1 could not start."
)]
pub struct ServeArgs {
    /// File with settings, in TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The same as --http=off
    #[arg(long, conflicts_with_all = ["http", "http_listen"])]
    no_http: bool,
    #[command(flatten)]
    members: MemberArgs,
    #[command(flatten)]
    flags: Flags,
}

/// How often the end of the drain is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// How long cancelled statements have to end before the process does.
const GRACE: Duration = Duration::from_secs(2);

/// Serves until SIGTERM or SIGINT; `device_reads_per_s` when the device was probed already.
pub fn run(args: &ServeArgs, device_reads_per_s: Option<f64>) -> SqlResult<ExitCode> {
    let signals = signal::block(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP]);
    let configuration = Arc::new(args.configuration()?);
    let log = Arc::new(Log::new(stderr::sink()));
    log.set_json(is_json(&configuration));
    provide_descriptors(&configuration, &log)?;
    let options = server_options(&configuration, &log, device_reads_per_s)?;
    let ending = Cancel::new();
    let open = || open(&configuration, &args.members, &log, &ending);
    let (opened, mut early) = served::attended(&ending, open);
    let served = match opened {
        Err(error) if early.is_some() && error.state == SqlState::ADMIN_SHUTDOWN => {
            log.note(format!("Stopped: {}.", error.message));
            stderr::flush();
            return Ok(ExitCode::SUCCESS);
        }
        opened => opened?,
    };
    // A state of a replica is held no longer than it has to be.
    let start = |db: &Database| {
        tell_who_may_connect(db, &options);
        let server = Server::start(db, &options).map_err(|error| not_started(&error))?;
        tell_where(db, &server, &log);
        SqlResult::Ok(server)
    };
    let server = start(&served.database())?;
    loop {
        match early.take().unwrap_or_else(|| signal::wait(&signals)) {
            libc::SIGHUP => reload(args, &served.database(), &server, &log),
            signal => {
                stop(&served.database(), &server, &log, (&signals, signal))?;
                stderr::flush();
                // Connections end with the process: what they had acknowledged is in the file.
                std::process::exit(0)
            }
        }
    }
}

/// Why a server does not start, and what to do about it.
fn not_started(error: &std::io::Error) -> SqlError {
    let hint = match (error.kind(), error.raw_os_error()) {
        (_, Some(libc::EMFILE | libc::ENFILE)) => {
            "Each client needs a descriptor: raise the limit of open files (ulimit -n, LimitNOFILE)."
        }
        // The rules let strangers in there.
        (std::io::ErrorKind::InvalidInput, _) => {
            "Have that line of --hba ask for a password, or listen at 127.0.0.1 only."
        }
        _ => "Is another server running there? --listen and --http-listen take other addresses.",
    };
    SqlError::new(SqlState::IO_ERROR, format!("could not listen: {error}")).with_hint(hint)
}

/// Files, listeners, HTTP and those that have not logged in yet.
const DESCRIPTORS_BESIDE_CLIENTS: u64 = 200;

/// Fewer are not enough for the server itself: the file, the log and the archive, and for each
/// worker its ring, its wake-up and what it opens for a statement.
fn descriptors_min(workers: u64) -> u64 {
    32 + 8 * workers
}

/// Each client needs a descriptor.
///
/// # Errors
/// 53000 when there are not even enough for the server: it would take connections and never answer.
fn provide_descriptors(configuration: &Configuration, log: &Log) -> SqlResult<()> {
    let clients = configuration.count("max_connections") as u64;
    let least = descriptors_min(configuration.count("workers") as u64);
    let why = match runtime::probe::raise_open_file_limit() {
        Ok(limit) if limit >= clients + DESCRIPTORS_BESIDE_CLIENTS => return Ok(()),
        Ok(limit) if limit < least => {
            let message = format!("the limit of open files is {limit}; the server needs {least}");
            let hint = "Raise it (ulimit -n, LimitNOFILE), or have fewer --workers.";
            return Err(SqlError::new(SqlState("53000"), message).with_hint(hint));
        }
        Ok(limit) => format!("the limit of open files is {limit} (ulimit -Hn, LimitNOFILE)"),
        Err(error) => format!("the limit of open files is unknown: {error}"),
    };
    let message = format!("max_connections is {clients}, but {why}: clients may be turned away.");
    log.entry(Severity::Warning, message).write();
    Ok(())
}

fn is_json(configuration: &Configuration) -> bool {
    configuration.text("log_format").as_deref() == Some("json")
}

fn server_options(
    configuration: &Configuration,
    log: &Arc<Log>,
    device_reads_per_s: Option<f64>,
) -> SqlResult<ServerOptions> {
    Ok(ServerOptions {
        rules: rules(configuration)?,
        tls: certificate::read(configuration)?,
        connection_count_max: configuration.count("max_connections"),
        reserved_count: configuration.count("superuser_reserved_connections"),
        listen: addresses::protocol(configuration)?,
        http_listen: addresses::http(configuration)?,
        console: console::options(configuration.flag("console_writes"), device_reads_per_s),
        log: log.clone(),
    })
}

fn open(
    configuration: &Arc<Configuration>,
    members: &MemberArgs,
    log: &Arc<Log>,
    ending: &Cancel,
) -> SqlResult<Served> {
    let ring = configuration.text("ring").unwrap_or_default().parse::<RingKind>();
    if configuration.count("pool") >= configuration.count("memory") {
        let message = "pool must be smaller than memory, of which it is a part";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let told = log.clone();
    let options = Options {
        recovery_watch: Some(RecoveryWatch::new(move |said| told.note(said))),
        archive: archive(configuration, log),
        volume: members.volume(),
        memory_bytes: configuration.count("memory"),
        pool_bytes: Some(configuration.count("pool")).filter(|bytes| *bytes > 0),
        page_bytes: page_bytes(configuration),
        ring: ring.map_err(|why| SqlError::new(SqlState::INVALID_PARAMETER_VALUE, why))?,
        sqpoll: configuration.flag("sqpoll"),
        iopoll: configuration.flag("iopoll"),
        log_durability: durability(configuration)?,
        workers: configuration.count("workers"),
        configuration: configuration.clone(),
        ..pg::options()
    };
    crate::allocator::fit_into(options.memory_bytes);
    runtime::code::read_ahead();
    let path =
        location::file(configuration.text("data").unwrap_or_default().as_ref(), "main.dovetail");
    served::open((&path, members), configuration, options, (log, ending))
}

/// Where the database is archived, if it is.
fn archive(configuration: &Configuration, log: &Arc<Log>) -> Option<ArchiveOptions> {
    let folder = configuration.text("archive").filter(|folder| !folder.is_empty())?;
    let log = log.clone();
    let tell = Arc::new(move |said: &str| log.entry(Severity::Warning, said.to_owned()).write());
    Some(ArchiveOptions { folder: folder.into(), tell })
}

/// How commits become durable, if that is said.
fn durability(configuration: &Configuration) -> SqlResult<Option<Durability>> {
    let asked = configuration.text("wal_sync_method").filter(|asked| asked != "auto");
    let asked = asked.map(|asked| asked.parse()).transpose();
    asked.map_err(|why: String| SqlError::new(SqlState::INVALID_PARAMETER_VALUE, why))
}

/// The pages that are asked for, unless any will do.
fn page_bytes(configuration: &Configuration) -> Option<u32> {
    let bytes = size::parse_bytes(&configuration.text("page_size")?).ok()?;
    u32::try_from(bytes).ok()
}

/// The rules by which clients connect.
fn rules(configuration: &Configuration) -> SqlResult<Option<Rules>> {
    let Some(path) = configuration.text("hba") else { return Ok(None) };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let message = format!("could not read {path}: {error}");
        SqlError::new(SqlState::UNDEFINED_FILE, message)
    })?;
    Rules::parse(&text).map(Some)
}

/// Reads everything anew that can be while the server runs. What is wrong leaves all as it was.
fn reload(args: &ServeArgs, db: &Database, server: &Server, log: &Log) {
    log.note("received SIGHUP, reloading configuration files");
    let reloaded = args.configuration().and_then(|configuration| {
        let (rules, tls) = (rules(&configuration)?, certificate::read(&configuration)?);
        server
            .reload(rules, tls)
            .map_err(|error| SqlError::new(SqlState::INVALID_PARAMETER_VALUE, error.to_string()))?;
        Ok(configuration)
    });
    match reloaded {
        Err(error) => {
            let message = "the configuration is as it was; the new one has an error";
            let entry = log.entry(Severity::Warning, message).with("error", error.message);
            error.hint.into_iter().fold(entry, |entry, hint| entry.with("hint", hint)).write();
        }
        Ok(configuration) => {
            for change in db.reconfigure(&configuration) {
                let name = change.name;
                log.note(match change.needs_restart {
                    true => {
                        format!(
                            "parameter \"{name}\" cannot be changed without restarting the server"
                        )
                    }
                    false => format!("parameter \"{name}\" changed to \"{}\"", change.value),
                });
            }
            server.follow_configuration();
        }
    }
}

/// Lets what runs finish, then cancels it; a second signal does not wait.
fn stop(
    db: &Database,
    server: &Server,
    log: &Log,
    (signals, signal): (&libc::sigset_t, i32),
) -> SqlResult<()> {
    let limit = db.configuration().duration("drain").unwrap_or_default();
    let entry = log.entry(Severity::Log, format!("Stopping: signal {signal}."));
    entry.with("clients", server.connection_count()).with("drain_s", limit.as_secs()).write();
    server.drain();
    let mut gone = all_gone(server, limit, signals);
    if !gone {
        let entry = log.entry(Severity::Warning, "Cancelling what still runs.");
        entry.with("clients", server.connection_count()).write();
        server.close();
        gone = all_gone(server, GRACE, signals);
    }
    // A statement that does not heed its end keeps the right to write; what was acknowledged before
    // is in the file.
    // What was acknowledged before it is durable is waited for, unless the device hangs.
    if !gone && !db.is_in_recovery() && !db.settle_within(GRACE) {
        let said = "What was committed with synchronous_commit off may be lost.";
        log.entry(Severity::Warning, said).write();
    }
    if gone && !db.is_in_recovery() {
        match db.checkpoint() {
            // What was committed is in the log.
            Err(error) if error.state == SqlState::DISK_FULL && db.is_durable() => {
                let said = "The disk is full: the next start recovers from the log.";
                log.entry(Severity::Warning, said).write();
            }
            done => done?,
        }
    }
    log.note("Stopped.");
    Ok(())
}

/// Waits until no client is left; false when the time is up or a signal comes first.
fn all_gone(server: &Server, limit: Duration, signals: &libc::sigset_t) -> bool {
    let begun = Instant::now();
    while server.connection_count() > 0 {
        let signal = signal::wait_within(signals, LOOK).filter(|signal| *signal != libc::SIGHUP);
        if signal.is_some() || begun.elapsed() >= limit {
            return false;
        }
    }
    true
}

/// Says what a user should know before anybody connects.
fn tell_who_may_connect(db: &Database, options: &ServerOptions) {
    let asks_all = options.rules.is_none();
    if !db.has_superuser_login(asks_all && db.has_passwords()) {
        let message =
            "No superuser can log in: none may, or none has a password, which is asked for.";
        let hint =
            "dovetail sql FILE, while no server has it open, takes ALTER ROLE .. PASSWORD '..'.";
        options.log.entry(Severity::Warning, message).with("hint", hint).write();
    }
    if options.rules.is_some() || db.has_passwords() {
        return;
    }
    let from_elsewhere = |address: &Address| match address {
        Address::Unix(_) => false,
        Address::Tcp(address) => !address.ip().is_loopback(),
    };
    options
        .log
        .entry(
            Severity::Warning,
            format!(
                "No role has a password: everybody on this machine may connect{}. \
             ALTER ROLE dovetail PASSWORD '..' has all clients asked for one.",
                if db.is_fresh() { ", as the superuser dovetail" } else { "" },
            ),
        )
        .write();
    if options.listen.iter().any(from_elsewhere) {
        options.log.note("Nobody on another machine can connect before a role has a password.");
    }
}

fn tell_where(db: &Database, server: &Server, log: &Log) {
    for ring in db.rings() {
        log.note(format!("ring {:?}: {}", ring.kind, ring.reason));
    }
    for address in server.addresses() {
        let how = addresses::how_to_connect(address);
        log.note(format!("Listening at {address}. Connect with {how}"));
    }
    for address in server.http_addresses() {
        log.note(format!("Console at http://{address}/, metrics at http://{address}/metrics"));
    }
}

impl ServeArgs {
    /// Values that a program gives in the place of flags.
    pub(crate) fn of(values: impl IntoIterator<Item = (&'static str, String)>) -> ServeArgs {
        ServeArgs { flags: Flags(values.into_iter().collect()), ..ServeArgs::default() }
    }

    fn configuration(&self) -> SqlResult<Configuration> {
        let variable = || std::env::var_os(configure::FILE_VARIABLE).map(PathBuf::from);
        let file = self.config.clone().or_else(variable);
        let mut flags = self.flags.clone();
        flags.0.extend(self.no_http.then(|| ("http", "off".to_owned())));
        configure::configuration(file.as_deref(), std::env::vars_os(), &flags)
    }
}
