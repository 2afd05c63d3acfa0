//! The PostgreSQL protocol (version 3) over the runtime's own sockets.
//!
//! A connection is a task on one worker; connections are spread over the workers in turn. A
//! statement runs in the connection's task, so thousands of connections cost no thread. What a client claims
//! is never believed: memory grows with the bytes that have come, not with a length that was named.
//!
//! Frontend and backend messages, formats and error fields: PostgreSQL 15 documentation, chapter
//! 55.

mod accept;
mod attend;
mod authenticate;
mod cancel;
mod connection;
mod copy;
mod cursor;
mod descriptions;
mod drain;
mod events;
mod extended;
mod frame;
pub mod fuzz;
mod hba;
mod http;
mod internal;
mod log;
mod message;
mod output;
mod record;
mod replication;
mod report;
mod rows;
mod scram;
mod shared;
mod simple;
mod slots;
mod startup;
mod stream;
mod taken;
mod tls;
mod transaction;
mod upstream;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use engine::Database;
use runtime::net::Listener;

pub use hba::{Method, Rules};
pub use http::{ConsoleOptions, Sample};
pub use log::{Entry, Log, Severity};
pub use runtime::net::Address;
pub use tls::Tls;
pub use upstream::Upstream;

use accept::{accept, check_descriptors};
use cancel::Sessions;
use drain::{Drain, Stage};
use slots::Slots;

use crate::shared::Shared;

/// What a server is to do.
#[derive(Clone)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: Vec<Address>,
    /// Clients at once; more are refused with 53300.
    pub connection_count_max: usize,
    /// Where it answers HTTP: health, metrics and the console.
    pub http_listen: Vec<Address>,
    /// What the console offers.
    pub console: ConsoleOptions,
    /// Of these, the last ones are for superusers.
    pub reserved_count: usize,
    /// Who may connect from where. Without rules everybody may from this machine as long as no role
    /// has a password; else, and from other machines always, a password is asked for.
    pub rules: Option<Rules>,
    /// The certificate; without one nothing is encrypted.
    pub tls: Option<Tls>,
    /// What happens is written there.
    pub log: Arc<Log>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            listen: Vec::new(),
            connection_count_max: 1000,
            reserved_count: 3,
            rules: None,
            tls: None,
            log: Arc::new(Log::nowhere()),
            http_listen: vec![],
            console: ConsoleOptions::default(),
        }
    }
}

/// A server that accepts connections until the database's runtime ends.
pub struct Server {
    addresses: Vec<Address>,
    http_addresses: Vec<Address>,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens and begins to accept.
    ///
    /// # Errors
    /// What binding the addresses says.
    pub fn start(db: &Database, options: &ServerOptions) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            database: Mutex::new(db.clone()),
            sessions: Sessions::default(),
            slots: Slots::new(options.connection_count_max, options.reserved_count),
            rules: RwLock::new(options.rules.clone().map(Arc::new)),
            tls: RwLock::new(options.tls.clone()),
            drain: Drain::default(),
            log: options.log.clone(),
            slow_ms: AtomicI64::new(-1),
            tells_connections: AtomicBool::new(false),
        });
        shared.follow_configuration();
        refuse_open(&options.listen, options.rules.as_ref())?;
        if db.is_in_recovery() {
            let shared = shared.clone();
            drop(db.runtime_handle().spawn_on(0, move || shared.keep_up()));
        }
        let mut addresses = Vec::new();
        for address in &options.listen {
            let listener = Listener::bind(address)?;
            check_descriptors(&listener)?;
            addresses.push(listener.local_address().clone());
            let shared = shared.clone();
            drop(db.runtime_handle().spawn_on(0, move || accept(listener, shared)));
        }
        let http = http::Http::new(shared.clone(), &options.console);
        let mut http_addresses = Vec::new();
        for address in &options.http_listen {
            let listener = Listener::bind(address)?;
            http_addresses.push(listener.local_address().clone());
            let http = http.clone();
            drop(db.runtime_handle().spawn_on(0, move || http.accept(listener)));
        }
        Ok(Server { addresses, http_addresses, shared })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Where it answers HTTP.
    pub fn http_addresses(&self) -> &[Address] {
        &self.http_addresses
    }

    /// Clients now.
    pub fn connection_count(&self) -> usize {
        self.shared.slots.count()
    }

    /// Nobody is accepted any more; clients that do nothing are sent away with 57P01, the others as
    /// soon as their statement or transaction block ends.
    pub fn drain(&self) {
        self.shared.drain.enter(Stage::Draining);
        self.shared.sessions.wake_resting();
    }

    /// What still runs is cancelled, and all clients are sent away.
    pub fn close(&self) {
        self.shared.drain.enter(Stage::Closing);
        self.shared.sessions.cancel_all();
    }

    /// Other rules and another certificate hold for those that connect from now on.
    ///
    /// # Errors
    /// `InvalidInput` for rules by which other machines connect without proof; all stays as it was.
    pub fn reload(&self, rules: Option<Rules>, tls: Option<Tls>) -> io::Result<()> {
        self.set_rules(rules)?;
        *self.shared.tls.write().unwrap_or_else(PoisonError::into_inner) = tls;
        Ok(())
    }

    /// The configuration of the database has changed.
    pub fn follow_configuration(&self) {
        self.shared.follow_configuration();
    }

    fn set_rules(&self, rules: Option<Rules>) -> io::Result<()> {
        let listen: Vec<Address> = self.addresses.clone();
        refuse_open(&listen, rules.as_ref())?;
        let mut current = self.shared.rules.write().unwrap_or_else(PoisonError::into_inner);
        *current = rules.map(Arc::new);
        Ok(())
    }
}

/// Refuses to listen where other machines reach it while they need not prove who they are.
fn refuse_open(listen: &[Address], rules: Option<&Rules>) -> io::Result<()> {
    let open = |address: &&Address| match address {
        Address::Unix(_) => false,
        Address::Tcp(address) => !address.ip().is_loopback(),
    };
    match (listen.iter().find(open), rules.and_then(Rules::trusts_everyone)) {
        (Some(address), Some(line)) => {
            let message = format!(
                "other machines reach {address}, and line {line} of the rules asks them for nothing"
            );
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
        _ => Ok(()),
    }
}
