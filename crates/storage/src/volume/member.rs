//! One member: its file or device, and what of it is to be synced.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use runtime::IoBuf;
use runtime::fs::{self, File, Identity, OpenOptions, Scratch};

use super::BLOCK_BYTES;
use super::label::Label;
use super::transfers::{Way, one};
use crate::error::{MemberFault, Result, StorageError};

/// A file or device that is open.
pub(crate) struct Member {
    pub file: File,
    pub path: PathBuf,
    /// Bytes of a device, whose length is fixed; 0 of a file.
    pub size: u64,
    /// Writes that have ended, and those of them that a sync has covered.
    written: AtomicU64,
    synced: AtomicU64,
}

/// How members are opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    /// Past the page cache.
    pub direct: bool,
    /// Nothing is written to the files.
    pub unchanged: bool,
}

impl Opening {
    fn options(self, create_new: bool) -> OpenOptions {
        OpenOptions {
            read: true,
            write: !self.unchanged,
            create: false,
            create_new,
            direct: self.direct,
            lock: true,
            overlay: self.unchanged.then_some(Scratch::Temporary),
        }
    }
}

impl Member {
    /// A file that is open already.
    pub fn of(file: File, path: &Path, size: u64) -> Member {
        let (written, synced) = (AtomicU64::new(1), AtomicU64::new(0));
        Member { file, path: path.to_owned(), size, written, synced }
    }

    /// Opens what is there, for nobody else.
    ///
    /// # Errors
    /// `Member` where nothing is there (`missing`), it is in use or can be none; `Io`.
    pub async fn open(path: &Path, opening: Opening, missing: MemberFault) -> Result<Member> {
        let identity = fs::identity(path).await;
        let is_device = match identity.map_err(|error| failed(&error, missing))? {
            Identity::File(..) => false,
            Identity::Device(_) => true,
            Identity::Other => {
                return Err(unsuited(path, "it is neither a file nor a block device"));
            }
        };
        let opened = File::open(path, opening.options(false)).await;
        let file = opened.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::ResourceBusy => {
                StorageError::Member(MemberFault::InUse { path: path.to_owned() })
            }
            _ => StorageError::io("open a member of the database", &error),
        })?;
        let size = if is_device { bytes_of(&file).await? } else { 0 };
        Ok(Member::of(file, path, size))
    }

    /// Makes a file that is not there.
    ///
    /// # Errors
    /// `Io`.
    pub async fn create(path: &Path, opening: Opening) -> Result<Member> {
        let made = File::open(path, opening.options(true)).await;
        let file =
            made.map_err(|error| StorageError::io("make a member of the database", &error))?;
        Ok(Member::of(file, path, 0))
    }

    /// Its length in bytes.
    pub async fn len(&self) -> Result<u64> {
        bytes_of(&self.file).await
    }

    /// Its label, if it has one.
    pub async fn label(&self) -> Result<Option<Label>> {
        if self.len().await? < BLOCK_BYTES as u64 {
            return Ok(None);
        }
        let block = self.read(0, BLOCK_BYTES).await?;
        Ok(Label::decode(block.as_slice()))
    }

    /// Reads bytes, twice if need be.
    pub async fn read(&self, at: u64, len: usize) -> Result<IoBuf> {
        let mut read = self.file.read_exact_at(IoBuf::alloc(len), at).await;
        if read.0.is_err() {
            read = self.file.read_exact_at(read.1, at).await;
        }
        let action = "read a member of the database";
        read.0.map(|()| read.1).map_err(|error| StorageError::io(action, &error))
    }

    /// Moves the bytes of buffers that lie in a row.
    pub async fn moved(
        &self,
        mut bufs: Vec<IoBuf>,
        at: u64,
        way: Way,
    ) -> (io::Result<()>, Vec<IoBuf>) {
        let file = &self.file;
        let is_one = bufs.len() == 1;
        let buf = if is_one { bufs.pop() } else { None };
        let (result, bufs) = match (way, buf) {
            (Way::Read, Some(buf)) => alone(file.read_exact_at(buf, at).await),
            (Way::Read, None) => file.read_vectored_exact_at(bufs, at).await,
            (Way::Write, Some(buf)) => alone(file.write_all_at(buf, at).await),
            (Way::WriteToSync, Some(buf)) => alone(file.write_to_sync_at(buf, at).await),
            (Way::WriteDurable(how), Some(buf)) => alone(file.write_durable_at(buf, at, how).await),
            (Way::Write, None) => file.write_vectored_all_at(bufs, at).await,
            (Way::WriteToSync | Way::WriteDurable(_), None) => {
                unreachable!("what is synced at once is one buffer")
            }
        };
        if way != Way::Read {
            self.note_written();
        }
        (result, bufs)
    }

    /// Reserves space for bytes.
    ///
    /// # Errors
    /// `StorageFull` beyond the end of a device; those of the file system.
    pub async fn reserve(&self, at: u64, len: u64) -> io::Result<()> {
        if self.size > 0 {
            let fits = at.checked_add(len).is_some_and(|end| end <= self.size);
            return if fits { Ok(()) } else { Err(ErrorKind::StorageFull.into()) };
        }
        let reserved = self.file.allocate(at, len).await;
        self.note_written();
        reserved
    }

    /// Gives space of bytes back.
    pub async fn give_back(&self, at: u64, len: u64) -> io::Result<bool> {
        let given = self.file.give_back(at, len).await;
        self.note_written();
        given
    }

    /// Clears its label, if that can be done.
    pub async fn erase(&self) {
        drop(write(self, &[0; BLOCK_BYTES], 0).await);
        drop(self.sync().await);
    }

    /// True if something was written that no sync has covered.
    pub fn is_written(&self) -> bool {
        self.synced.load(Ordering::Acquire) < self.written.load(Ordering::Acquire)
    }

    fn note_written(&self) {
        self.written.fetch_add(1, Ordering::AcqRel);
    }

    /// Makes what was written durable.
    pub async fn sync(&self) -> io::Result<()> {
        let upto = self.written.load(Ordering::Acquire);
        self.file.sync_data().await?;
        self.synced.fetch_max(upto, Ordering::AcqRel);
        Ok(())
    }
}

