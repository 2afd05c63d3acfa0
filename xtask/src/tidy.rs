//! `cargo xtask tidy`: the rules of `ARCHITECTURE.md` and `STYLE.md` that no compiler checks.
//!
//! Each check takes text and returns findings; only this file reads the disk, so every check is
//! tested on text.

mod book;
mod circles;
mod edges;
mod files;
mod functions;
mod imports;
mod levels;
mod map;
mod sources;
mod unsafe_code;
mod waits;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::process::Command;

use map::Map;

/// A broken rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// File, from the repository's root.
    pub path: String,
    /// Line from 1; 0 when the whole file is meant.
    pub line: usize,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_string(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Runs every check, prints what it found and the counts; whether all is well.
pub fn run(root: &Path) -> bool {
    let findings = check_all(root).unwrap_or_else(|error| vec![Finding::new("xtask", 0, error)]);
    for finding in &findings {
        println!("tidy: {finding}");
    }
    println!("tidy: {} findings", findings.len());
    findings.is_empty()
}

fn check_all(root: &Path) -> Result<Vec<Finding>, String> {
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md"))
        .map_err(|error| format!("ARCHITECTURE.md: {error}"))?;
    let ratchet = std::fs::read_to_string(root.join("xtask/ratchet.txt"))
        .map_err(|error| format!("xtask/ratchet.txt: {error}"))?;
    let map = Map::parse(&architecture)?;
    let texts = files::texts(root)?;
    let mut findings = edges::check(&map, &edges::members(&metadata(root)?)?);
    for file in &texts {
        findings.extend(files::check(file));
        if file.path.ends_with(".rs") {
            findings.extend(sources::check(file));
            findings.extend(waits::check(file));
        }
    }
    findings.extend(functions::check(&texts, &ratchet));
    findings.extend(circles::check(&texts, &ratchet));
    findings.extend(levels::check(&texts));
    findings.extend(unsafe_code::check(&texts, &map));
    findings.extend(book::check(&texts, |path| root.join(path).exists()));
    Ok(findings)
}

/// What cargo knows of the workspace's own packages.
fn metadata(root: &Path) -> Result<serde_json::Value, String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .current_dir(root)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}
