//! What `ARCHITECTURE.md` permits: read from its three tables.
//!
//! | section                        | columns used                                  |
//! |--------------------------------|-----------------------------------------------|
//! | `## Who may use whom`          | crate, what it is, crates it may use; in tests crates that only these may use |
//! | `## External dependencies`     | package, crates that may use it, why          |
//! | `## Where unsafe code stands`  | file or folder, why                           |
//!
//! Names are written in backticks; a row without a reason in its last column is an error.

use std::collections::{BTreeMap, BTreeSet};

/// What stands before the crates that only tests may use.
const IN_TESTS: &str = "; in tests";

/// Names in the order of the alphabet.
pub type Names = BTreeSet<String>;

/// The permissions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// Crate → crates of the house that it may use.
    pub uses: BTreeMap<String, Names>,
    /// Crate → crates of the house that its tests may use besides.
    pub tests_use: BTreeMap<String, Names>,
    /// External package → crates that may use it.
    pub externals: BTreeMap<String, Names>,
    /// Files (and folders, with a final slash) where `unsafe` may stand.
    pub unsafe_paths: Names,
}

impl Map {
    /// Reads the tables; an error says which one is missing or has a bad row.
    pub fn parse(text: &str) -> Result<Map, String> {
        let mut map = Map::default();
        let rows = |heading, width| rows("ARCHITECTURE.md", text, heading, width);
        for row in rows("Who may use whom", 3)? {
            let (uses, tests_use) = row[2].split_once(IN_TESTS).unwrap_or((&row[2], ""));
            for name in names(&row[0]) {
                map.uses.insert(name.clone(), names(uses));
                map.tests_use.insert(name, names(tests_use));
            }
        }
        for row in rows("External dependencies", 3)? {
            for package in names(&row[0]) {
                map.externals.insert(package, names(&row[1]));
            }
        }
        for row in rows("Where unsafe code stands", 2)? {
            map.unsafe_paths.extend(names(&row[0]));
        }
        Ok(map)
    }
}

/// The body rows of the first table under a heading, each with at least `width` cells.
pub fn rows(
    path: &str,
    text: &str,
    heading: &str,
    width: usize,
) -> Result<Vec<Vec<String>>, String> {
    let section =
        section(text, heading).ok_or_else(|| format!("{path} has no section \"{heading}\""))?;
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    let table: Vec<&str> = lines.take_while(|line| line.starts_with('|')).collect();
    if table.len() < 2 {
        return Err(format!("{path}: no table under \"{heading}\""));
    }
    table[2..].iter().map(|line| cells(path, line, heading, width)).collect()
}

fn section<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let start = text.find(&format!("\n## {heading}\n"))?;
    let body = &text[start + 1..];
    Some(body.find("\n## ").map_or(body, |end| &body[..end]))
}

fn cells(path: &str, line: &str, heading: &str, width: usize) -> Result<Vec<String>, String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    let cells: Vec<String> = inner.split('|').map(|cell| cell.trim().to_string()).collect();
    let complete = cells.len() >= width && cells.iter().all(|cell| !cell.is_empty());
    complete.then_some(cells).ok_or(format!("{path}: \"{heading}\": bad row: {line}"))
}

/// The names in backticks in a cell.
pub fn names(cell: &str) -> Names {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}
