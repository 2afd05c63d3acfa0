//! Writing to the archive: frames as they come, pages when a checkpoint settles.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use runtime::IoBuf;
use runtime::fs::{self, File, OpenOptions};

use super::changed::changed;
use super::record::{Kind, RECORD_PAGES_MAX, SegmentId, encode};
use super::run::{Run, read_run, runs};
use super::segment::Begin;
use super::{ATTEMPTS_MAX, Archive, Line, PAUSE, State, Waiting, failed, sync_folder};
use crate::directory::Directory;
use crate::error::{Result, StorageError};
use crate::header::{DoubleWrite, Header};
use crate::log::frame::read as read_frame;
use crate::page::PageId;
use crate::places::Entry;
use crate::volume::Volume;

/// A checkpoint of a file, settled but for its header.
#[derive(Clone, Copy)]
pub(crate) struct Settled<'a> {
    pub file: &'a Volume,
    pub header: &'a Header,
    pub directory: &'a Arc<Directory>,
    /// Pages that lay in its double-write buffer, or that lie elsewhere than in the checkpoint
    /// before.
    pub double_written: &'a [PageId],
    /// Where its pages lie, if that is not where their numbers say.
    pub places: Option<&'a dyn Fn(PageId) -> Entry>,
}

impl Archive {
    /// The frames behind a checkpoint begin, with these; those before are archived or given up.
    pub fn begin(&self, checkpoint: u64, frames: &[u8]) {
        let bytes = frames.to_vec();
        self.state().waiting = Waiting { checkpoint, bytes, is_whole: true };
    }

    /// Takes a frame that is durable in the log.
    pub fn push(self: &Arc<Archive>, frame: &[u8]) {
        {
            let mut state = self.state();
            if !state.waiting.is_whole {
                return;
            }
            state.waiting.bytes.extend_from_slice(frame);
        }
        self.tend();
    }

    /// Has a task write what waits, unless one does.
    fn tend(self: &Arc<Archive>) {
        {
            let mut state = self.state();
            if state.is_tended || !state.has_work() {
                return;
            }
            state.is_tended = true;
        }
        let archive = Arc::clone(self);
        drop(runtime::spawn(async move {
            loop {
                let flushed = archive.flush().await;
                match flushed {
                    Err(_) => runtime::time::sleep(PAUSE).await,
                    Ok(()) if archive.rests() => return,
                    Ok(()) => {}
                }
            }
        }));
    }

    /// Whether nothing is left for the task that tends it, which has ended then.
    fn rests(&self) -> bool {
        let mut state = self.state();
        state.is_tended = state.has_work();
        !state.is_tended
    }

    /// Writes the frames that wait, and syncs them.
    ///
    /// # Errors
    /// `Io`; they wait on.
    pub async fn flush(&self) -> Result<()> {
        let _turn = self.turn.acquire().await;
        self.flush_here().await
    }

    /// The caller has the turn.
    async fn flush_here(&self) -> Result<()> {
        loop {
            let taken = self.state().take_waiting();
            let Some((line, frames)) = taken else { return Ok(()) };
            match line.with_frames(&frames).await {
                Ok((line, written)) => {
                    let mut state = self.state();
                    state.written_bytes += written;
                    // It may have been given up.
                    state.line = state.line.take().map(|_| line);
                }
                Err(error) => {
                    self.state().put_back(frames);
                    self.note_failure(&error);
                    return Err(error);
                }
            }
            self.note_success();
        }
    }

    /// A checkpoint is about to be published: the line has all frames before it, or ends. The line, or 0.
    pub async fn finish(&self) -> u64 {
        let _turn = self.turn.acquire().await;
        if let Err(error) = self.flush_here().await {
            self.give_up(&error);
        }
        self.line()
    }

    /// The line, or 0.
    pub fn line(&self) -> u64 {
        self.state().line.as_ref().map_or(0, |line| line.id)
    }

    /// Takes what a checkpoint has changed, or begins a line with it. The line that the header is to name; 0
    /// when it cannot be written.
    pub async fn take(self: &Arc<Archive>, settled: Settled<'_>) -> u64 {
        let turn = self.turn.acquire().await;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let before = self.state().line.clone();
            match self.written(settled, before.as_ref()).await {
                Ok((line, written)) => {
                    let checkpoint = line.checkpoint;
                    {
                        let mut state = self.state();
                        state.lines += u64::from(before.is_none());
                        state.written_bytes += written;
                        state.line = Some(line);
                    }
                    self.note_success();
                    if before.is_none() {
                        self.tell_of_line(checkpoint);
                    }
                    break;
                }
                Err(error) => {
                    self.note_failure(&error);
                    // Without a line nothing is to be saved by waiting: the next checkpoint tries again.
                    if attempt == ATTEMPTS_MAX || before.is_none() {
                        self.give_up(&error);
                        return 0;
                    }
                    runtime::time::sleep(PAUSE).await;
                }
            }
        }
        drop(turn);
        self.tend();
        self.line()
    }

    /// Writes the segment of a checkpoint; the line with it, and the bytes written.
    async fn written(&self, settled: Settled<'_>, before: Option<&Line>) -> Result<(Line, u64)> {
        let Settled { file, header, directory, double_written, places } = settled;
        let line = match before {
            Some(line) => line.id,
            None => u64::from_le_bytes(runtime::entropy()).max(1),
        };
        let header =
            Header { archive: line, double_write: DoubleWrite::default(), ..header.clone() };
        let pages = before.map_or(vec![], |line| {
            assert_eq!(line.checkpoint + 1, header.checkpoint, "no checkpoint is left out");
            changed((&line.directory, line.page_count), (directory, &header), double_written)
        });
        let id = SegmentId { line, checkpoint: header.checkpoint };
        let folder = &self.options.folder;
        let previous = before.map(|line| (line.frames, line.checksum));
        let mut segment = Segment::create(folder, id).await?;
        let begin = Begin { previous, header: header.clone() };
        segment.append(Kind::Begin, &[&begin.encode()]).await?;
        segment.append(Kind::Directory, &[&directory.encode()]).await?;
        let runs = runs(&pages, places);
        let count = runs.iter().map(|run| u64::from(run.pages.pages)).sum();
        segment.append_pages(file, header.page_size as usize, runs).await?;
        let Segment { file: segment, end, .. } = segment.finish(folder, count).await?;
        let line = Line {
            id: line,
            checkpoint: header.checkpoint,
            segment,
            end,
            frames: 0,
            checksum: 0,
            time: header.time,
            place: header.log,
            page_count: header.number_count(),
            directory: Arc::clone(directory),
        };
        Ok((line, end))
    }
}

