//! `docs/sql.md` is made from `tests/sql/reference` and kept true by this test: examples are records
//! of the SQL files, whose results are PostgreSQL's, and types are what the engine plans.
#![allow(clippy::disallowed_methods, reason = "a test reads and writes the documentation")]

mod casts;
mod entries;
mod page;
mod planned;
mod records;
mod settings;

use std::path::{Path, PathBuf};

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_documentation_says_what_the_engine_does() {
    let made = page::made();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file("docs/sql.md"), &made).expect("docs/sql.md is written");
    }
    let kept = read("docs/sql.md");
    let first = made.lines().zip(kept.lines()).find(|(made, kept)| made != kept);
    assert!(
        made == kept,
        "docs/sql.md is old: UPDATE_DOCS=1 cargo test --workspace --test reference\n{first:?}"
    );
}
