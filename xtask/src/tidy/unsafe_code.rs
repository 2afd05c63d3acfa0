//! `unsafe` by address: it stands only where `ARCHITECTURE.md` says that it may, and it is counted.

use super::Finding;
use super::files::Text;
use super::map::Map;
use crate::mask::{mask, word_lines};

/// Finds `unsafe` outside of the listed files, and listed places that have none.
pub fn check(files: &[Text], map: &Map) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut count, mut file_count) = (0, 0);
    let mut idle: Vec<&String> = map.unsafe_paths.iter().collect();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let lines = word_lines(&mask(&file.text), "unsafe");
        if lines.is_empty() {
            continue;
        }
        count += lines.len();
        file_count += 1;
        idle.retain(|listed| !covers(listed, &file.path));
        if !map.unsafe_paths.iter().any(|listed| covers(listed, &file.path)) {
            let message = "`unsafe` in a file that ARCHITECTURE.md does not list";
            findings.push(Finding::new(&file.path, lines[0], message));
        }
    }
    println!("tidy: {count} uses of `unsafe` in {file_count} files");
    findings.extend(idle.into_iter().map(|listed| {
        Finding::new("ARCHITECTURE.md", 0, format!("`{listed}` is listed, but has no `unsafe`"))
    }));
    findings
}

/// Whether a listed file or folder (with a final slash) covers a path.
fn covers(listed: &str, path: &str) -> bool {
    if listed.ends_with('/') { path.starts_with(listed) } else { path == listed }
}
