//! The database of a server: one of its own, or a replica of another one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::{
    Configuration, Database, Options, Replica, ReplicaOptions, SqlError, SqlResult, SqlState,
};
use runtime::sync::Cancel;
use server::{Log, Upstream};

use crate::location::{self, MemberArgs};
use crate::signal;

/// How often it is looked whether a server is to end that does not serve yet.
const LOOK: Duration = Duration::from_millis(20);

/// An open database.
pub enum Served {
    /// Its own.
    Own(Database),
    /// A replica, which follows another one.
    Replica(Replica),
}

impl Served {
    /// The database, in its last state.
    pub fn database(&self) -> Database {
        match self {
            Served::Own(database) => database.clone(),
            Served::Replica(replica) => replica.database(),
        }
    }
}

/// The result of `open`, and the signal by which the server is to end, if that comes before: a
/// replica may wait for its copy as long as its primary takes to make it.
pub fn attended<T>(ending: &Cancel, open: impl FnOnce() -> T) -> (T, Option<i32>) {
    let (signals, is_open) =
        (signal::block(&[libc::SIGTERM, libc::SIGINT]), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !is_open.load(Ordering::Acquire) {
                if let Some(signal) = signal::wait_within(&signals, LOOK) {
                    ending.cancel();
                    return Some(signal);
                }
            }
            None
        });
        let opened = open();
        is_open.store(true, Ordering::Release);
        (opened, watch.join().unwrap_or_default())
    })
}

/// Opens the file as the configuration says.
///
/// # Errors
/// 22023 for a replica that is to be archived, and those of opening.
pub fn open(
    (path, members): (&Path, &MemberArgs),
    configuration: &Configuration,
    options: Options,
    (log, ending): (&Arc<Log>, &Cancel),
) -> SqlResult<Served> {
    let source = configuration.text("replica_of").filter(|source| !source.is_empty());
    let Some(source) = source else {
        let opened = match location::is_there(path) {
            true => Database::open(path, options),
            false => Database::create(&members.first(path), options),
        };
        return opened.map(Served::Own);
    };
    if options.archive.is_some() {
        let message = "a replica is not archived: its primary is";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .with_hint("Leave --archive out until it is a database of its own."));
    }
    let told = log.clone();
    let upstream = upstream(&source, configuration)?;
    let folder = match &upstream {
        None => source.into(),
        Some(_) => path.with_added_extension("segments"),
    };
    let upstream = upstream.map(|upstream| Arc::new(upstream) as Arc<dyn engine::Upstream>);
    let tell = Arc::new(move |said: &str| told.note(said));
    let follow = ReplicaOptions { folder, upstream, tell, ending: ending.clone() };
    Replica::start(path, &follow, &options).map(Served::Replica)
}

/// The server that is meant; none where it is a folder.
fn upstream(source: &str, configuration: &Configuration) -> SqlResult<Option<Upstream>> {
    let parts = source.rsplit_once(':').filter(|_| !source.contains('/'));
    let Some((host, port)) = parts else { return Ok(None) };
    let port = port.parse().map_err(|_| {
        let message = format!("invalid value for parameter \"replica_of\": \"{source}\"");
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .with_hint("A server is HOST:PORT; a folder has a slash in its name.")
    })?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let user = configuration.text("replica_user").unwrap_or_default();
    let file = configuration.text("replica_password_file").filter(|file| !file.is_empty());
    let password = file.map(|file| first_line(&file)).transpose()?;
    Ok(Some(Upstream { host, port, user, password }))
}

fn first_line(file: &str) -> SqlResult<String> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let message = format!("could not read \"{file}\": {error}");
        SqlError::new(SqlState::UNDEFINED_FILE, message)
    })?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
