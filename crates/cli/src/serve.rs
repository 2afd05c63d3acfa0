//! `dovetail serve`: the database behind the PostgreSQL protocol.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use engine::{Database, Options, RingKind, SqlError, SqlResult, SqlState};
use server::{Address, Rules, Server, ServerOptions};

use crate::size::parse_bytes;
use crate::{console, signal};

/// The port of PostgreSQL, where clients look first.
const PORT: u16 = 5432;

/// The port of the console.
const HTTP_PORT: u16 = 8432;

/// Serve a database to PostgreSQL clients
#[derive(Args)]
#[command(after_help = "Exit codes: 0 stopped by SIGTERM or SIGINT, 1 could not start.")]
pub struct ServeArgs {
    /// Database file; created when it does not exist
    #[arg(long, default_value = "main.dovetail", value_name = "FILE")]
    pub(crate) data: PathBuf,
    /// Address to listen at, HOST or HOST:PORT; may be repeated
    #[arg(long, default_value = "127.0.0.1:5432", value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,
    /// Address for health, metrics and the console in a browser; may be repeated
    #[arg(long, default_value = "127.0.0.1:8432", value_name = "ADDRESS")]
    pub(crate) http_listen: Vec<String>,
    /// Do not answer HTTP
    #[arg(long, conflicts_with = "http_listen")]
    pub(crate) no_http: bool,
    /// Let the console run statements that write
    #[arg(long)]
    pub(crate) console_writes: bool,
    /// Folder for a unix socket, named as PostgreSQL names it
    #[arg(long, value_name = "DIR")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Memory of the database, like 256MB: half of it for the buffer pool
    #[arg(long, value_parser = parse_bytes)]
    pub(crate) memory: Option<usize>,
    /// auto, uring or threads
    #[arg(long)]
    pub(crate) ring: Option<RingKind>,
    /// Who may connect from where: a file in the form of pg_hba.conf
    #[arg(long, value_name = "FILE")]
    pub(crate) hba: Option<PathBuf>,
    /// Clients at once
    #[arg(long, default_value_t = CONNECTION_COUNT_MAX)]
    pub(crate) max_connections: usize,
}

/// Connections at once unless the user says otherwise.
const CONNECTION_COUNT_MAX: usize = 1000;

/// Serves until SIGTERM or SIGINT; `device_reads_per_s` when the device was probed already.
pub fn run(args: &ServeArgs, device_reads_per_s: Option<f64>) -> SqlResult<ExitCode> {
    let signals = signal::block(&[libc::SIGTERM, libc::SIGINT]);
    let (listen, http_listen) = (args.addresses()?, args.http_addresses()?);
    let db = args.open()?;
    let console = console::options(args.console_writes, device_reads_per_s);
    let options = ServerOptions {
        rules: args.rules()?,
        connection_count_max: args.max_connections,
        listen,
        http_listen,
        console,
        ..ServerOptions::default()
    };
    tell_who_may_connect(&db, &options);
    let server = Server::start(&db, &options).map_err(|error| {
        SqlError::new(SqlState::IO_ERROR, format!("could not listen: {error}")).with_hint(
            "Is another server running there? --listen and --http-listen take other addresses.",
        )
    })?;
    for ring in db.rings() {
        eprintln!("ring {:?}: {}", ring.kind, ring.reason);
    }
    for address in server.addresses() {
        eprintln!("Listening at {address}. Connect with {}", how_to_connect(address));
    }
    for address in server.http_addresses() {
        eprintln!("Console at http://{address}/, metrics at http://{address}/metrics");
    }
    let signal = signal::wait(&signals);
    eprintln!("Stopping: signal {signal}, {} clients.", server.connection_count());
    db.checkpoint()?;
    // Connections end with the process: what they had acknowledged is in the file.
    std::process::exit(0)
}

