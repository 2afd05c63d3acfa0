//! Databases beside an object store of our own, which runs on a worker of its own.
#![allow(dead_code, unused_imports, reason = "not every file of tests needs all of it")]

mod lake;
#[path = "../../../../objectstore/tests/support/server.rs"]
mod server;

use std::cell::RefCell;
use std::path::PathBuf;

use engine::{Database, Options, RingKind, Session, SqlError, StatementResult};
pub use lake::put_lake;
use runtime::{Config, RingChoice, Runtime};
pub use server::{Faults, Kept, Question, Server, Speed};
use types::text::format_value;

thread_local! {
    /// That of the only worker of its runtime.
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

/// A store.
pub struct Stand {
    runtime: Runtime,
    pub url: String,
}

impl Stand {
    pub fn new() -> Stand {
        let config = Config { workers: 1, ring: RingChoice::Threads, ..Config::default() };
        let runtime = Runtime::start(config).expect("a runtime");
        let started = runtime.block_on(|| async {
            let (server, url) = Server::start();
            SERVER.with(|own| *own.borrow_mut() = Some(server));
            url
        });
        Stand { runtime, url: started }
    }

    /// What `look` sees of the server.
    pub fn with<T: Send + 'static>(&self, look: impl FnOnce(&Server) -> T + Send + 'static) -> T {
        let looked =
            async move || SERVER.with(|own| look(own.borrow().as_ref().expect("a server")));
        self.runtime.block_on(looked)
    }

    /// The names of all objects of chunks.
    pub fn chunks(&self) -> Vec<String> {
        self.with(|server| {
            server.keys().into_iter().filter(|key| key.contains("chunks/")).collect()
        })
    }

    pub fn set_faults(&self, faults: Faults) {
        self.with(move |server| *server.faults.borrow_mut() = faults);
    }

    /// What makes the store known to a database.
    pub fn secret(&self) -> String {
        let url = &self.url;
        format!("create secret s (type s3, key_id 'id', secret 'canary', endpoint '{url}')")
    }
}

/// A database, removed at the end.
pub struct Scratch {
    pub path: PathBuf,
    db: Option<Database>,
}

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        Scratch::with(name, |_| {})
    }

    /// One that is created with other options; it is opened with the usual ones.
    pub fn with(name: &str, change: impl FnOnce(&mut Options)) -> Scratch {
        let file = format!("dovetail-remote-{name}-{}.dovetail", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::remove_file(&path).ok();
        let mut options = options();
        change(&mut options);
        let db = Some(Database::create(&path, options).expect("a new file"));
        Scratch { path, db }
    }

    pub fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    pub fn session(&self) -> Session {
        self.db().session()
    }

    pub fn close(&mut self) {
        self.db.take().expect("it is open").close().expect("it closes");
    }

    pub fn open(&mut self) {
        self.db = Some(Database::open(&self.path, options()).expect("it opens"));
    }

    #[track_caller]
    pub fn check(&self) {
        let report = self.db().check().expect("it can be checked");
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.db.take();
        std::fs::remove_file(&self.path).ok();
    }
}

pub fn options() -> Options {
    let (ring, workers) = (RingKind::Threads, 2);
    let (memory_bytes, pool_bytes) = (160 << 20, Some(64 << 20));
    Options { memory_bytes, pool_bytes, ring, workers, direct: false, ..pg::options() }
}

/// The rows of a query, columns and rows with bars and semicolons between them.
#[track_caller]
pub fn rows(session: &mut Session, text: &str) -> String {
    try_rows(session, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The same of one that may fail.
pub fn try_rows(session: &mut Session, text: &str) -> Result<String, SqlError> {
    let Some(StatementResult::Rows(result)) = session.execute(text)?.pop() else {
        return Ok(String::new());
    };
    let mut lines = vec![];
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            let value =
                |array: &arrow_array::ArrayRef| format_value(array, row).unwrap_or_default();
            lines.push(batch.columns().iter().map(value).collect::<Vec<_>>().join("|"));
        }
    }
    Ok(lines.join(";"))
}

#[track_caller]
pub fn refused(session: &mut Session, text: &str, state: &str) -> SqlError {
    let error = session.execute(text).expect_err(text);
    assert_eq!(error.state.0, state, "{text}: {error:?}");
    let shown = format!("{error:?} {error} {:?} {:?}", error.detail, error.hint);
    assert!(!shown.contains("canary"), "{shown}");
    error
}

/// Runs statements one after the other, each as a transaction of its own.
#[track_caller]
pub fn each(session: &mut Session, texts: &str) {
    for text in texts.split("; ") {
        session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// Begins to serve on worker 0 of a database's own runtime; the endpoint.
pub fn serve(handle: &runtime::Handle) -> String {
    serve_at(handle, "127.0.0.1:0")
}

/// The same at an address.
pub fn serve_at(handle: &runtime::Handle, address: &'static str) -> String {
    handle.block_on(move || async move {
        let (server, url) = Server::start_at(address);
        SERVER.with(|own| *own.borrow_mut() = Some(server));
        url
    })
}

/// What `look` sees of that server.
pub fn with_server<T: Send + 'static>(
    handle: &runtime::Handle,
    look: impl FnOnce(&Server) -> T + Send + 'static,
) -> T {
    handle.block_on(move || async move {
        SERVER.with(|own| look(own.borrow().as_ref().expect("a server")))
    })
}
