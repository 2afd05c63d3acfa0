//! A sorted run in a temporary file: entries as key length (u16), value length (u32),
//! key, value.

use std::path::{Path, PathBuf};

use runtime::IoBuf;
use runtime::fs::{self, File, OpenOptions};
use runtime::sync::Cancel;
use txn::waiting::give_way;
use types::{SqlError, SqlResult, SqlState};

use super::merge::Sorted;

/// Bytes of a read or write: large enough for the device's sequential speed.
const BLOCK_BYTES: usize = 1 << 20;

/// Bytes of the blocks of all runs that are merged; each has at least so many of them.
const MERGE_BYTES: usize = 16 << 20;
const BLOCK_BYTES_MIN: usize = 16 << 10;

/// Bytes of a read where so many runs are merged.
pub(super) fn block_bytes(runs: usize) -> usize {
    (MERGE_BYTES / runs.max(1)).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES)
}

const HEAD_BYTES: usize = 6;

fn io_error(path: &Path, error: &std::io::Error) -> SqlError {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let message = format!("temporary file \"{}\": {error}", path.display());
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => {
            SqlError::new(SqlState::DISK_FULL, message).with_hint("Check free disk space.")
        }
        _ => SqlError::new(SqlState::IO_ERROR, message),
    }
}

/// Writes a run; the file must not exist.
pub(super) async fn write_run(path: &Path, entries: &mut Sorted, cancel: &Cancel) -> SqlResult<()> {
    let options = OpenOptions { write: true, create_new: true, ..OpenOptions::default() };
    let file = File::open(path, options).await.map_err(|e| io_error(path, &e))?;
    let (mut block, mut offset) = (Vec::with_capacity(BLOCK_BYTES), 0);
    while let Some((key, value)) = entries.next().await? {
        block.extend_from_slice(&(key.len() as u16).to_le_bytes());
        block.extend_from_slice(&(value.len() as u32).to_le_bytes());
        block.extend_from_slice(key);
        block.extend_from_slice(value);
        if block.len() >= BLOCK_BYTES {
            offset += flush(&file, path, &mut block, offset).await?;
        }
        give_way(cancel).await?;
    }
    flush(&file, path, &mut block, offset).await?;
    Ok(())
}

async fn flush(file: &File, path: &Path, block: &mut Vec<u8>, offset: u64) -> SqlResult<u64> {
    if block.is_empty() {
        return Ok(0);
    }
    let mut buffer = IoBuf::alloc(block.len());
    buffer.as_mut_slice().copy_from_slice(block);
    let (result, _) = file.write_all_at(buffer, offset).await;
    result.map_err(|e| io_error(path, &e))?;
    let written = block.len() as u64;
    block.clear();
    Ok(written)
}

/// Removes files, whether or not they exist.
pub(crate) async fn remove(paths: Vec<PathBuf>) {
    for path in paths {
        // A temporary file that stays behind costs space only; the next open removes it.
        fs::remove(&path).await.ok();
    }
}

/// Reads a run from its start.
pub(super) struct RunReader {
    path: PathBuf,
    block_bytes: usize,
    file: Option<File>,
    /// Bytes of the file that were read.
    offset: u64,
    bytes: Vec<u8>,
    /// The current entry in `bytes`.
    start: usize,
    key_len: usize,
    value_len: usize,
}

impl RunReader {
    pub(super) fn new(path: PathBuf, block_bytes: usize) -> RunReader {
        let (bytes, file, offset) = (vec![], None, 0);
        RunReader { path, block_bytes, file, offset, bytes, start: 0, key_len: 0, value_len: 0 }
    }

    /// Stops reading.
    pub(super) fn into_path(self) -> PathBuf {
        self.path
    }

    /// The current entry.
    pub(super) fn entry(&self) -> (&[u8], &[u8]) {
        let key = self.start..self.start + self.key_len;
        (&self.bytes[key.clone()], &self.bytes[key.end..key.end + self.value_len])
    }

    /// Goes to the next entry; false at the end, where the file is removed.
    pub(super) async fn advance(&mut self) -> SqlResult<bool> {
        self.start += self.key_len + self.value_len;
        (self.key_len, self.value_len) = (0, 0);
        if !self.ensure(HEAD_BYTES).await? {
            remove(vec![self.path.clone()]).await;
            return Ok(false);
        }
        let head = &self.bytes[self.start..self.start + HEAD_BYTES];
        let key_len = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let value_len = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
        self.start += HEAD_BYTES;
        if !self.ensure(key_len + value_len).await? {
            let message = format!("temporary file \"{}\" is too short", self.path.display());
            return Err(SqlError::new(SqlState::IO_ERROR, message));
        }
        (self.key_len, self.value_len) = (key_len, value_len);
        Ok(true)
    }

    /// Makes sure that `count` bytes follow `start` in memory; false at the end of the file.
    async fn ensure(&mut self, count: usize) -> SqlResult<bool> {
        while self.bytes.len() < self.start + count {
            self.bytes.drain(..self.start);
            self.start = 0;
            if !self.read_block().await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn read_block(&mut self) -> SqlResult<bool> {
        let file = match &self.file {
            Some(file) => file.clone(),
            None => {
                let options = OpenOptions { read: true, ..OpenOptions::default() };
                let opened = File::open(&self.path, options).await;
                let opened = opened.map_err(|e| io_error(&self.path, &e))?;
                self.file.insert(opened).clone()
            }
        };
        let (result, buffer) = file.read_at(IoBuf::alloc(self.block_bytes), self.offset).await;
        let count = result.map_err(|e| io_error(&self.path, &e))?;
        self.bytes.extend_from_slice(&buffer.as_slice()[..count]);
        self.offset += count as u64;
        Ok(count > 0)
    }
}
