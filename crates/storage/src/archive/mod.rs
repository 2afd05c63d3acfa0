//! The archive: what has become of a file since a backup, in a folder beside it
//! (`docs/format/archive.md`). Commits hand their frames over and do not wait; checkpoints do.

pub(crate) mod attach;
mod changed;
pub(crate) mod follow;
mod placed;
pub(crate) mod position;
mod record;
pub(crate) mod restore;
mod run;
mod segment;
pub(crate) mod ship;
pub(crate) mod write;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::fs::File;
use runtime::sync::Semaphore;

use crate::directory::Directory;
use crate::error::{Result, StorageError};
use crate::log::place::LogPlace;
use position::SegmentPlace;

/// Attempts to write the pages of a checkpoint, and how long after one that has failed the next begins:
/// long enough for somebody to make room, short enough for the checkpoint that waits behind it.
const ATTEMPTS_MAX: u32 = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// Where a store is archived.
#[derive(Clone)]
pub struct ArchiveOptions {
    /// The folder, which is made if it does not exist.
    pub folder: PathBuf,
    /// Is told in a sentence when something is not archived, and when it is again; must not block.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for ArchiveOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArchiveOptions({})", self.folder.display())
    }
}

/// How far an archive has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// Whether what is committed now is archived, or will be.
    pub is_whole: bool,
    /// Number of the last checkpoint that the archive has.
    pub checkpoint: u64,
    /// Commits that it has behind that one.
    pub frames: u64,
    /// Time of the last commit that it has, in microseconds since 1970.
    pub time: u64,
    /// Bytes of commits that it does not have yet.
    pub waiting_bytes: u64,
    /// Bytes written to it since the store was opened.
    pub written_bytes: u64,
    /// Attempts to write that have failed since then.
    pub failures: u64,
    /// How often it has begun a line, for which a new backup is needed, since then.
    pub lines: u64,
}

/// The archive of an open store.
pub(crate) struct Archive {
    options: ArchiveOptions,
    /// Of the one who writes to the folder.
    turn: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Where frames go; `None` when something is missing.
    line: Option<Line>,
    waiting: Waiting,
    /// A task writes what waits.
    is_tended: bool,
    /// The attempt before has failed: that is told once.
    has_failed: bool,
    written_bytes: u64,
    failures: u64,
    lines: u64,
}

/// Frames that are durable in the log, and not archived.
#[derive(Default)]
struct Waiting {
    /// The checkpoint that they build on.
    checkpoint: u64,
    bytes: Vec<u8>,
    /// Whether all since that checkpoint are here or in the archive.
    is_whole: bool,
}

/// The end of a line.
#[derive(Clone)]
struct Line {
    id: u64,
    checkpoint: u64,
    /// Its segment, and where the next record begins.
    segment: File,
    end: u64,
    /// Frames in it, the checksum of the last one, and its time or that of the checkpoint.
    frames: u32,
    checksum: u32,
    time: u64,
    /// Where the frames lie in the file.
    place: LogPlace,
    /// Page numbers, used and free.
    page_count: u32,
    directory: Arc<Directory>,
}

impl Archive {
    fn new(options: &ArchiveOptions) -> Archive {
        let (options, turn) = (options.clone(), Semaphore::new(1));
        Archive { options, turn, state: Mutex::default() }
    }

    /// Where it is.
    pub fn folder(&self) -> &PathBuf {
        &self.options.folder
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn status(&self) -> ArchiveStatus {
        let state = self.state();
        let line = state.line.as_ref();
        ArchiveStatus {
            is_whole: line.is_some() && !state.has_failed,
            checkpoint: line.map_or(0, |line| line.checkpoint),
            frames: line.map_or(0, |line| line.frames.into()),
            time: line.map_or(0, |line| line.time),
            waiting_bytes: state.waiting.bytes.len() as u64,
            written_bytes: state.written_bytes,
            failures: state.failures,
            lines: state.lines,
        }
    }

    /// The end of what is synced of the line, if there is one.
    pub fn place(&self) -> Option<SegmentPlace> {
        let state = self.state();
        let place = |Line { id, checkpoint, end, .. }: &Line| SegmentPlace {
            line: *id,
            checkpoint: *checkpoint,
            offset: *end,
        };
        state.line.as_ref().map(place)
    }

    /// Notes an attempt that has failed; tells of the first one.
    fn note_failure(&self, error: &StorageError) {
        let is_first = {
            let mut state = self.state();
            state.failures += 1;
            !std::mem::replace(&mut state.has_failed, true)
        };
        if is_first {
            (self.options.tell)(&format!("the archive is behind: {error}"));
        }
    }

    /// What has failed before is done.
    fn note_success(&self) {
        if std::mem::take(&mut self.state().has_failed) {
            (self.options.tell)("the archive has got what it was behind with");
        }
    }

    fn tell_of_line(&self, checkpoint: u64) {
        let said = format!(
            "the archive begins with checkpoint {checkpoint}: it goes on from backups made from now on"
        );
        (self.options.tell)(&said);
    }

    /// The line ends: what is committed from now on is not archived before another one begins.
    fn give_up(&self, error: &StorageError) {
        let had_line = {
            let mut state = self.state();
            state.waiting = Waiting::default();
            state.has_failed = false;
            state.line.take().is_some()
        };
        if had_line {
            let what = "what is committed now is not archived; \
                        it begins anew with a checkpoint, and needs a new backup then";
            (self.options.tell)(&format!("the archive has ended: {error}; {what}"));
        }
    }
}

fn failed(action: &'static str) -> impl FnOnce(std::io::Error) -> StorageError {
    move |error| StorageError::io(action, &error)
}

/// The same for what has been done to the folder.
async fn sync_folder(folder: &std::path::Path) -> Result<()> {
    runtime::fs::sync_dir(folder).await.map_err(failed("sync the folder of the archive"))
}