/// Says what a user should know before anybody connects.
fn tell_who_may_connect(db: &Database, options: &ServerOptions) {
    if options.rules.is_some() || db.has_passwords() {
        return;
    }
    let from_elsewhere = |address: &Address| match address {
        Address::Unix(_) => false,
        Address::Tcp(address) => !address.ip().is_loopback(),
    };
    eprintln!(
        "No role has a password: everybody on this machine may connect{}. \
         ALTER ROLE dovetail PASSWORD '..' has all clients asked for one.",
        if db.is_fresh() { ", as the superuser dovetail" } else { "" },
    );
    if options.listen.iter().any(from_elsewhere) {
        eprintln!("Nobody on another machine can connect before a role has a password.");
    }
}

fn how_to_connect(address: &Address) -> String {
    match address {
        Address::Tcp(tcp) => format!("psql -h {} -p {}", tcp.ip(), tcp.port()),
        Address::Unix(path) => {
            format!("psql -h {}", path.parent().unwrap_or(path).display())
        }
    }
}

impl ServeArgs {
    /// The defaults for a file, listening nowhere.
    pub(crate) fn of(data: PathBuf) -> ServeArgs {
        ServeArgs {
            data,
            listen: vec![],
            http_listen: vec![],
            no_http: false,
            console_writes: false,
            unix_socket: None,
            memory: None,
            ring: None,
            hba: None,
            max_connections: CONNECTION_COUNT_MAX,
        }
    }

    fn open(&self) -> SqlResult<Database> {
        let mut options = Options::default();
        options.memory_bytes = self.memory.unwrap_or(options.memory_bytes);
        options.ring = self.ring.unwrap_or(options.ring);
        match self.data.exists() {
            true => Database::open(&self.data, options),
            false => Database::create(&self.data, options),
        }
    }

    /// The rules by which clients connect.
    fn rules(&self) -> SqlResult<Option<Rules>> {
        let Some(path) = &self.hba else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message = format!("could not read {}: {error}", path.display());
            SqlError::new(SqlState::UNDEFINED_FILE, message)
        })?;
        Rules::parse(&text).map(Some)
    }

    fn addresses(&self) -> SqlResult<Vec<Address>> {
        let mut all = Vec::new();
        for text in &self.listen {
            all.extend(resolve("--listen", text, PORT)?);
        }
        if let Some(folder) = &self.unix_socket {
            all.push(Address::Unix(folder.join(format!(".s.PGSQL.{PORT}"))));
        }
        Ok(all)
    }

    fn http_addresses(&self) -> SqlResult<Vec<Address>> {
        if self.no_http {
            return Ok(vec![]);
        }
        let all = self.http_listen.iter().map(|text| {
            let addresses = resolve("--http-listen", text, HTTP_PORT)?;
            only_here(text, &addresses).map(|()| addresses)
        });
        Ok(all.collect::<SqlResult<Vec<_>>>()?.concat())
    }
}

/// The addresses that `text` names.
fn resolve(option: &str, text: &str, port: u16) -> SqlResult<Vec<Address>> {
    let bad = |why: String| {
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, format!("{option} {text}: {why}"))
    };
    let resolved = match text.parse::<IpAddr>() {
        Ok(ip) => vec![SocketAddr::new(ip, port)],
        Err(_) if !text.contains(':') => {
            (text, port).to_socket_addrs().map_err(|e| bad(e.to_string()))?.collect()
        }
        Err(_) => text.to_socket_addrs().map_err(|e| bad(e.to_string()))?.collect::<Vec<_>>(),
    };
    Ok(resolved.into_iter().map(Address::Tcp).collect())
}

/// HTTP has no login, so only this machine may reach it.
fn only_here(text: &str, addresses: &[Address]) -> SqlResult<()> {
    let open = |address: &&Address| match address {
        Address::Unix(_) => false,
        Address::Tcp(address) => !address.ip().is_loopback(),
    };
    let Some(open) = addresses.iter().find(open) else { return Ok(()) };
    let message = format!("--http-listen {text}: {open} can be reached from other machines");
    Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        .with_detail("The console has no login.")
        .with_hint("Listen at 127.0.0.1 and reach it through an SSH tunnel."))
}
