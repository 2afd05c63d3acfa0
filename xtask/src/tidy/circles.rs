//! Circles of imports: files of a crate each of which reaches each of the others by what it imports. Such a
//! circle is read and changed as one piece, however many files it has; the largest of a crate may only become
//! smaller.
//!
//! A file imports another where a path of its code leads there, in `use` or elsewhere: `crate::`, `super::`,
//! `self::`, and what begins with a child module. A path leads to the file of the last module that it
//! names. A name that a module passes on (`pub use`) leads to that module, whose file imports the one where
//! it is defined. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::files::Text;
use crate::mask::mask;

/// Where it is said how large the largest circle of each crate may be, and how.
const RATCHET: &str = "xtask/ratchet.txt";
const KEY: &str = "import_circle.";

/// A file of a crate, as a module.
struct Module {
    path: String,
    code: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
}

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

/// The crate that a source file is a part of.
fn crate_of(path: &str) -> Option<&str> {
    let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let is_test = file.split('/').any(|part| part == "tests" || part == "tests.rs");
    (file.ends_with(".rs") && !is_test).then_some(name)
}

/// The files of the largest circle, in order; none where nothing goes round.
pub fn largest_circle(files: &[Text], name: &str) -> Vec<String> {
    let modules = modules(files.iter().filter(|file| crate_of(&file.path) == Some(name)));
    let imports: Vec<BTreeSet<usize>> = (0..modules.len()).map(|m| imports(&modules, m)).collect();
    let reached: Vec<BTreeSet<usize>> = (0..modules.len()).map(|m| reached(&imports, m)).collect();
    let circle = |of: usize| -> Vec<usize> {
        reached[of].iter().copied().filter(|to| reached[*to].contains(&of)).collect()
    };
    let largest = (0..modules.len()).map(circle).max_by_key(Vec::len).unwrap_or_default();
    largest.into_iter().map(|module| modules[module].path.clone()).collect()
}

/// The files of a crate, each with the modules that it has.
fn modules<'a>(files: impl Iterator<Item = &'a Text>) -> Vec<Module> {
    let mut modules: Vec<Module> = vec![];
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        names.insert(module_name(&file.path), modules.len());
        let code = mask(file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default());
        let (path, children) = (file.path.clone(), BTreeMap::new());
        modules.push(Module { path, code, parent: None, children });
    }
    for (name, module) in names.iter().filter(|(name, _)| !name.is_empty()) {
        let (parent, last) = name.rsplit_once("::").unwrap_or(("", name));
        let Some(parent) = names.get(parent) else { continue };
        modules[*module].parent = Some(*parent);
        modules[*parent].children.insert(last.to_owned(), *module);
    }
    modules
}

/// `a::b` of `crates/x/src/a/b.rs` and of `crates/x/src/a/b/mod.rs`; nothing for the root.
fn module_name(path: &str) -> String {
    let file = path.split_once("/src/").map_or(path, |(_, file)| file);
    let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if matches!(name, "lib" | "main") { String::new() } else { name.replace('/', "::") }
}

/// All that can be reached by one import or more.
fn reached(imports: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        open.extend(imports[module].iter().copied().filter(|to| reached.insert(*to)));
    }
    reached
}

/// The modules to which paths in the code of a module lead.
fn imports(modules: &[Module], from: usize) -> BTreeSet<usize> {
    let tokens = tokens(&modules[from].code);
    let mut found = BTreeSet::new();
    for at in 0..tokens.len() {
        let is_inside = at > 0 && matches!(tokens[at - 1], "::" | ".");
        let begins = matches!(tokens[at], "crate" | "super" | "self")
            || modules[from].children.contains_key(tokens[at]);
        if begins && !is_inside && tokens.get(at + 1) == Some(&"::") {
            follow(modules, &tokens, at, from, &mut found);
        }
    }
    found.remove(&from);
    found
}

/// Follows the path that begins at a token; where it ends, and behind which token.
fn follow(
    modules: &[Module],
    tokens: &[&str],
    mut at: usize,
    mut module: usize,
    found: &mut BTreeSet<usize>,
) -> usize {
    let mut is_module = true;
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    let next = follow(modules, tokens, at, module, found);
                    at = next + usize::from(tokens.get(next) == Some(&",") || next == at);
                }
                return at + 1;
            }
            Some(word) => {
                let next = is_module.then(|| step(modules, module, word)).flatten();
                is_module = next.is_some();
                module = next.unwrap_or(module);
                at += 1;
            }
            None => break,
        }
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    found.insert(module);
    // `as name`
    if tokens.get(at) == Some(&"as") { at + 2 } else { at }
}

fn step(modules: &[Module], module: usize, word: &str) -> Option<usize> {
    match word {
        "self" => Some(module),
        "super" => modules[module].parent,
        "crate" => std::iter::successors(Some(module), |m| modules[*m].parent).last(),
        name => modules[module].children.get(name).copied(),
    }
}

/// Words, `::`, and other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (vec![], code.trim_start());
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let len = match first {
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        tokens.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    tokens
}
