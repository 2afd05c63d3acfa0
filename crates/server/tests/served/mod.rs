//! A server of a new database, for one test.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::{Database, Options};
use postgres::{Client, NoTls};
use server::{Address, Server, ServerOptions};

pub struct Served {
    pub address: SocketAddr,
    pub folder: PathBuf,
    pub server: Server,
    pub db: Database,
}

impl Drop for Served {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// A server on this machine, at a port of the system's choice.
pub fn options() -> ServerOptions {
    let listen = vec![Address::Tcp("127.0.0.1:0".parse().expect("an address"))];
    ServerOptions { listen, ..ServerOptions::default() }
}

impl Served {
    pub fn start(name: &str, options: ServerOptions) -> Served {
        let folder = std::env::temp_dir().join(format!("dovetail-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).expect("a folder");
        let memory_bytes = 16 << 20;
        let db =
            Database::create(&folder.join("t.dovetail"), Options { memory_bytes, ..pg::options() });
        let db = db.expect("a database");
        let server = Server::start(&db, &options).expect("a server");
        let Address::Tcp(address) = server.addresses()[0] else { panic!("not TCP") };
        // The last handle must not be dropped on a worker.
        std::mem::forget(db.clone());
        Served { address, folder, server, db }
    }

    pub fn connect(&self, login: &str) -> Result<Client, postgres::Error> {
        Client::connect(&format!("host=127.0.0.1 port={} {login}", self.address.port()), NoTls)
    }

    /// What comes within ten seconds: a server learns later than its client that it has gone.
    pub fn eventually<T>(&self, attempt: impl Fn() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(found) = attempt() {
                return found;
            }
            assert!(Instant::now() < deadline, "it never came");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
