//! The input of a COPY in text, CSV and binary.
#![no_main]

use std::cell::RefCell;

use engine::{Database, Options, Session};
use server::fuzz;

thread_local! {
    static SESSION: RefCell<Session> = RefCell::new(session());
}

/// A session of a database whose file is gone as soon as it is open.
fn session() -> Session {
    let path = std::env::temp_dir().join(format!("dovetail-fuzz-{}", std::process::id()));
    let options = Options { memory_bytes: 16 << 20, ..pg::options() };
    let db = Database::create(&path, options).expect("a database");
    let mut session = db.session();
    session.execute(fuzz::COPY_TABLE).expect("the table");
    std::fs::remove_file(&path).ok();
    session
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    SESSION.with_borrow(|session| fuzz::copy(session, bytes));
});
