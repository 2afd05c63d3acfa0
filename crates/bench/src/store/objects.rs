//! The objects: files of a folder, each with a tag that changes when it is put.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::request::Request;

/// All objects.
pub(super) struct Objects {
    folder: PathBuf,
    /// How often each was put; files that lay there before have never been.
    puts: Mutex<HashMap<String, u64>>,
}

/// An object that is read: what was put meanwhile is another file.
pub(super) struct Stored {
    pub(super) file: File,
    pub(super) size: u64,
    pub(super) tag: String,
}

fn tag_of(puts: u64) -> String {
    format!("\"{puts}\"")
}

impl Objects {
    pub(super) fn new(folder: PathBuf) -> Objects {
        Objects { folder, puts: Mutex::default() }
    }

    /// # Errors
    /// There is none of this name.
    pub(super) fn open(&self, key: &str) -> io::Result<Stored> {
        let puts = self.puts.lock().unwrap_or_else(PoisonError::into_inner);
        let file = File::open(self.folder.join(key))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let tag = tag_of(puts.get(key).copied().unwrap_or(0));
        Ok(Stored { file, size: metadata.len(), tag })
    }

    /// Puts what a request brings; its tag, or `None` when the condition does not hold.
    ///
    /// # Errors
    /// Those of the folder.
    pub(super) fn put(&self, key: &str, request: &Request) -> io::Result<Option<String>> {
        let mut puts = self.puts.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.folder.join(key);
        let now = path.is_file().then(|| tag_of(puts.get(key).copied().unwrap_or(0)));
        let is_absent = request.header("if-none-match").is_none() || now.is_none();
        let wanted = request.header("if-match");
        if !is_absent || wanted.is_some_and(|tag| now.as_deref() != Some(tag)) {
            return Ok(None);
        }
        let partial = path.with_added_extension("partial");
        partial.parent().map_or(Ok(()), fs::create_dir_all)?;
        File::create(&partial)?.write_all(&request.body)?;
        fs::rename(&partial, &path)?;
        let count = puts.entry(key.to_owned()).or_default();
        *count += 1;
        Ok(Some(tag_of(*count)))
    }

    /// It is no error when there is none.
    pub(super) fn remove(&self, key: &str) {
        let _puts = self.puts.lock().unwrap_or_else(PoisonError::into_inner);
        fs::remove_file(self.folder.join(key)).ok();
    }
}
