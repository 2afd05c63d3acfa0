//! Which file of a crate imports which.
//!
//! A file imports another where a path of its code leads there, in `use` or elsewhere: `crate::`, `super::`,
//! `self::`, and what begins with a child module. A path leads to the file of the last module that it
//! names. A name that a module passes on (`pub use`) leads to that module, whose file imports the one where
//! it is defined. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::files::Text;
use crate::mask::mask;

/// Modules by their numbers, each with the items of it that are named; none where it is itself.
pub type Imports = BTreeMap<usize, BTreeSet<String>>;

/// A file of a crate, as a module.
pub struct Module {
    /// Its file.
    pub path: String,
    /// Its path in the crate: `a::b`; nothing for the root.
    pub name: String,
    code: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
}

/// The crate that a source file is a part of.
pub fn crate_of(path: &str) -> Option<&str> {
    let (name, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let is_test = file.split('/').any(|part| part == "tests" || part == "tests.rs");
    (file.ends_with(".rs") && !is_test).then_some(name)
}

/// The files of a crate, each with the modules that it has.
pub fn modules<'a>(files: impl Iterator<Item = &'a Text>) -> Vec<Module> {
    let mut modules: Vec<Module> = vec![];
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let name = module_name(&file.path);
        names.insert(name.clone(), modules.len());
        let code = mask(file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default());
        let (path, children) = (file.path.clone(), BTreeMap::new());
        modules.push(Module { path, name, code, parent: None, children });
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

/// The modules to which paths in the code of a module lead, with the items that these paths name.
pub fn imports(modules: &[Module], from: usize) -> Imports {
    let tokens = tokens(&modules[from].code);
    let mut found = Imports::new();
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
    found: &mut Imports,
) -> usize {
    let (mut is_module, mut item) = (true, None);
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
                if is_module && next.is_none() {
                    item = Some((*word).to_owned());
                }
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
    found.entry(module).or_default().extend(item);
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
