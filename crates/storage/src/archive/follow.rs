//! A copy that follows an archive: what that gets is put into the copy, and stores that were opened
//! of it before keep what they have seen (`docs/format/archive.md`, section 6).
//!
//! The copy is never changed by a store. It is a checkpoint of the line with the frames behind it
//! in its log, so page numbers stay those of the archive; who wants to read it opens a store that
//! keeps what recovery does beside it. Before an image takes its place, each of these stores keeps
//! what lies there.

mod apply;
mod marker;
mod tail;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use runtime::fs::{File, OpenOptions};

use super::failed;
use super::position::LogPosition;
use super::record::SegmentId;
use super::segment;
use crate::error::{Result as Stored, StorageError};
use crate::header::Header;
use crate::log::frame::read as read_frame;
use crate::log::redo::split_first;
use crate::store::open::header_of;
use crate::store::progress::RecoveryProgress;
use crate::store::{Store, StoreInner, StoreOptions};
use crate::tree_id::TreeId;

use marker::Marker;
use tail::Tail;

/// Why a copy cannot follow an archive, or not any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowError {
    /// It belongs to no line: it was never archived, was restored, or was written to.
    NotArchived,
    /// The folder has nothing of its line: it is another database's, or lacks what comes next.
    Unknown {
        /// The checkpoint that the copy needs.
        checkpoint: u64,
    },
    /// A segment is missing, and later ones are there.
    Gap(PathBuf),
    /// A segment is damaged.
    Damaged(PathBuf),
    /// Its pages lie out of place.
    Layout,
    /// An error of storage, at the files.
    Storage(StorageError),
}

impl fmt::Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowError::NotArchived => write!(f, "the copy was not made of an archived database"),
            FollowError::Unknown { checkpoint } => {
                write!(f, "the archive has nothing of the copy's checkpoint {checkpoint}")
            }
            FollowError::Gap(path) => {
                write!(f, "segment \"{}\" of the archive is missing", path.display())
            }
            FollowError::Damaged(path) => {
                write!(f, "segment \"{}\" of the archive is damaged", path.display())
            }
            FollowError::Layout => write!(f, "copies whose pages lie out of place follow nothing"),
            FollowError::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FollowError {}

impl From<StorageError> for FollowError {
    fn from(error: StorageError) -> FollowError {
        FollowError::Storage(error)
    }
}

type Result<T> = std::result::Result<T, FollowError>;

/// The progress of a copy that follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Followed {
    /// How far it is.
    pub position: LogPosition,
    /// Commits behind the checkpoint.
    pub frames: u64,
    /// Time of the last commit, in microseconds since 1970.
    pub time: u64,
}

/// The values that entries are to have, by tree and key: the last change of each counts, and an
/// entry without a value is gone.
pub type Changes = BTreeMap<(TreeId, Vec<u8>), Option<Vec<u8>>>;

/// News of an archive.
#[derive(Debug, PartialEq, Eq)]
pub enum Advanced {
    /// Nothing.
    Nothing,
    /// Commits behind the state that was opened last, or behind those of the call before: all that
    /// differs.
    Commits(Changes),
    /// More than that: it is seen by who opens a state.
    State,
}

/// A copy of a database that follows an archive. It has the lock of the file.
pub struct Follower {
    path: PathBuf,
    folder: PathBuf,
    file: File,
    /// Of the copy, as both slots have it.
    header: Header,
    tail: Tail,
    /// Bytes of the tail's frames that lie in the copy's log.
    put: usize,
    /// Stores that were opened of it.
    stores: Vec<Weak<StoreInner>>,
    /// Bytes of the log that the last one has, or was told of.
    told: usize,
    /// Attempts since something new was found.
    idle_count: u32,
}

/// So many attempts without anything new come before the folder is looked through: listing it is
/// dear.
const IDLE_COUNT_MAX: u32 = 20;

impl Follower {
    /// Takes a copy: one that follows already, or a backup that was made while its database was
    /// archived. What the archive has by now is put in place.
    ///
    /// # Errors
    /// Those of [`FollowError`]; `Locked` when another process has the copy.
    pub async fn open(path: &Path, folder: &Path) -> Result<Follower> {
        let file = opened(path).await?;
        let marker = match Marker::read(path).await? {
            None => apply::begin(path, &file).await?,
            Some(marker) => apply::begun(path, &file, marker).await?,
        };
        let (line, checkpoint) = (marker.line, marker.checkpoint);
        let known = segment::checkpoints_of(folder, line).await?;
        if !known.contains(&checkpoint) {
            return Err(FollowError::Unknown { checkpoint });
        }
        let id = SegmentId { line, checkpoint };
        let header = header_of(&file.clone().into()).await.ok();
        let (tail, header) = match header {
            Some(header) => {
                let tail = Tail::open(folder, id).await?;
                let tail = tail.ok_or_else(|| FollowError::Damaged(id.path(folder)))?;
                apply::begin_log(&file, &header, &tail).await?;
                (tail, header)
            }
            // It was left in the midst of the next checkpoint.
            None => apply::finish(folder, (path, &file), id).await?,
        };
        let put = tail.survey.frame_bytes.len();
        let (path, folder) = (path.to_owned(), folder.to_owned());
        let (stores, told, idle_count) = (vec![], 0, 0);
        let mut follower =
            Follower { path, folder, file, header, tail, put, stores, told, idle_count };
        follower.advance().await?;
        Ok(follower)
    }

