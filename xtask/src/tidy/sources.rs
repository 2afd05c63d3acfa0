//! Rules for each Rust file: its first line, its name, its length, words that must not stay.

use super::Finding;
use super::files::Text;
use crate::mask::{line_of, mask};

/// Longer files are listed, so that they are noticed before they are too long.
const LINE_COUNT_WARN: usize = 500;
/// Longer files fail.
const LINE_COUNT_MAX: usize = 600;

/// Names that say nothing (invariant 8).
const EMPTY_NAMES: &[&str] = &["common", "util", "utils", "helper", "helpers", "manager", "misc"];

/// Code that must not stay, and what to do instead.
const BANNED_CODE: &[(&str, &str)] = &[
    ("todo!", "write the missing part or report 0A000"),
    ("unimplemented!", "write the missing part or report 0A000"),
    ("dbg!", "remove it"),
    ("#[ignore", "a test that does not run is no test: fix it or delete it"),
];

/// Words of unfinished work; in halves, so that this list does not find itself.
const BANNED_WORDS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

/// Checks one Rust file.
pub fn check(file: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |line, message: String| findings.push(Finding::new(&file.path, line, message));
    if !file.text.starts_with("//!") {
        say(1, "begins with a `//!` sentence: what this file is for".to_string());
    }
    let line_count = file.text.lines().count();
    if line_count > LINE_COUNT_MAX {
        say(
            0,
            format!("{line_count} lines, at most {LINE_COUNT_MAX}: cut it where a name appears"),
        );
    } else if line_count > LINE_COUNT_WARN {
        println!("tidy: note: {}: {line_count} lines", file.path);
    }
    for name in module_names(&file.path).filter(|name| EMPTY_NAMES.contains(name)) {
        say(0, format!("a module called `{name}` says nothing: name what it holds"));
    }
    for (line, word) in banned(&file.text) {
        say(line, word);
    }
    findings
}

fn module_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part))
}

fn banned(text: &str) -> Vec<(usize, String)> {
    let code = mask(text);
    let mut found = Vec::new();
    for (banned, instead) in BANNED_CODE {
        for (at, _) in code.match_indices(banned) {
            found.push((line_of(&code, at), format!("`{banned}`: {instead}")));
        }
    }
    for (position, line) in text.lines().enumerate() {
        if let Some(word) = BANNED_WORDS.iter().find(|word| line.contains(**word)) {
            found.push((position + 1, format!("{word}: do it, or open an issue")));
        }
    }
    found
}
