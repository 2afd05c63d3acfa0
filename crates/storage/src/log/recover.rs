//! Recovery: what the log has is put into the trees of the last checkpoint (`docs/format/log.md`,
//! section 4).

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;
use std::sync::{Arc, Mutex};

use runtime::{IoBuf, IoCounters};

use super::frame;
use super::frame::FrameId;
use super::redo::split_first;
use crate::error::{Damage, Result, StorageError};
use crate::header::Header;
use crate::log::place::LogPlace;
use crate::planted;
use crate::store::Store;
use crate::store::progress::{RecoveryPhase, RecoveryProgress};
use crate::tree_id::TreeId;
use crate::volume::Volume;

/// Bytes of the log that are read at a time.
const READ_BYTES: u64 = 1 << 20;

/// Tasks that change trees at a time: each waits for a page most of its time.
const TASKS: usize = 64;

/// Entries that a task takes at a time: neighbours, as a rule.
const ENTRIES_AT_ONCE: usize = 32;

/// What entries are to be.
pub(crate) type Entries = BTreeMap<(TreeId, Vec<u8>), Option<Vec<u8>>>;

/// What the log says since a checkpoint.
#[derive(Default)]
pub(crate) struct Logged {
    pub entries: Entries,
    /// The frames of the log as they are.
    pub frames: Vec<u8>,
    /// How many there are in its next run: a checkpoint had begun, and was not finished.
    pub frames_behind: u64,
    /// Time of the last one, or 0.
    pub time: u64,
}

/// Reads the log of this checkpoint, and what has been written to the next run behind it.
///
/// # Errors
/// `Io`; `Corrupt` when a frame has rotted.
pub(crate) async fn read(
    file: &Volume,
    header: &Header,
    progress: &RecoveryProgress,
) -> Result<Logged> {
    let places = [header.log, header.next_log];
    let pages: u64 = places.iter().map(|place| u64::from(place.pages)).sum();
    progress.begin(RecoveryPhase::Log, pages * u64::from(header.page_size));
    let mut logged = Logged::default();
    let first =
        Run { place: header.log, first: FrameId::first_of(header), known: header.log_frames };
    let (frames, next) = logged.read(file, header.page_size, first, progress).await?;
    logged.frames = frames;
    if planted::is("next-run-forgotten") {
        return Ok(logged);
    }
    let first = FrameId::first(header.checkpoint + 1, next.previous);
    let behind = Run { place: header.next_log, first, known: 0 };
    let (_, next) = logged.read(file, header.page_size, behind, progress).await?;
    logged.frames_behind = next.sequence;
    Ok(logged)
}

/// A run to be read, from the frame with which it begins; so many are known to be there.
struct Run {
    place: LogPlace,
    first: FrameId,
    known: u32,
}

impl Logged {
    /// Whether there is anything that the checkpoint does not have.
    pub fn has_frames(&self) -> bool {
        !self.frames.is_empty() || self.frames_behind > 0
    }

    /// Takes the changes of a run; its frames as they are, and which would be next.
    async fn read(
        &mut self,
        file: &Volume,
        page_size: u32,
        Run { place, first, known }: Run,
        progress: &RecoveryProgress,
    ) -> Result<(Vec<u8>, FrameId)> {
        let mut run = read_run(file, page_size, place, progress).await?;
        let damaged = |at: usize| StorageError::Corrupt {
            pid: place.pid + (at / page_size as usize) as u32,
            reason: Damage::Log,
        };
        let mut len = 0;
        let (frames, next) = frame::read_all(&run, &place, first, known).map_err(damaged)?;
        // What was in flight behind the checkpoint is in none of its trees.
        let takes_replaced = known > 0;
        for frame in frames {
            (self.time, len) = (frame.time, len + frame.len);
            let (replaced, changes) = frame.parts().ok_or_else(|| damaged(0))?;
            if takes_replaced {
                self.take(replaced).await.ok_or_else(|| damaged(0))?;
            }
            self.take(changes).await.ok_or_else(|| damaged(0))?;
        }
        run.truncate(len);
        Ok((run, next))
    }

    /// Takes changes; `None` when they are none.
    async fn take(&mut self, mut changes: &[u8]) -> Option<()> {
        while !changes.is_empty() {
            let ((tree, key, value), behind) = split_first(changes)?;
            self.entries.insert((tree, key.to_vec()), value.map(<[u8]>::to_vec));
            changes = behind;
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Some(())
    }
}

async fn read_run(
    file: &Volume,
    page_size: u32,
    place: LogPlace,
    progress: &RecoveryProgress,
) -> Result<Vec<u8>> {
    let mut offset = u64::from(place.pid) * u64::from(page_size);
    let end = offset + u64::from(place.pages) * u64::from(page_size);
    let mut run = Vec::new();
    while offset < end {
        let len = READ_BYTES.min(end - offset);
        let (done, piece) = file.read_exact_at(IoBuf::alloc(len as usize), offset).await;
        done.map_err(|error| StorageError::io("read the log", &error))?;
        run.extend_from_slice(piece.as_slice());
        offset += len;
        progress.add(len);
    }
    Ok(run)
}

/// The entries that nobody has taken yet.
type Left = Arc<Mutex<IntoIter<(TreeId, Vec<u8>), Option<Vec<u8>>>>>;

/// Makes the entries what they are to be, by many tasks: one of them waits while others go on.
///
/// # Errors
/// Those of the trees; `NoSuchTree` for one that the checkpoint does not have.
pub(crate) async fn replay(
    store: &Store,
    entries: Entries,
    progress: &Arc<RecoveryProgress>,
) -> Result<()> {
    progress.begin(RecoveryPhase::Changes, entries.len() as u64);
    let left: Left = Arc::new(Mutex::new(entries.into_iter()));
    let task = |_| {
        let (store, left, progress) = (store.clone(), Arc::clone(&left), Arc::clone(progress));
        runtime::spawn(async move { apply(&store, &left, &progress).await })
    };
    let tasks: Vec<_> = (0..TASKS).map(task).collect();
    let mut done = Ok(());
    for task in tasks {
        let outcome = task.await.unwrap_or(Err(StorageError::Stopped));
        done = done.and(outcome);
    }
    done
}

async fn apply(store: &Store, left: &Left, progress: &RecoveryProgress) -> Result<()> {
    let io = IoCounters::default();
    loop {
        let entries: Vec<_> = left.lock().expect("log").by_ref().take(ENTRIES_AT_ONCE).collect();
        if entries.is_empty() {
            return Ok(());
        }
        let count = entries.len() as u64;
        for ((tree, key), value) in entries {
            let tree = store.tree(tree)?;
            match value {
                None => drop(tree.delete(&key, &io).await?),
                Some(value) => {
                    let is_new = planted::is("updates-not-replayed");
                    if is_new || !tree.replace(&key, &value, &io).await? {
                        tree.insert(&key, &value).await?;
                    }
                }
            }
        }
        progress.add(count);
        if runtime::need_preempt() {
            runtime::yield_now().await;
        }
    }
}