    /// Takes what the archive has got since the last call.
    ///
    /// # Errors
    /// Those of [`FollowError`]. The copy is as it was, or goes on where it was when it is opened
    /// anew.
    pub async fn advance(&mut self) -> Result<Advanced> {
        let mut has_moved = false;
        self.take_frames().await?;
        while let Some(next) = self.next_segment().await? {
            // The last frames came before it.
            self.take_frames().await?;
            self.check_order(&next).await?;
            self.header = apply::segment(self, &next).await?;
            self.put = next.survey.frame_bytes.len();
            self.tail = next;
            self.told = 0;
            self.stores.retain(|store| store.strong_count() > 0);
            has_moved = true;
        }
        let advanced = if has_moved { Advanced::State } else { self.commits() };
        self.idle_count = if advanced == Advanced::Nothing { self.idle_count + 1 } else { 0 };
        if self.idle_count >= IDLE_COUNT_MAX {
            self.idle_count = 0;
            self.check_gap().await?;
        }
        Ok(advanced)
    }

    /// The commits that nobody was told of yet.
    fn commits(&mut self) -> Advanced {
        let all = &self.tail.survey.frame_bytes;
        let mut new = &all[std::mem::replace(&mut self.told, all.len())..];
        let mut changes = Changes::new();
        while let Some(frame) = read_frame(new, &self.header.log) {
            new = &new[frame.len..];
            // Changes that were in flight at a checkpoint came with it.
            let Some((&[], made)) = frame.parts() else { return Advanced::State };
            if take_changes(made, &mut changes).is_none() {
                return Advanced::State;
            }
        }
        assert!(new.is_empty(), "frames were looked through when they came");
        if changes.is_empty() { Advanced::Nothing } else { Advanced::Commits(changes) }
    }

    /// Removes what the copy needs no more from the folder, which is its own.
    ///
    /// # Errors
    /// `Io`.
    pub async fn prune(&self) -> Result<()> {
        let SegmentId { line, checkpoint: first } = self.tail.id();
        let known = segment::checkpoints_of(&self.folder, line).await?;
        for checkpoint in known.into_iter().filter(|checkpoint| *checkpoint < first) {
            let path = SegmentId { line, checkpoint }.path(&self.folder);
            runtime::fs::remove(path).await.map_err(failed("remove a segment"))?;
        }
        Ok(())
    }

    /// How far the copy is.
    pub fn followed(&self) -> Followed {
        let survey = &self.tail.survey;
        let bytes = survey.frame_bytes.len() as u64;
        let position = LogPosition { checkpoint: self.tail.id().checkpoint, bytes };
        Followed { position, frames: survey.frames.len() as u64, time: survey.time() }
    }

    /// Opens the state that the copy has now. It stays so while the copy goes on.
    ///
    /// # Errors
    /// Those of opening a store.
    pub async fn open_store(
        &mut self,
        options: &StoreOptions,
        progress: &Arc<RecoveryProgress>,
    ) -> Stored<Store> {
        let options = StoreOptions { unchanged: true, followed: true, ..options.clone() };
        let store = Store::open_watched(&self.path, options, progress).await?;
        self.stores.push(Arc::downgrade(&store.inner));
        self.told = self.tail.survey.frame_bytes.len();
        Ok(store)
    }

    /// Has stores that were opened of the copy read it no more: they have what they have in memory.
    fn seal_stores(&mut self) {
        for store in self.stores.drain(..).filter_map(|store| store.upgrade()) {
            store.pool.file().only_file().seal();
        }
    }

