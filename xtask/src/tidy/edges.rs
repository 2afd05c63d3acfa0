//! The dependency table: who uses whom, inside the house and outside, as cargo sees it.

use serde_json::Value;

use super::Finding;
use super::map::{Map, Names};

/// Absences that hold whatever the table says (invariants 1, 2, 3 of `ARCHITECTURE.md`).
const NEVER: &[(&[&str], &[&str])] = &[
    (&["types", "ir", "columnar", "iceberg", "plan", "sql", "jit"], &["runtime"]),
    (&["exec"], &["storage", "txn", "objectstore", "columnar"]),
    (&["storage", "objectstore"], &["types", "sql", "txn", "exec"]),
];

/// The same for what is shipped: tests may use what the table says (invariant 10).
const SHIPPED_NEVER: &[(&[&str], &[&str])] =
    &[(&["engine", "server"], &["pg"]), (&["exec"], &["sql"])];

/// Async runtimes: ours is the only one (invariant 5).
const ASYNC_RUNTIMES: &[&str] =
    &["tokio", "async-std", "smol", "monoio", "glommio", "compio", "embassy-executor"];

/// A workspace package with its direct dependencies of all kinds (normal, dev, build).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// The crate's name.
    pub name: String,
    /// Crates of the house.
    pub uses: Names,
    /// Those that its tests use.
    pub tests_use: Names,
    /// Packages from outside.
    pub externals: Names,
}

/// The members in the output of `cargo metadata --no-deps`.
pub fn members(metadata: &Value) -> Result<Vec<Member>, String> {
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    Ok(packages.iter().map(member).collect())
}

fn member(package: &Value) -> Member {
    let mut member = Member { name: text(&package["name"]), ..Member::default() };
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let is_ours = dependency["path"].is_string();
        let set = match (is_ours, dependency["kind"] == "dev") {
            (true, false) => &mut member.uses,
            (true, true) => &mut member.tests_use,
            (false, _) => &mut member.externals,
        };
        set.insert(text(&dependency["name"]));
    }
    member
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// Compares the workspace with the map: new edges, missing crates, rows of crates that are gone.
pub fn check(map: &Map, members: &[Member]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |message: String| findings.push(Finding::new("ARCHITECTURE.md", 0, message));
    for member in members {
        let name = &member.name;
        let Some(allowed) = map.uses.get(name) else {
            say(format!("crate `{name}` is missing from the table of who may use whom"));
            continue;
        };
        for used in member.uses.difference(allowed) {
            say(format!("new edge: `{name}` uses `{used}`, which its row does not list"));
        }
        let in_tests = map.tests_use.get(name);
        let is_listed = |used: &&String| {
            allowed.contains(*used) || in_tests.is_some_and(|names| names.contains(*used))
        };
        for used in member.tests_use.iter().filter(|used| !is_listed(used)) {
            say(format!("new edge: tests of `{name}` use `{used}`, which its row does not list"));
        }
        for package in &member.externals {
            check_external(map, name, package, &mut say);
        }
        never(member).into_iter().for_each(&mut say);
    }
    let gone = map.uses.keys().filter(|name| !members.iter().any(|m| &m.name == *name));
    gone.for_each(|name| say(format!("row of `{name}`: the workspace has no such crate")));
    for package in map.externals.keys() {
        if !members.iter().any(|m| m.externals.contains(package)) {
            say(format!("row of `{package}`: no crate uses that package any more"));
        }
    }
    findings
}

fn check_external(map: &Map, name: &str, package: &str, say: &mut impl FnMut(String)) {
    if ASYNC_RUNTIMES.contains(&package) {
        say(format!("`{name}` uses `{package}`: nothing runs on another async runtime"));
    }
    match map.externals.get(package) {
        None => {
            say(format!("`{name}` uses `{package}`: a new dependency needs a row and a reason"))
        }
        Some(users) if !users.contains(name) => {
            say(format!("`{name}` uses `{package}`, whose row does not list it"));
        }
        Some(_) => {}
    }
}

fn never(member: &Member) -> Vec<String> {
    let Member { name, uses, tests_use, .. } = member;
    let banned = |rules: &[(&[&str], &[&'static str])]| {
        let rules = rules.iter().filter(|(users, _)| users.contains(&name.as_str()));
        rules.flat_map(|(_, banned)| banned.iter().copied()).collect::<Vec<_>>()
    };
    let of_all = banned(NEVER).into_iter();
    let of_all = of_all.filter(|banned| uses.contains(*banned) || tests_use.contains(*banned));
    let of_shipped = banned(SHIPPED_NEVER).into_iter().filter(|banned| uses.contains(*banned));
    let broken = of_all.chain(of_shipped);
    broken.map(|banned| format!("invariant: `{name}` never uses `{banned}`")).collect()
}
