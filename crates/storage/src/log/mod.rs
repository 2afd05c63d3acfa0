//! The log: what is durable before the next checkpoint (`docs/format/log.md`).

mod frame;
mod recover;
mod redo;

use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use runtime::IoBuf;
use runtime::fs::{Durability, File};

use crate::error::{Result, StorageError};
use crate::header::{Header, VERSION_WITH_TIMES};
use crate::page::PageId;
use crate::planted;
use crate::space::Extent;
use crate::syncs::Syncs;

use frame::FRAME_HEADER_BYTES;
pub(crate) use frame::{FrameId, read as read_frame};
pub(crate) use recover::{Entries, Logged, read, replay};
pub use redo::Redo;

/// The log's share of the file, as one part of so many.
const SHARE: u32 = 8;

/// Bytes of the log's run, at least and at most.
const RUN_BYTES_MIN: u32 = 1 << 20;
const RUN_BYTES_MAX: u32 = 32 << 20;

/// What a write begins and ends at a multiple of.
const BLOCK_BYTES: usize = 4096;

/// Zeros that are written at a time.
const ZERO_BYTES: u64 = 1 << 20;

/// Where the log lies; no pages: there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogPlace {
    pub pid: PageId,
    pub pages: u32,
    /// Tells its frames from what users have written.
    pub salt: u64,
}

impl LogPlace {
    pub fn extent(self) -> Option<Extent> {
        (self.pages > 0).then_some(Extent { start: self.pid, pages: self.pages })
    }
}

/// The pages that a file of `page_count` pages gives its log.
fn pages_wanted(page_count: u32, page_size: u32) -> u32 {
    (page_count / SHARE).clamp(RUN_BYTES_MIN / page_size, RUN_BYTES_MAX / page_size)
}

/// The next multiple of 8.
fn padded(len: usize) -> usize {
    len.next_multiple_of(8)
}

/// The log of an open file.
pub(crate) struct Log {
    file: File,
    syncs: Syncs,
    page_size: usize,
    is_wanted: bool,
    durability: Durability,
    state: Mutex<State>,
}

struct State {
    place: LogPlace,
    next: FrameId,
    /// Of the last commit or checkpoint.
    time: u64,
    /// Whether frames have times: not in files of version 3.
    has_times: bool,
    /// Bytes of the run that frames take.
    end: usize,
    /// The bytes before `end` in its block.
    tail: Vec<u8>,
    is_appending: bool,
}

impl State {
    fn at(place: LogPlace, checkpoint: u64, time: u64) -> State {
        let next = FrameId::first(checkpoint);
        State { place, next, time, has_times: true, end: 0, tail: vec![], is_appending: false }
    }

    /// The time of the next commit or checkpoint: later than those before, also when the clock is not.
    fn tick(&mut self) -> u64 {
        self.time = (runtime::time::unix_us().max(0) as u64).max(self.time + 1);
        self.time
    }
}

/// What the log of a checkpoint begins with.
pub(crate) struct Begun {
    pub place: LogPlace,
    /// The frame that was written, and what comes behind it.
    first: Option<(FrameId, Vec<u8>)>,
}

impl Begun {
    /// With nothing.
    pub fn empty(place: LogPlace) -> Begun {
        Begun { place, first: None }
    }

    /// How many frames that are.
    pub fn frames(&self) -> u32 {
        self.first.iter().len() as u32
    }

    /// Their bytes.
    pub fn bytes(&self) -> &[u8] {
        self.first.as_ref().map_or(&[], |(_, bytes)| bytes)
    }
}

/// A frame on its way: where its write begins, its bytes, and what the log is then.
struct Appending {
    offset: u64,
    image: IoBuf,
    /// Where the frame lies in the image.
    frame: Range<usize>,
    next: FrameId,
    end: usize,
    tail: Vec<u8>,
}

/// A frame that is durable.
pub(crate) struct Appended {
    image: IoBuf,
    frame: Range<usize>,
}

impl Appended {
    pub fn bytes(&self) -> &[u8] {
        &self.image.as_slice()[self.frame.clone()]
    }
}

fn check_synced(synced: io::Result<()>) -> Result<()> {
    match synced {
        Err(error) if !planted::is("sync-error-ignored") => {
            Err(StorageError::io("sync the log", &error))
        }
        _ => Ok(()),
    }
}

impl Log {
    /// The empty log of a file; one that has none gets one only if it `is_wanted`.
    pub fn new(
        file: File,
        syncs: Syncs,
        is_wanted: bool,
        durability: Durability,
        header: &Header,
    ) -> Log {
        let has_times = header.version >= VERSION_WITH_TIMES;
        let state = State::at(header.log, header.checkpoint, header.time);
        let state = Mutex::new(State { has_times, ..state });
        let page_size = header.page_size as usize;
        Log { file, syncs, page_size, is_wanted, durability, state }
    }

    /// The pages of the run that the file should have, when that is longer than the one which it has, or
    /// when the log is to begin with `first`: the run that there is belongs to the last checkpoint.
    pub fn pages_wanted(&self, header: &Header, first: &Redo) -> Option<u32> {
        let wanted = pages_wanted(header.page_count, header.page_size);
        if !first.is_empty() {
            let taken = (FRAME_HEADER_BYTES + first.len()).div_ceil(self.page_size) as u32;
            // Else it would be time for the next checkpoint at once.
            return Some(wanted.max(header.log.pages).max(taken.saturating_mul(4)));
        }
        let is_long_enough = wanted < header.log.pages.saturating_mul(2).max(1);
        (self.is_wanted && !is_long_enough).then_some(wanted)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("log")
    }

