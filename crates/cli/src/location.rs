//! `--data`, which means the same for all commands: the database file, or a folder that it is in.

use std::io;
use std::path::{Path, PathBuf};

/// The file that is meant: `data` itself, or `name` in it where it is a folder, or ends like one.
pub fn file(data: &Path, name: &str) -> PathBuf {
    let is_folder = data.is_dir() || data.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder { data.join(name) } else { data.to_owned() }
}

/// Makes the folder that a new file is to be in.
///
/// # Errors
/// What the system says.
pub fn make_folder(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => std::fs::create_dir_all(folder),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
