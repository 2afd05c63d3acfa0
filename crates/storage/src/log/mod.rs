//! The log: what is durable before the next checkpoint (`docs/format/log.md`).

pub(crate) mod frame;
pub(crate) mod place;
pub(crate) mod recover;
pub(crate) mod redo;

use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use runtime::IoBuf;
use runtime::fs::Durability;

use crate::error::{Result, StorageError};
use crate::header::{Header, VERSION_WITH_TIMES};
use crate::log::frame::FrameId;
use crate::log::place::LogPlace;
use crate::log::redo::Redo;
use crate::planted;
use crate::syncs::Syncs;
use crate::volume::Volume;

use frame::FRAME_HEADER_BYTES;

/// The log's share of the file, as one part of so many.
const SHARE: u32 = 8;

/// Bytes of the log's run, at least and at most.
const RUN_BYTES_MIN: u32 = 1 << 20;
const RUN_BYTES_MAX: u32 = 32 << 20;

/// What a write begins and ends at a multiple of.
const BLOCK_BYTES: usize = 4096;

/// Zeros that are written at a time.
const ZERO_BYTES: u64 = 1 << 20;

/// Pages of the shortest run, for frames behind what it begins with: some commits of single rows.
const SHORT_RUN_PAGES: u32 = 16;

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
    file: Volume,
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
    fn at(place: LogPlace, next: FrameId, time: u64) -> State {
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
    /// Checksum of the frame that its first one follows, or 0.
    pub previous: u32,
    /// The frame that comes next.
    next: FrameId,
    /// The frame that was written.
    bytes: Vec<u8>,
}

impl Begun {
    /// With nothing, but this frame comes next.
    fn empty(place: LogPlace, next: FrameId) -> Begun {
        Begun { place, previous: next.previous, next, bytes: vec![] }
    }

    /// With nothing, of a checkpoint that the frames before do not go on behind.
    pub fn anew(place: LogPlace, checkpoint: u64) -> Begun {
        Begun::empty(place, FrameId::first(checkpoint, 0))
    }

    /// How many frames that are.
    pub fn frames(&self) -> u32 {
        u32::from(!self.bytes.is_empty())
    }

    /// Their bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What the first frame of a run has.
#[derive(Clone, Copy)]
pub(crate) struct First<'a> {
    /// What entries were that transactions in flight have changed.
    pub replaced: &'a Redo,
    /// What is committed with it.
    pub changes: &'a Redo,
}

