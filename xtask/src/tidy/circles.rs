//! Circles of imports: files of a crate each of which reaches each of the others by what it imports. Such a
//! circle is read and changed as one piece, however many files it has; the largest of a crate may only become
//! smaller. `imports` says which file imports which.

use std::collections::BTreeSet;

use super::Finding;
use super::files::Text;
use super::imports::{crate_of, imports, modules};

/// Where it is said how large the largest circle of each crate may be, and how.
const RATCHET: &str = "xtask/ratchet.txt";
const KEY: &str = "import_circle.";

/// Compares the largest circle of each crate with the ratchet.
pub fn check(files: &[Text], ratchet: &str) -> Vec<Finding> {
    let names: BTreeSet<&str> = files.iter().filter_map(|file| crate_of(&file.path)).collect();
    let circles = names.into_iter().map(|name| (name, largest_circle(files, name)));
    let circles: Vec<(&str, Vec<String>)> = circles.collect();
    let counts = circles.iter().filter(|(_, circle)| !circle.is_empty());
    let counts: Vec<String> = counts.map(|(name, c)| format!("{name} {}", c.len())).collect();
    println!("tidy: files of the largest import circles: {}", counts.join(", "));
    circles.iter().filter_map(|(name, circle)| compared(name, circle, ratchet)).collect()
}

fn compared(name: &str, circle: &[String], ratchet: &str) -> Option<Finding> {
    let allowed = allowed(ratchet, name);
    let message = match circle.len() {
        count if count > allowed => format!(
            "the largest circle of imports in `{name}` has {count} files, at most {allowed}: {}",
            circle.join(", ")
        ),
        count if count < allowed => {
            format!("`{KEY}{name} = {allowed}` may be {count} now: lower it, so that it stays so")
        }
        _ => return None,
    };
    Some(Finding::new(RATCHET, 0, message))
}

/// Files that the largest circle of a crate may have: none, unless a line says more.
fn allowed(ratchet: &str, name: &str) -> usize {
    let lines = ratchet.lines().filter_map(|line| line.strip_prefix(KEY)?.split_once('='));
    let found =
        lines.filter(|(key, _)| key.trim() == name).find_map(|(_, n)| n.trim().parse().ok());
    found.unwrap_or(0)
}

/// The files of the largest circle, in order; none where nothing goes round.
pub fn largest_circle(files: &[Text], name: &str) -> Vec<String> {
    let modules = modules(files.iter().filter(|file| crate_of(&file.path) == Some(name)));
    let all = (0..modules.len()).map(|m| imports(&modules, m).into_keys().collect());
    let imports: Vec<BTreeSet<usize>> = all.collect();
    let reached: Vec<BTreeSet<usize>> = (0..modules.len()).map(|m| reached(&imports, m)).collect();
    let circle = |of: usize| -> Vec<usize> {
        reached[of].iter().copied().filter(|to| reached[*to].contains(&of)).collect()
    };
    let largest = (0..modules.len()).map(circle).max_by_key(Vec::len).unwrap_or_default();
    largest.into_iter().map(|module| modules[module].path.clone()).collect()
}

/// All that can be reached by one import or more.
fn reached(imports: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        open.extend(imports[module].iter().copied().filter(|to| reached.insert(*to)));
    }
    reached
}
