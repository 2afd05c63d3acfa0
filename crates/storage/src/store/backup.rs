//! A copy of the file, while others change it.
//!
//! The state of the last checkpoint stays as it is until the next one has begun to settle, so a copy of all
//! its pages holds it as a whole as long as no other checkpoint begins; with the log behind it, it is
//! everything that was durable when the log was copied. It opens as a file does after a crash.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use runtime::IoBuf;
use runtime::fs::{self, File, OpenOptions};

use super::{Store, StoreInner};
use crate::error::{Result, StorageError};
use crate::volume::Volume;

/// Is told of bytes that are written, and says whether to go on.
pub type CopyProgress = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Bytes that are copied at a time, and how many such pieces are on their way.
const PIECE_BYTES: u64 = 1 << 20;
const PIECES_IN_FLIGHT: usize = 8;

impl Store {
    /// Copies the file to another one, which does not exist yet; its bytes. No checkpoint is made meanwhile:
    /// what needs one waits.
    ///
    /// # Errors
    /// `Io` when the other file exists or cannot be written; `Stopped` when it is not to go on. What was
    /// written is removed then.
    pub async fn back_up(&self, path: &Path, progress: CopyProgress) -> Result<u64> {
        let (inner, path) = (Arc::clone(&self.inner), path.to_owned());
        let copied = runtime::spawn(async move { inner.back_up(&path, &progress).await });
        copied.await.unwrap_or(Err(StorageError::Stopped))
    }
}

impl StoreInner {
    async fn back_up(&self, path: &Path, progress: &CopyProgress) -> Result<u64> {
        let _settled = self.settling.acquire().await;
        self.check_writable()?;
        let options = OpenOptions {
            read: false,
            write: true,
            create: false,
            create_new: true,
            direct: self.pool.backend().direct,
            lock: true,
            overlay: None,
        };
        let opened = File::open(path, options).await;
        let copy = opened.map_err(|error| StorageError::io("make the backup", &error))?;
        let copied = self.copy_to(&copy, progress).await;
        drop(copy);
        match copied {
            Ok(bytes) => sync_folder(path).await.map(|()| bytes),
            Err(error) => {
                drop(fs::remove(path).await);
                Err(error)
            }
        }
    }

    async fn copy_to(&self, copy: &File, progress: &CopyProgress) -> Result<u64> {
        let header = self.header.lock().expect("header").clone();
        let bytes = u64::from(header.page_count) * self.pool.page_size() as u64;
        let log = self.pool.offset(header.log.pid);
        let log_end = log + u64::from(header.log.pages) * self.pool.page_size() as u64;
        // The log comes last: what it has by then is a part of the copy.
        self.copy_range(copy, (0, log.min(bytes)), progress).await?;
        self.copy_range(copy, (log_end.min(bytes), bytes), progress).await?;
        self.copy_log(copy, (log, log_end)).await?;
        let synced = copy.sync_data().await;
        synced.map_err(|error| StorageError::io("sync the backup", &error))?;
        Ok(bytes)
    }

    async fn copy_range(
        &self,
        copy: &File,
        (begin, end): (u64, u64),
        progress: &CopyProgress,
    ) -> Result<()> {
        let mut pieces = VecDeque::new();
        let mut offset = begin;
        while offset < end || !pieces.is_empty() {
            while offset < end && pieces.len() < PIECES_IN_FLIGHT {
                let len = PIECE_BYTES.min(end - offset);
                let (from, to) = (self.pool.file().clone(), copy.clone());
                pieces.push_back(runtime::spawn(async move {
                    copy_piece(&from, &to, offset, len).await.map(|()| len)
                }));
                offset += len;
            }
            let first = pieces.pop_front().expect("a piece is on its way");
            let len = first.await.unwrap_or(Err(StorageError::Stopped))?;
            if !progress(len) {
                return Err(StorageError::Stopped);
            }
        }
        Ok(())
    }

    /// Copies the frames that are durable, and zeros behind them: of a frame that is being written half
    /// could be seen, and one behind it.
    async fn copy_log(&self, copy: &File, (begin, end): (u64, u64)) -> Result<()> {
        let used = (self.log.usage().0 as u64).min(end - begin);
        let mut offset = begin;
        while offset < end {
            let len = PIECE_BYTES.min(end - offset);
            let mut piece = IoBuf::alloc(len as usize);
            if offset < begin + used {
                let (read, bytes) = self.pool.file().read_exact_at(piece, offset).await;
                read.map_err(|error| StorageError::io("read the log", &error))?;
                piece = bytes;
                let kept = (begin + used - offset).min(len) as usize;
                piece.as_mut_slice()[kept..].fill(0);
            }
            let (written, _) = copy.write_all_at(piece, offset).await;
            written.map_err(|error| StorageError::io("write the backup", &error))?;
            offset += len;
        }
        Ok(())
    }
}

async fn copy_piece(from: &Volume, to: &File, offset: u64, len: u64) -> Result<()> {
    let (read, piece) = from.read_exact_at(IoBuf::alloc(len as usize), offset).await;
    read.map_err(|error| StorageError::io("read the database file", &error))?;
    let (written, _) = to.write_all_at(piece, offset).await;
    written.map_err(|error| StorageError::io("write the backup", &error))
}

async fn sync_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let synced = fs::sync_dir(folder.unwrap_or(Path::new("."))).await;
    synced.map_err(|error| StorageError::io("sync the folder of the backup", &error))
}
