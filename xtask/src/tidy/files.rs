//! Rules for every text file: it names no place of the machine it was written on.

use std::path::Path;

use super::Finding;

/// A text file of the repository.
#[derive(Debug)]
pub struct Text {
    /// Path from the root, with forward slashes.
    pub path: String,
    /// The contents.
    pub text: String,
}

const ENDINGS: &[&str] =
    &["rs", "toml", "md", "sh", "py", "sql", "slt", "txt", "yml", "yaml", "json", "csv"];

/// Folders whose files come from elsewhere or from a build.
const SKIPPED: &[&str] = &["target", "data", ".git"];

/// Roots of private folders; written in halves, so that this list does not find itself.
const MACHINE_ROOTS: &[&str] =
    &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

/// Every text file below the root, in order of path.
pub fn texts(root: &Path) -> Result<Vec<Text>, String> {
    let mut texts = Vec::new();
    walk(root, root, &mut texts)?;
    texts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(texts)
}

fn walk(root: &Path, folder: &Path, texts: &mut Vec<Text>) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_symlink() || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, texts)?;
        } else if is_text(&path, &name) {
            let text = std::fs::read_to_string(&path).map_err(fail)?;
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let path = relative.to_string_lossy().replace('\\', "/");
            texts.push(Text { path, text });
        }
    }
    Ok(())
}

fn is_text(path: &Path, name: &str) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    name == "run" || ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Checks one file.
pub fn check(file: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (position, line) in file.text.lines().enumerate() {
        if let Some(root) = MACHINE_ROOTS.iter().find(|root| stands_alone(line, root)) {
            let message = format!("names a place of one machine: {root}");
            findings.push(Finding::new(&file.path, position + 1, message));
        }
    }
    findings
}

/// Whether `root` begins a path here, rather than continuing one (`docs/work/` is no machine's).
fn stands_alone(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "._-*}".contains(c)))
    })
}
