//! The documentation is one book: `docs/SUMMARY.md` lists every page, and links lead to files.

use std::collections::BTreeSet;

use super::Finding;
use super::files::Text;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Checks the pages below `docs`. `exists` tells whether there is something at a path from the root.
pub fn check(texts: &[Text], exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let pages = texts.iter().filter(|t| t.path.starts_with("docs/") && t.path.ends_with(".md"));
    let (mut findings, mut listed) = (vec![], BTreeSet::new());
    let mut all = BTreeSet::new();
    for page in pages {
        all.insert(page.path.as_str());
        for (line, target) in links(&page.text) {
            let path = resolve(&page.path, target);
            if !exists(&path) {
                findings.push(Finding::new(&page.path, line, format!("no file for {target}")));
            }
            if page.path == SUMMARY {
                listed.insert(path);
            }
        }
    }
    let missing = all.into_iter().filter(|path| *path != SUMMARY && !listed.contains(*path));
    findings
        .extend(missing.map(|path| Finding::new(path, 0, format!("{SUMMARY} does not list it"))));
    findings
}

/// Lines and targets of the links to files.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        let targets = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
        targets
            .filter(|target| !target.is_empty() && !target.contains("://"))
            .map(move |target| (index + 1, target))
    })
}

/// The path from the root that a page's link means.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