    /// True if the copy is a database: it is none while it has only a part of a checkpoint.
    ///
    /// # Errors
    /// `Io`.
    pub async fn is_whole(&self) -> Result<bool> {
        match header_of(&self.file.clone().into()).await {
            Ok(_) => Ok(true),
            Err(error @ StorageError::Io { .. }) => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    /// Ends it: the copy is a database of its own from now on, which was never archived. Stores
    /// that were opened of it are sealed.
    ///
    /// # Errors
    /// `Io`, and those of the header where the copy is not whole; it may follow again then.
    pub async fn release(mut self) -> Result<()> {
        header_of(&self.file.clone().into()).await?;
        self.seal_stores();
        self.file.sync_data().await.map_err(failed("sync the replica"))?;
        Ok(Marker::remove(&self.path).await?)
    }

    /// Takes more frames of the segment that it has come to.
    async fn take_frames(&mut self) -> Result<()> {
        self.tail.extend().await?;
        if !self.tail.is_good() {
            self.tail = self.tail_read_again().await?;
        }
        self.put_frames().await
    }

    /// Puts the frames that the copy's log lacks into it.
    async fn put_frames(&mut self) -> Result<()> {
        let all = &self.tail.survey.frame_bytes;
        if all.len() > self.put {
            apply::frames(&self.file, &self.header, all, self.put).await?;
            self.put = all.len();
        }
        Ok(())
    }

    /// The segment that it has come to, from its beginning: a record that could not be synced is
    /// written again, with more frames in it.
    async fn tail_read_again(&self) -> Result<Tail> {
        let id = self.tail.id();
        let again = Tail::open(&self.folder, id)
            .await?
            .filter(|again| again.survey.frame_bytes.starts_with(&self.tail.survey.frame_bytes));
        again.ok_or_else(|| FollowError::Damaged(id.path(&self.folder)))
    }

    /// The segment of the next checkpoint, if the archive has it and all that it needs.
    async fn next_segment(&self) -> Result<Option<Tail>> {
        let SegmentId { line, checkpoint } = self.tail.id();
        let id = SegmentId { line, checkpoint: checkpoint + 1 };
        let path = id.path(&self.folder);
        let action = "look for the next segment of the archive";
        if !runtime::fs::exists(&path).await.map_err(failed(action))? {
            return Ok(None);
        }
        let tail = Tail::open(&self.folder, id).await?.ok_or(FollowError::Damaged(path))?;
        // Frames that came with its checkpoint may be on their way.
        Ok(Some(tail).filter(Tail::has_least))
    }

    /// Checks that the next segment follows what this one has. A record may have been written again
    /// after a failure, so that it is longer than it was.
    async fn check_order(&mut self, next: &Tail) -> Result<()> {
        if next.survey.begin.previous == Some(self.tail.survey.last()) {
            return Ok(());
        }
        let again = self.tail_read_again().await?;
        if next.survey.begin.previous != Some(again.survey.last()) {
            return Err(FollowError::Damaged(self.tail.id().path(&self.folder)));
        }
        self.tail = again;
        Ok(())
    }

    /// Checks that nothing of the line lies behind a gap. Other lines may be other databases'.
    async fn check_gap(&self) -> Result<()> {
        let SegmentId { line, checkpoint } = self.tail.id();
        let later = segment::checkpoints_of(&self.folder, line).await?;
        if let Some(later) = later.into_iter().find(|later| *later > checkpoint + 1) {
            let id = SegmentId { line, checkpoint: later - 1 };
            let missing = id.path(&self.folder);
            let is_there = runtime::fs::exists(&missing).await.map_err(failed("look for it"))?;
            return if is_there { Ok(()) } else { Err(FollowError::Gap(missing)) };
        }
        Ok(())
    }
}

/// Takes the changes of a frame; none when they are none.
fn take_changes(mut made: &[u8], changes: &mut Changes) -> Option<()> {
    while !made.is_empty() {
        let ((tree, key, value), behind) = split_first(made)?;
        changes.insert((tree, key.to_vec()), value.map(<[u8]>::to_vec));
        made = behind;
    }
    Some(())
}

async fn opened(path: &Path) -> Result<File> {
    let options = OpenOptions { read: true, write: true, lock: true, ..OpenOptions::default() };
    let file = File::open(path, options).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::ResourceBusy => StorageError::Locked,
        _ => StorageError::io("open the copy", &error),
    })?;
    Ok(file)
}

/// The line that a copy follows, or can follow, and the checkpoint that it has.
///
/// # Errors
/// `NotArchived` when it can follow none.
pub(crate) async fn origin(path: &Path) -> Result<(u64, u64)> {
    if let Some(Marker { line, checkpoint }) = Marker::read(path).await? {
        return Ok((line, checkpoint));
    }
    let options = OpenOptions { read: true, ..OpenOptions::default() };
    let file = File::open(path, options).await.map_err(failed("open the copy"))?;
    let header = header_of(&file.clone().into()).await?;
    match header.archive {
        0 => Err(FollowError::NotArchived),
        line => Ok((line, header.checkpoint)),
    }
}

/// True if a copy follows an archive, as the note beside it says.
///
/// # Errors
/// `Io`.
pub async fn follows(path: &Path) -> Stored<bool> {
    Ok(Marker::read(path).await?.is_some())
}

/// Makes a copy that nobody has open a database of its own, without what its archive has got since.
///
/// # Errors
/// `Locked` when a process has it; `NotArchived` when it follows nothing; those of the header when
/// it was left in the midst of a checkpoint: then it needs the archive.
pub async fn release(path: &Path) -> Result<()> {
    let file = opened(path).await?;
    if Marker::read(path).await?.is_none() {
        return Err(FollowError::NotArchived);
    }
    header_of(&file.clone().into()).await?;
    file.sync_data().await.map_err(failed("sync the replica"))?;
    Ok(Marker::remove(path).await?)
}
