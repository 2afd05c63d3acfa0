//! The note beside a copy that follows an archive: which line it follows, and how far it is
//! (`docs/format/archive.md`, section 6).

use std::path::{Path, PathBuf};

use runtime::IoBuf;
use runtime::fs::{self, File, OpenOptions};

use crate::archive::failed;
use crate::error::Result;

const TITLE: &str = "dovetail replica 1";
const ACTION: &str = "write the note beside the replica";

/// How far a copy is in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    pub line: u64,
    /// The copy has its pages as a whole, or those of the next one in part.
    pub checkpoint: u64,
}

/// The name of the note beside a copy.
pub(super) fn path_of(copy: &Path) -> PathBuf {
    copy.with_added_extension("replica")
}

impl Marker {
    /// The note beside a copy; `None` without one that can be read.
    ///
    /// # Errors
    /// `Io`.
    pub async fn read(copy: &Path) -> Result<Option<Marker>> {
        let path = path_of(copy);
        if !fs::exists(&path).await.map_err(failed("read the note beside the replica"))? {
            return Ok(None);
        }
        let bytes = fs::read(&path).await.map_err(failed("read the note beside the replica"))?;
        Ok(Marker::decode(&bytes))
    }

    /// Writes it durably, in the place of the one that there is.
    ///
    /// # Errors
    /// `Io`.
    pub async fn write(self, copy: &Path) -> Result<()> {
        let (path, new) = (path_of(copy), path_of(copy).with_added_extension("new"));
        if fs::exists(&new).await.map_err(failed(ACTION))? {
            fs::remove(&new).await.map_err(failed(ACTION))?;
        }
        let options = OpenOptions { write: true, create_new: true, ..OpenOptions::default() };
        let file = File::open(&new, options).await.map_err(failed(ACTION))?;
        let bytes = IoBuf::copy_of(self.encode().as_bytes());
        file.write_all_at(bytes, 0).await.0.map_err(failed(ACTION))?;
        file.sync_data().await.map_err(failed(ACTION))?;
        fs::rename(&new, &path).await.map_err(failed(ACTION))?;
        sync_folder_of(copy).await
    }

    /// The copy follows nothing any more.
    ///
    /// # Errors
    /// `Io`.
    pub async fn remove(copy: &Path) -> Result<()> {
        fs::remove(path_of(copy)).await.map_err(failed(ACTION))?;
        sync_folder_of(copy).await
    }

    fn encode(self) -> String {
        format!("{TITLE}\nline {:016x}\ncheckpoint {}\n", self.line, self.checkpoint)
    }

    fn decode(bytes: &[u8]) -> Option<Marker> {
        let mut lines = std::str::from_utf8(bytes).ok()?.lines();
        lines.next().filter(|title| *title == TITLE)?;
        let line = u64::from_str_radix(lines.next()?.strip_prefix("line ")?, 16).ok()?;
        let checkpoint = lines.next()?.strip_prefix("checkpoint ")?.parse().ok()?;
        Some(Marker { line, checkpoint })
    }
}

async fn sync_folder_of(copy: &Path) -> Result<()> {
    let folder = copy.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::sync_dir(folder.unwrap_or(Path::new("."))).await.map_err(failed(ACTION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_others_are_none() {
        let marker = Marker { line: 0x1234_5678_9abc_def0, checkpoint: 17 };
        assert_eq!(Marker::decode(marker.encode().as_bytes()), Some(marker));
        for text in ["", "dovetail replica 2\nline 1\ncheckpoint 1\n", "dovetail replica 1\nline x"]
        {
            assert_eq!(Marker::decode(text.as_bytes()), None, "{text}");
        }
    }
}
