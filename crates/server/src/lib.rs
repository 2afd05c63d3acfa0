//! The PostgreSQL protocol (version 3) over the runtime's own sockets.
//!
//! A connection is a task on one worker; connections are spread over the workers in turn. A query
//! runs in the connection's task, so thousands of connections cost no thread. What a client claims
//! is never believed: memory grows with the bytes that have come, not with a length that was named.
//!
//! Frontend and backend messages, formats and error fields: PostgreSQL 15 documentation, chapter
//! 55.

mod binary;
mod cancel;
mod connection;
mod copy;
mod extended;
mod frame;
mod http;
mod limit;
mod message;
mod oid;
mod output;
mod simple;
mod startup;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::Database;
use runtime::net::{Listener, Socket};
use runtime::{spawn_on, time, worker_count};

pub use http::{ConsoleOptions, Sample};
pub use runtime::net::Address;

use cancel::Sessions;
use connection::Connection;

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
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            listen: vec![],
            connection_count_max: 1000,
            http_listen: vec![],
            console: ConsoleOptions::default(),
        }
    }
}

/// What all connections share.
pub(crate) struct Shared {
    db: Database,
    sessions: Sessions,
    connection_count: AtomicUsize,
    connection_count_max: usize,
}

/// A connection that counts.
pub(crate) struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connection_count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// Columns of a table; 0 when there is none.
    pub(crate) fn column_count(&self, table: &str) -> usize {
        let tables = self.db.tables();
        tables.iter().find(|t| t.name == table).map_or(0, |t| t.schema.columns.len())
    }

    /// A place for one more connection, unless there are too many.
    pub(crate) fn place(self: &Arc<Self>) -> Option<Place> {
        let before = self.connection_count.fetch_add(1, Ordering::Relaxed);
        let place = Place(self.clone());
        (before < self.connection_count_max).then_some(place)
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
            db: db.clone(),
            sessions: Sessions::default(),
            connection_count: AtomicUsize::new(0),
            connection_count_max: options.connection_count_max,
        });
        let mut addresses = Vec::new();
        for address in &options.listen {
            let listener = Listener::bind(address)?;
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
        self.shared.connection_count.load(Ordering::Relaxed)
    }
}

/// How long accepting rests after an error: out of descriptors passes when a client leaves.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

async fn accept(listener: Listener, shared: Arc<Shared>) {
    let mut turn = 0;
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let shared = shared.clone();
                drop(spawn_on(turn % worker_count(), move || serve(socket, shared)));
                turn += 1;
            }
            Err(error) if error.raw_os_error() == Some(ECANCELED) => return,
            Err(_) => time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// The error of a wait that ends because the runtime stops.
const ECANCELED: i32 = 125;

async fn serve(socket: Socket, shared: Arc<Shared>) {
    let mut connection = Connection::new(socket, shared);
    // Whatever ends a connection was told to the client, or it is gone.
    if let Ok(true) = connection.start().await {
        let _ = connection.run().await;
    }
    let _ = connection.flush().await;
}