fn alone((result, buf): (io::Result<()>, IoBuf)) -> (io::Result<()>, Vec<IoBuf>) {
    (result, vec![buf])
}

async fn bytes_of(file: &File) -> Result<u64> {
    let len = file.len().await;
    len.map_err(|error| StorageError::io("ask for the length of a member", &error))
}

fn failed(error: &io::Error, missing: MemberFault) -> StorageError {
    match error.kind() {
        ErrorKind::NotFound => StorageError::Member(missing),
        _ => StorageError::io("look at a member of the database", error),
    }
}

pub(super) fn unsuited(path: &Path, what: &'static str) -> StorageError {
    StorageError::Member(MemberFault::Unsuited { path: path.to_owned(), what })
}

/// Refuses paths that lead to the same file or device.
///
/// # Errors
/// `Member`; `Io`.
pub(super) async fn ensure_different(paths: &[&Path]) -> Result<()> {
    let mut known: Vec<(Identity, &Path)> = vec![];
    for path in paths {
        let identity = match fs::identity(path).await {
            Ok(identity) => identity,
            // Names of what is not there differ, or one of them will not be made.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(StorageError::io("look at a member of the database", &error)),
        };
        if let Some((_, other)) = known.iter().find(|(known, _)| *known == identity) {
            let (path, other) = ((*path).to_owned(), (*other).to_owned());
            return Err(StorageError::Member(MemberFault::Twice { path, other }));
        }
        known.push((identity, path));
    }
    Ok(())
}

/// Writes a block or more, and no sync.
pub(super) async fn write(member: &Member, bytes: &[u8], at: u64) -> io::Result<()> {
    let (result, bufs) = member.moved(vec![IoBuf::copy_of(bytes)], at, Way::Write).await;
    drop(one(bufs));
    result
}