impl First<'_> {
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.changes.is_empty()
    }

    /// Bytes of the frame, at most.
    fn len(&self) -> usize {
        FRAME_HEADER_BYTES + 4 + self.replaced.len() + self.changes.len()
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
        file: Volume,
        syncs: Syncs,
        is_wanted: bool,
        durability: Durability,
        header: &Header,
    ) -> Log {
        let has_times = header.version >= VERSION_WITH_TIMES;
        let state = State::at(header.log, FrameId::first_of(header), header.time);
        let state = Mutex::new(State { has_times, ..state });
        let page_size = header.page_size as usize;
        Log { file, syncs, page_size, is_wanted, durability, state }
    }

    /// The pages of the run that the file should have, when that is longer than the one which it has, or
    /// when the log is to begin with `first`: the run that there is belongs to the last checkpoint.
    pub fn pages_wanted(&self, header: &Header, first: &Redo) -> Option<u32> {
        if first.is_empty() {
            return self.longer_run_wanted(header);
        }
        let wanted = pages_wanted(header.page_count, header.page_size).max(header.log.pages);
        Some(wanted.max(self.pages_for(FRAME_HEADER_BYTES + 4 + first.len())))
    }

    /// The pages of the run that the file should have, when that is longer than the one which it has.
    fn longer_run_wanted(&self, header: &Header) -> Option<u32> {
        let wanted = pages_wanted(header.page_count, header.page_size);
        let is_long_enough = wanted < header.log.pages.saturating_mul(2).max(1);
        (self.is_wanted && !is_long_enough).then_some(wanted)
    }

    /// The pages of a run that begins with so many bytes. Else it would be time for the next checkpoint at once.
    fn pages_for(&self, bytes: usize) -> u32 {
        (bytes.div_ceil(self.page_size) as u32).saturating_mul(4)
    }

    /// The pages of a run that begins with `first` where there is no space for what it should have:
    /// the next checkpoint comes soon then.
    pub fn pages_needed(&self, first: &Redo) -> u32 {
        (FRAME_HEADER_BYTES + 4 + first.len()).div_ceil(self.page_size) as u32 + SHORT_RUN_PAGES
    }

    /// The pages that the next run should have of a file which has a log.
    pub fn next_pages_wanted(&self, header: &Header) -> Option<u32> {
        let wanted = self.longer_run_wanted(header).unwrap_or(header.log.pages);
        (header.log.pages > 0).then_some(wanted.max(header.log.pages))
    }

    /// Whether the log of the next checkpoint may lie in the run that the header names for it, and begin with
    /// `first`.
    pub fn can_go_on(&self, header: &Header, first: First<'_>) -> bool {
        let pages = header.next_log.pages;
        let wanted = self.longer_run_wanted(header).unwrap_or(0);
        pages > 0 && pages >= wanted && pages >= self.pages_for(first.len())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("log")
    }

    /// Goes on with frames of this checkpoint: it is durable, or will be before they count without those before.
    pub fn restart(&self, begun: Begun, checkpoint: u64) {
        let mut state = self.state();
        assert!(!state.is_appending, "nothing is logged during a checkpoint");
        assert!(checkpoint > state.next.checkpoint, "checkpoints follow each other");
        let Begun { place, next, bytes, .. } = begun;
        *state = State::at(place, next, state.time);
        state.end = bytes.len();
        state.tail = bytes[bytes.len() / BLOCK_BYTES * BLOCK_BYTES..].to_vec();
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
        let image = self.write_durably(image, offset).await?;
        let mut state = self.state();
        (state.next, state.end, state.tail, state.is_appending) = (next, end, tail, false);
        Ok(Appended { image, frame })
    }

    /// Writes what is durable then.
    async fn write_durably(&self, image: IoBuf, offset: u64) -> Result<IoBuf> {
        match self.durability {
            Durability::Linked | Durability::Flag if !planted::is("log-not-synced") => {
                let (written, image) = self.syncs.write(image, offset, self.durability).await;
                check_synced(written)?;
                Ok(image)
            }
            _ => {
                let (written, image) = self.file.write_to_sync_at(image, offset).await;
                written.map_err(|error| StorageError::io("write the log", &error))?;
                self.sync().await?;
                Ok(image)
            }
        }
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
        assert!(state.place.pages > 0, "the file has no log");
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
        let offset = self.offset(state.place) + begin as u64;
        let next = state.next.next(sum);
        Appending { offset, image: IoBuf::copy_of(&bytes), frame, next, end, tail }
    }

    /// Makes a run ready that no header names yet: zeros, if it `is_new`, and the first frame, if something was
    /// `replaced`. It becomes durable with the next sync. What lies in a run that was a log before has another
    /// salt.
    ///
    /// # Errors
    /// `Io`.
    pub async fn prepare(
        &self,
        (place, is_new): (LogPlace, bool),
        checkpoint: u64,
        replaced: &Redo,
    ) -> Result<Begun> {
        if is_new {
            self.clear(place).await?;
        }
        let first = First { replaced, changes: &Redo::default() };
        let (begun, image) = self.first_frame(place, FrameId::first(checkpoint, 0), first);
        if let Some(image) = image {
            let written = self.file.write_all_at(image, self.offset(place)).await.0;
            written.map_err(|error| StorageError::io("write the log", &error))?;
        }
        Ok(begun)
    }

    /// Writes the first frame of the run in which the log goes on behind the point of the next checkpoint, if
    /// there is something for it; it is durable then.
    ///
    /// # Errors
    /// `Io`. The file may hold the frame or not: only opening it again can tell.
    ///
    /// # Panics
    /// While a frame is written.
    pub async fn go_on(&self, place: LogPlace, first: First<'_>) -> Result<Begun> {
        let last = {
            let state = self.state();
            assert!(!state.is_appending, "frames are written one after another");
            state.next
        };
        let id = FrameId::first(last.checkpoint + 1, last.previous);
        let (begun, image) = self.first_frame(place, id, first);
        if let Some(image) = image {
            self.write_durably(image, self.offset(place)).await?;
        }
        Ok(begun)
    }

    /// The first frame of a run, and what is to be written there, if it is not empty.
    fn first_frame(
        &self,
        place: LogPlace,
        id: FrameId,
        first: First<'_>,
    ) -> (Begun, Option<IoBuf>) {
        if first.is_empty() {
            return (Begun::empty(place, id), None);
        }
        let mut bytes = vec![];
        let parts = (first.replaced.bytes(), first.changes.bytes());
        let sum = frame::write_begin(&mut bytes, id, self.tick(), place.salt, parts);
        let mut image = bytes.clone();
        image.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        let begun = Begun { place, previous: id.previous, next: id.next(sum), bytes };
        (begun, Some(IoBuf::copy_of(&image)))
    }

    fn offset(&self, place: LogPlace) -> u64 {
        u64::from(place.pid) * self.page_size as u64
    }

    /// Fills a run with zeros.
    ///
    /// # Errors
    /// `Io`.
    pub async fn clear(&self, place: LogPlace) -> Result<()> {
        let mut offset = self.offset(place);
        let end = offset + u64::from(place.pages) * self.page_size as u64;
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
