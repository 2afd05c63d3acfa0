//! Levels of a crate: its top-level modules in an order in which imports only go down.
//!
//! A crate has levels where its `README.md` has a section "Levels" with a table: a level, modules of it in
//! backticks, what they are. The levels stand from top to bottom; a level may have several rows, one behind
//! the other. The root of the crate is above all of them. Paths are seen, calls of methods are not. Within a level imports go as they like, as far as
//! `circles` lets them.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::files::Text;
use super::imports::{Module, crate_of, imports, modules};
use super::map::{names, rows};

const HEADING: &str = "Levels";

/// Crates that must have them: nobody sees a table that has gone.
const REQUIRED: [&str; 2] = ["engine", "sql"];

/// Compares every crate that has levels with its table.
pub fn check(files: &[Text]) -> Vec<Finding> {
    let has_levels = |file: &&Text| file.text.contains(&format!("\n## {HEADING}\n"));
    let readmes = files.iter().filter(has_levels);
    let crates: BTreeMap<&str, &Text> =
        readmes.filter_map(|readme| Some((crate_name(&readme.path)?, readme))).collect();
    let lost = REQUIRED.iter().filter(|name| {
        files.iter().any(|file| crate_of(&file.path) == Some(**name)) && !crates.contains_key(*name)
    });
    let lost = lost.map(|name| {
        let message = format!("`{name}` has no section \"{HEADING}\" with its modules by level");
        Finding::new(&format!("crates/{name}/README.md"), 0, message)
    });
    let found = crates.iter().flat_map(|(name, readme)| of_crate(files, readme, name));
    lost.chain(found).collect()
}

/// `x` of `crates/x/README.md`.
fn crate_name(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/README.md").filter(|name| !name.contains('/'))
}

fn of_crate(files: &[Text], readme: &Text, name: &str) -> Vec<Finding> {
    let rows = match rows(&readme.path, &readme.text, HEADING, 3) {
        Ok(rows) => rows,
        Err(error) => return vec![Finding::new(&readme.path, 0, error)],
    };
    let modules = modules(files.iter().filter(|file| crate_of(&file.path) == Some(name)));
    let mut levels = Levels::default();
    let mut findings: Vec<Finding> = rows
        .iter()
        .filter_map(|row| levels.add(row))
        .map(|error| Finding::new(&readme.path, 0, error))
        .collect();
    findings.extend(levels.compared(&modules).map(|error| Finding::new(&readme.path, 0, error)));
    findings.extend((0..modules.len()).flat_map(|from| levels.upwards(&modules, from)));
    findings
}

/// The levels of a crate, from the top.
#[derive(Default)]
struct Levels {
    titles: Vec<String>,
    /// Of each top-level module.
    of: BTreeMap<String, usize>,
}

impl Levels {
    /// Takes a row of the table; what is wrong with it.
    fn add(&mut self, row: &[String]) -> Option<String> {
        let title = &row[0];
        if self.titles.last() != Some(title) {
            if self.titles.contains(title) {
                return Some(format!("the rows of the level \"{title}\" do not stand together"));
            }
            self.titles.push(title.clone());
        }
        let level = self.titles.len() - 1;
        let twice: Vec<String> = names(&row[1])
            .into_iter()
            .filter(|name| self.of.insert(name.clone(), level).is_some())
            .collect();
        (!twice.is_empty()).then(|| format!("modules with two levels: {}", twice.join(", ")))
    }

    /// Modules without a level, and levels of modules that are not there.
    fn compared(&self, modules: &[Module]) -> impl Iterator<Item = String> {
        let top = modules.iter().filter_map(|module| module.name.split("::").next());
        let top: BTreeSet<&str> = top.filter(|name| !name.is_empty()).collect();
        let listed: BTreeSet<&str> = self.of.keys().map(String::as_str).collect();
        let missing =
            top.difference(&listed).map(|name| format!("the module `{name}` has no level"));
        let gone = listed.difference(&top).map(|name| format!("there is no module `{name}`"));
        missing.chain(gone).collect::<Vec<_>>().into_iter()
    }

    /// The imports of a module from levels above its own.
    fn upwards(&self, modules: &[Module], from: usize) -> Vec<Finding> {
        let Some(own) = self.level(&modules[from]) else { return vec![] };
        let imported = imports(modules, from).into_iter();
        let upwards = imported.filter_map(|(to, items)| {
            // The root has none: it is above all.
            let title = match self.level(&modules[to]) {
                Some(level) if level >= own => return None,
                Some(level) => &self.titles[level],
                None if modules[to].name.is_empty() => "root",
                None => return None,
            };
            let items: Vec<String> = items.into_iter().collect();
            let message = format!(
                "the level \"{}\" imports {} of `{}` from \"{title}\", which is above it",
                self.titles[own],
                if items.is_empty() { "all".to_owned() } else { items.join(", ") },
                modules[to].path,
            );
            Some(Finding::new(&modules[from].path, 0, message))
        });
        upwards.collect()
    }

    fn level(&self, module: &Module) -> Option<usize> {
        self.of.get(module.name.split("::").next()?).copied()
    }
}