    /// Begins anew: the checkpoint is durable.
    pub fn restart(&self, begun: Begun, checkpoint: u64) {
        let mut state = self.state();
        assert!(!state.is_appending, "nothing is logged during a checkpoint");
        assert!(checkpoint > state.next.checkpoint, "checkpoints follow each other");
        *state = State::at(begun.place, checkpoint, state.time);
        if let Some((next, bytes)) = begun.first {
            let tail = bytes[bytes.len() / BLOCK_BYTES * BLOCK_BYTES..].to_vec();
            (state.next, state.end, state.tail) = (next, bytes.len(), tail);
        }
    }

    /// The time of the next checkpoint.
    pub fn tick(&self) -> u64 {
        self.state().tick()
    }

    /// Something was committed at that time.
    pub fn note_time(&self, time: u64) {
        let mut state = self.state();
        state.time = state.time.max(time);
    }

    /// Which frame comes next, and when the last commit was.
    pub fn position(&self) -> (FrameId, u64) {
        let state = self.state();
        (state.next, state.time)
    }

    /// Whether nothing was logged since the last checkpoint.
    pub fn is_empty(&self) -> bool {
        self.state().end == 0
    }

    /// Bytes that are logged, and bytes that the run has.
    pub fn usage(&self) -> (usize, usize) {
        let state = self.state();
        (state.end, state.place.pages as usize * self.page_size)
    }

    /// Bytes of changes that one more frame may have.
    pub fn room(&self) -> usize {
        let (end, capacity) = self.usage();
        capacity.saturating_sub(end + FRAME_HEADER_BYTES + 8)
    }

    /// Writes a frame and syncs it.
    ///
    /// # Errors
    /// `Io`. The file may hold the frame or not: only opening it again can tell.
    ///
    /// # Panics
    /// Without room for it, or while another one is written.
    pub async fn append(&self, redo: &Redo) -> Result<Appended> {
        let Appending { offset, image, frame, next, end, tail } = self.begin(redo);
        let image = match self.durability {
            Durability::Linked | Durability::Flag if !planted::is("log-not-synced") => {
                let (written, image) = self.syncs.write(image, offset, self.durability).await;
                check_synced(written)?;
                image
            }
            _ => {
                let (written, image) = self.file.write_all_at(image, offset).await;
                written.map_err(|error| StorageError::io("write the log", &error))?;
                self.sync().await?;
                image
            }
        };
        let mut state = self.state();
        (state.next, state.end, state.tail, state.is_appending) = (next, end, tail, false);
        Ok(Appended { image, frame })
    }

    async fn sync(&self) -> Result<()> {
        match planted::is("log-not-synced") {
            true => Ok(()),
            false => check_synced(self.syncs.sync().await),
        }
    }

    fn begin(&self, redo: &Redo) -> Appending {
        assert!(redo.len() <= self.room(), "{} bytes do not fit the log", redo.len());
        let mut state = self.state();
        assert!(!state.is_appending, "frames are written one after another");
        state.is_appending = true;
        let mut bytes = state.tail.clone();
        if planted::is("block-begins-anew") {
            bytes.clear();
        }
        let time = if state.has_times { state.tick() } else { 0 };
        let from = bytes.len();
        let sum = frame::write(&mut bytes, state.next, time, state.place.salt, redo.bytes());
        let frame = from..bytes.len();
        let begin = state.end - state.tail.len();
        let end = begin + bytes.len();
        let tail = bytes[bytes.len() / BLOCK_BYTES * BLOCK_BYTES..].to_vec();
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        let offset = u64::from(state.place.pid) * self.page_size as u64 + begin as u64;
        let next = state.next.next(sum);
        Appending { offset, image: IoBuf::copy_of(&bytes), frame, next, end, tail }
    }

    /// Makes a run ready that no header names yet: zeros, if it `is_new`, and the first frame, if there is
    /// one. It becomes durable with the next sync. What lies in a run that was a log before has another salt.
    ///
    /// # Errors
    /// `Io`.
    pub async fn prepare(
        &self,
        (place, is_new): (LogPlace, bool),
        checkpoint: u64,
        first: &Redo,
    ) -> Result<Begun> {
        let offset = u64::from(place.pid) * self.page_size as u64;
        if is_new {
            self.clear(offset, u64::from(place.pages) * self.page_size as u64).await?;
        }
        if first.is_empty() {
            return Ok(Begun::empty(place));
        }
        let (mut bytes, id) = (vec![], FrameId::first(checkpoint));
        let sum = frame::write(&mut bytes, id, self.tick(), place.salt, first.bytes());
        let end = bytes.len();
        bytes.resize(end.next_multiple_of(BLOCK_BYTES), 0);
        let written = self.file.write_all_at(IoBuf::copy_of(&bytes), offset).await.0;
        written.map_err(|error| StorageError::io("write the log", &error))?;
        bytes.truncate(end);
        Ok(Begun { place, first: Some((id.next(sum), bytes)) })
    }

    async fn clear(&self, mut offset: u64, bytes: u64) -> Result<()> {
        let end = offset + bytes;
        while offset < end {
            let len = ZERO_BYTES.min(end - offset);
            let zeros = IoBuf::alloc(len as usize);
            let written = self.file.write_all_at(zeros, offset).await.0;
            written.map_err(|error| StorageError::io("clear the log", &error))?;
            offset += len;
        }
        Ok(())
    }
}
