//! `--data`, which means the same for all commands: the database file, or a folder that it is in.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use clap::Args;
use engine::VolumeOptions;

/// Devices with a database begin so.
const MAGIC: &[u8; 8] = b"DOVETAIL";

/// Options of commands that open a database which may lie on several files or devices.
#[derive(Args, Clone, Default)]
pub struct MemberArgs {
    /// A file or block device on which the database lies besides; once for each, in any order.
    /// Where none is named, those of a database that exists are looked for where they were
    #[arg(long, value_name = "PATH")]
    member: Vec<PathBuf>,
    /// Overwrite what is on files and devices that become members of a new database, or join one
    #[arg(long)]
    format: bool,
}

impl MemberArgs {
    /// For the database: it finds its members wherever it is opened from.
    pub fn volume(&self) -> VolumeOptions {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let members = self.member.iter().map(absolute).collect();
        VolumeOptions { members, format: self.format, ..VolumeOptions::default() }
    }

    /// The path by which a new database is made: that of one with members stands in them.
    pub fn first(&self, path: &Path) -> PathBuf {
        match self.member.is_empty() {
            true => path.to_owned(),
            false => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        }
    }
}

/// True if a database is at `path`, or what has to be looked at as one. A device is always there:
/// a database is made on one that does not begin like one.
pub fn is_there(path: &Path) -> bool {
    let is_device = path.metadata().is_ok_and(|found| found.file_type().is_block_device());
    if !is_device {
        return path.exists();
    }
    let mut begin = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut device| device.read_exact(&mut begin));
    // A user who cannot read it is told so when it is opened.
    read.is_err() || begin == *MAGIC
}

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