impl State {
    fn has_work(&self) -> bool {
        let checkpoint = self.waiting.checkpoint;
        let is_open = self.line.as_ref().is_some_and(|line| line.checkpoint == checkpoint);
        is_open && !self.waiting.bytes.is_empty()
    }

    fn take_waiting(&mut self) -> Option<(Line, Vec<u8>)> {
        let line = self.line.clone().filter(|_| self.has_work())?;
        Some((line, std::mem::take(&mut self.waiting.bytes)))
    }

    fn put_back(&mut self, mut frames: Vec<u8>) {
        frames.append(&mut self.waiting.bytes);
        self.waiting.bytes = frames;
    }
}

impl Line {
    /// Writes a record of frames and syncs it; the line then, and the bytes written. A failed attempt is
    /// repeated from its beginning, so nothing counts on what a failed sync has left.
    async fn with_frames(mut self, frames: &[u8]) -> Result<(Line, u64)> {
        let id = SegmentId { line: self.id, checkpoint: self.checkpoint };
        let record = encode(id, Kind::Frames, &[frames]);
        let written = self.segment.write_all_at(IoBuf::copy_of(&record), self.end).await.0;
        written.map_err(failed("write to the archive"))?;
        self.segment.sync_data().await.map_err(failed("sync the archive"))?;
        self.note(frames);
        self.end += record.len() as u64;
        Ok((self, record.len() as u64))
    }

    /// Counts frames that it has.
    pub(super) fn note(&mut self, frames: &[u8]) {
        let mut at = 0;
        while let Some(frame) = read_frame(&frames[at..], &self.place) {
            assert_eq!(frame.id.sequence, u64::from(self.frames), "frames follow each other");
            assert_eq!(frame.id.checkpoint, self.checkpoint, "frames of the segment's checkpoint");
            (self.checksum, self.time) = (frame.checksum, frame.time);
            self.frames += 1;
            at += frame.len;
        }
        assert_eq!(at, frames.len(), "frames as they are in the log");
    }
}

/// A segment that is being written.
struct Segment {
    id: SegmentId,
    file: File,
    end: u64,
}

impl Segment {
    /// Under its name for what is unfinished. One that an earlier attempt has left is replaced.
    async fn create(folder: &Path, id: SegmentId) -> Result<Segment> {
        let path = id.unfinished_path(folder);
        let action = "make a segment of the archive";
        if fs::exists(&path).await.map_err(failed(action))? {
            fs::remove(&path).await.map_err(failed(action))?;
        }
        let options = OpenOptions {
            read: false,
            write: true,
            create: false,
            create_new: true,
            direct: false,
            lock: true,
            overlay: None,
        };
        let file = File::open(&path, options).await.map_err(failed(action))?;
        Ok(Segment { id, file, end: 0 })
    }

    async fn append(&mut self, kind: Kind, content: &[&[u8]]) -> Result<()> {
        let record = encode(self.id, kind, content);
        let written = self.file.write_all_at(IoBuf::copy_of(&record), self.end).await.0;
        written.map_err(failed("write to the archive"))?;
        self.end += record.len() as u64;
        Ok(())
    }

    /// Copies pages of a file.
    async fn append_pages(
        &mut self,
        file: &Volume,
        page_size: usize,
        mut runs: VecDeque<Run>,
    ) -> Result<()> {
        while !runs.is_empty() {
            let mut count = 0;
            let mut is_in = |run: &Run| {
                count += run.pages.pages;
                count <= RECORD_PAGES_MAX
            };
            let taken = runs.iter().take_while(|run| is_in(run)).count();
            let reads: Vec<_> = runs
                .drain(..taken)
                .map(|run| {
                    let file = file.clone();
                    runtime::spawn(async move { read_run(&file, page_size, run).await })
                })
                .collect();
            let mut images = vec![];
            for read in reads {
                images.push(read.await.unwrap_or(Err(StorageError::Stopped))?);
            }
            let images: Vec<&[u8]> = images.iter().map(IoBuf::as_slice).collect();
            self.append(Kind::Pages, &images).await?;
        }
        Ok(())
    }

    /// All pages are in it: it gets its name.
    async fn finish(mut self, folder: &Path, count: u64) -> Result<Segment> {
        self.append(Kind::Whole, &[&count.to_le_bytes()]).await?;
        self.file.sync_data().await.map_err(failed("sync the archive"))?;
        let (from, to) = (self.id.unfinished_path(folder), self.id.path(folder));
        fs::rename(from, to).await.map_err(failed("name a segment of the archive"))?;
        sync_folder(folder).await?;
        Ok(self)
    }
}
