//! Faults on purpose (`storage::planted`): each but one that is known has to be found by a simulation that
//! computes for a minute at most.
//!
//! `cargo test --workspace --features engine/planted --test planted -- --nocapture` plants one after the
//! other, and prints what found it; `DOVETAIL_FAULTS=log-` only those whose names begin so. Without the
//! feature there are none, which is tested then.
#![allow(clippy::disallowed_methods)] // tests read the sources, have a clock and processes of their own

mod faults;
#[cfg(feature = "planted")]
mod hunt;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use faults::FAULTS;

/// The crates that have faults.
const CRATES: [&str; 3] = ["storage", "txn", "engine"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates lie side by side").to_owned()
}

/// The files below a folder, as paths below `crates/`.
fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a file").path();
        match path.is_dir() {
            true => files(&path, found),
            false => {
                let path = path.strip_prefix(crates()).expect("below the crates");
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
}

/// The names that a text asks for.
fn asked(text: &str) -> impl Iterator<Item = &str> {
    text.split("planted::is(\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"'))
        .map(|(name, _)| name)
}

#[test]
fn what_is_asked_for_is_listed_and_the_other_way_round() {
    let mut all = vec![];
    CRATES.iter().for_each(|name| files(&crates().join(name).join("src"), &mut all));
    let listed: BTreeSet<(&str, &str)> = FAULTS.iter().map(|f| (f.place, f.name)).collect();
    let texts: Vec<(String, String)> = all
        .into_iter()
        .filter(|path| path.ends_with(".rs") && path != "storage/src/planted.rs")
        .map(|path| {
            let text = std::fs::read_to_string(crates().join(&path)).expect("a text");
            (path, text)
        })
        .collect();
    let found = texts.iter().flat_map(|(path, text)| asked(text).map(|name| (path.as_str(), name)));
    assert_eq!(found.collect::<BTreeSet<_>>(), listed);
}

#[cfg(not(feature = "planted"))]
#[test]
fn no_fault_can_be_planted() {
    // The compiler knows it, so there is nothing of them in the program.
    const IS_PLANTED: bool = storage::planted::is("log-not-synced");
    const { assert!(!IS_PLANTED) };
    assert!(FAULTS.iter().all(|fault| !storage::planted::is(fault.name) && !fault.by.is_empty()));
}
