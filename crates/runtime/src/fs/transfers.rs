//! Operations on files.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use super::durability::Durability;
use super::file::{File, Overlay};
use super::options::{OpenOptions, Scratch};
use super::overlay::Written;
use crate::buf::IoBuf;
use crate::lock::lock;
use crate::op::{Answer, Bufs, Meta, Op, Spans, Transfer};
use crate::pending::{Pending, begin};
use crate::sync::semaphore::Semaphore;

/// Most pieces of memory in one vectored request (the kernel's IOV_MAX).
pub const VECTOR_COUNT_MAX: usize = 1024;

impl File {
    /// Opens a file. Errors are the system's.
    pub async fn open(path: impl AsRef<Path>, options: OpenOptions) -> io::Result<File> {
        if let Some(scratch) = options.overlay {
            return open_overlaid(path.as_ref(), options, scratch).await;
        }
        match meta(Meta::Open(path.as_ref().to_owned(), options)).await? {
            Answer::File(file) => Ok(file),
            _ => unreachable!("open answers with a file"),
        }
    }

    fn transfer(&self, bufs: Bufs, from: usize, offset: u64) -> Transfer {
        Transfer { file: self.clone(), bufs, from, offset, durability: Durability::None }
    }

    /// Has a file with an overlay keep these bytes as they are: somebody else is about to write
    /// them past it.
    ///
    /// # Errors
    /// The system's; the bytes are not to be written then.
    pub async fn keep(&self, offset: u64, len: u64) -> io::Result<()> {
        let overlay = self.overlay().expect("only a file with an overlay keeps bytes");
        let _turn = overlay.turn.acquire().await;
        let end = (offset + len).min(lock(&overlay.written).len);
        let mut at = offset;
        while at < end {
            let piece = lock(&overlay.written).piece(at, end - at);
            if !piece.is_written {
                keep_piece(self, overlay, (at, piece.len)).await?;
            }
            at += piece.len;
        }
        Ok(())
    }

    /// Has a file with an overlay read nothing more of what lies below that: others write it from
    /// now on, and keep nothing for it. Such reads fail.
    pub fn seal(&self) {
        let overlay = self.overlay().expect("only a file with an overlay is sealed");
        overlay.is_sealed.store(true, Ordering::Release);
    }

    /// Reads at `offset` into `buf`: at most its length, 0 bytes only at the end of the file.
    pub fn read_at(&self, buf: IoBuf, offset: u64) -> OneTransfer {
        assert!(self.overlay().is_none(), "a file with an overlay is read by the exact forms");
        OneTransfer(begin(Op::Read(self.transfer(Bufs::One(buf), 0, offset))))
    }

    /// Writes the bytes of `buf` at `offset`, perhaps only the first of them.
    pub fn write_at(&self, buf: IoBuf, offset: u64) -> OneTransfer {
        assert!(self.overlay().is_none(), "a file with an overlay is written by the exact forms");
        OneTransfer(begin(Op::Write(self.transfer(Bufs::One(buf), 0, offset))))
    }

    /// Fills the whole of `buf`; an end of the file before that is `UnexpectedEof`.
    pub async fn read_exact_at(&self, buf: IoBuf, offset: u64) -> (io::Result<()>, IoBuf) {
        let transfer = self.transfer(Bufs::One(buf), 0, offset);
        let (result, bufs) = whole(transfer, false).await;
        (result, one(bufs))
    }

    /// Writes the whole of `buf`.
    pub async fn write_all_at(&self, buf: IoBuf, offset: u64) -> (io::Result<()>, IoBuf) {
        let transfer = self.transfer(Bufs::One(buf), 0, offset);
        let (result, bufs) = whole(transfer, true).await;
        (result, one(bufs))
    }

    /// Writes the whole of `buf`, which is to be synced next, and somebody waits for that.
    pub async fn write_to_sync_at(&self, buf: IoBuf, offset: u64) -> (io::Result<()>, IoBuf) {
        let transfer = self.transfer(Bufs::One(buf), 0, offset);
        let (result, bufs) =
            whole(Transfer { durability: Durability::Sync, ..transfer }, true).await;
        (result, one(bufs))
    }

    /// Writes the whole of `buf`, which is durable then in the way that is asked for. After an error nothing
    /// is known of any earlier write, as after one of [`File::sync_data`].
    pub async fn write_durable_at(
        &self,
        buf: IoBuf,
        offset: u64,
        durability: Durability,
    ) -> (io::Result<()>, IoBuf) {
        let is_synced = durability == Durability::Sync;
        let transfer = Transfer { durability, ..self.transfer(Bufs::One(buf), 0, offset) };
        let (written, bufs) = whole(transfer, true).await;
        let result = match written {
            Ok(()) if is_synced => self.sync_data().await,
            written => written,
        };
        (result, one(bufs))
    }

    /// Reads at `offset` into several buffers, in one request. At most [`VECTOR_COUNT_MAX`].
    pub fn read_vectored_at(&self, bufs: Vec<IoBuf>, offset: u64) -> ManyTransfer {
        assert!(self.overlay().is_none(), "a file with an overlay is read by the exact forms");
        ManyTransfer(begin(Op::Read(self.transfer(many(bufs), 0, offset))))
    }

    /// Fills several buffers; an end of the file before that is `UnexpectedEof`.
    pub async fn read_vectored_exact_at(
        &self,
        bufs: Vec<IoBuf>,
        offset: u64,
    ) -> (io::Result<()>, Vec<IoBuf>) {
        let (result, bufs) = whole(self.transfer(many(bufs), 0, offset), false).await;
        (result, several(bufs))
    }

    /// Writes the whole of several buffers, one after the other, at `offset`.
    pub async fn write_vectored_all_at(
        &self,
        bufs: Vec<IoBuf>,
        offset: u64,
    ) -> (io::Result<()>, Vec<IoBuf>) {
        let (result, bufs) = whole(self.transfer(many(bufs), 0, offset), true).await;
        (result, several(bufs))
    }

    /// Makes the written bytes (and the length) durable. After an error nothing is known of any
    /// earlier write: never retry, recover.
    pub async fn sync_data(&self) -> io::Result<()> {
        if self.overlay().is_some() {
            return Ok(());
        }
        begin(Op::SyncData(self.clone())).await.0.into_count().map(drop)
    }

    /// The length in bytes.
    pub async fn len(&self) -> io::Result<u64> {
        if let Some(overlay) = self.overlay() {
            return Ok(lock(&overlay.written).len);
        }
        match meta(Meta::Len(self.clone())).await? {
            Answer::Len(len) => Ok(len),
            _ => unreachable!("len answers with a length"),
        }
    }

    /// Cuts or extends the file; new bytes read as zero.
    pub async fn set_len(&self, len: u64) -> io::Result<()> {
        if let Some(overlay) = self.overlay() {
            return set_len_overlaid(overlay, len).await;
        }
        meta(Meta::SetLen(self.clone(), len)).await.map(drop)
    }

    /// Reserves space and extends the file to `offset + len` at least.
    pub async fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        if let Some(overlay) = self.overlay() {
            let end = offset + len;
            let is_longer = end > lock(&overlay.written).len;
            return if is_longer { set_len_overlaid(overlay, end).await } else { Ok(()) };
        }
        meta(Meta::Allocate(self.clone(), offset, len)).await.map(drop)
    }

    /// Gives the space of these bytes back to the file system: they read as zeros then, and the
    /// length stays. False, and nothing has changed, where the file system cannot take it.
    pub async fn give_back(&self, offset: u64, len: u64) -> io::Result<bool> {
        if self.overlay().is_some() {
            return Ok(false);
        }
        match meta(Meta::GiveBack(self.clone(), offset, len)).await? {
            Answer::Bool(done) => Ok(done),
            _ => unreachable!("whether it was done is the answer"),
        }
    }
}

/// A read or write of one buffer under way. Dropping it leaves the operation to itself: the
/// buffer is freed at its completion.
#[must_use = "the result says how much was moved"]
pub struct OneTransfer(Pending);

impl Future for OneTransfer {
    type Output = (io::Result<usize>, IoBuf);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|(outcome, op)| (outcome.into_count(), one(transfer_of(op).bufs)))
    }
}

/// A read into several buffers under way; like [`OneTransfer`].
#[must_use = "the result says how much was moved"]
pub struct ManyTransfer(Pending);

impl Future for ManyTransfer {
    type Output = (io::Result<usize>, Vec<IoBuf>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|(outcome, op)| (outcome.into_count(), several(transfer_of(op).bufs)))
    }
}

pub(super) async fn meta(meta: Meta) -> io::Result<Answer> {
    begin(Op::Meta(meta)).await.0.into_answer()
}

fn many(bufs: Vec<IoBuf>) -> Bufs {
    assert!(bufs.len() <= VECTOR_COUNT_MAX, "too many buffers in one request");
    Bufs::Many { bufs, spans: Spans::default() }
}

fn one(bufs: Bufs) -> IoBuf {
    match bufs {
        Bufs::One(buf) => buf,
        Bufs::Many { .. } => unreachable!("a transfer keeps its kind of buffers"),
    }
}

fn several(bufs: Bufs) -> Vec<IoBuf> {
    match bufs {
        Bufs::Many { bufs, .. } => bufs,
        Bufs::One(_) => unreachable!("a transfer keeps its kind of buffers"),
    }
}

fn transfer_of(op: Op) -> Transfer {
    match op {
        Op::Read(transfer) | Op::Write(transfer) => transfer,
        _ => unreachable!("a transfer stays one"),
    }
}

async fn whole(transfer: Transfer, write: bool) -> (io::Result<()>, Bufs) {
    match transfer.file.overlay() {
        None => to_its_end(transfer, write).await,
        // Rare, and no part of the frames of those that read and write files as they are.
        Some(_) => Box::pin(whole_overlaid(transfer, write)).await,
    }
}

/// Repeats a transfer until it is whole: short ones are legal and continued.
async fn to_its_end(mut transfer: Transfer, write: bool) -> (io::Result<()>, Bufs) {
    loop {
        let left = transfer.len();
        if left == 0 {
            return (Ok(()), transfer.bufs);
        }
        let op = if write { Op::Write(transfer) } else { Op::Read(transfer) };
        let (outcome, op) = begin(op).await;
        transfer = transfer_of(op);
        match outcome.into_count() {
            Err(error) => return (Err(error), transfer.bufs),
            Ok(0) => return (Err(nothing_moved(write)), transfer.bufs),
            Ok(count) => {
                assert!(count <= left, "a transfer moves no more than was asked for");
                transfer.from += count;
                transfer.offset += count as u64;
            }
        }
    }
}

fn nothing_moved(write: bool) -> io::Error {
    io::Error::from(if write { io::ErrorKind::WriteZero } else { io::ErrorKind::UnexpectedEof })
}

/// Opens a file only to read it, with an overlay for what is written.
async fn open_overlaid(path: &Path, options: OpenOptions, scratch: Scratch) -> io::Result<File> {
    let only_read = OpenOptions { write: false, overlay: None, ..options };
    let file = Box::pin(File::open(path, only_read)).await?;
    let written = Mutex::new(Written::new(file.len().await?));
    let name = scratch_name(path, scratch);
    let writable =
        OpenOptions { read: true, write: true, create_new: true, ..OpenOptions::default() };
    let scratch = Box::pin(File::open(&name, writable)).await?;
    meta(Meta::Remove(name)).await?;
    let (turn, is_sealed) = (Semaphore::new(1), AtomicBool::new(false));
    file.lay_over(Overlay { scratch, written, turn, is_sealed });
    Ok(file)
}

/// A name that no other process and no other file of this one has, while that has it.
fn scratch_name(path: &Path, scratch: Scratch) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("overlay-{}-{count}", std::process::id());
    match scratch {
        Scratch::Temporary => std::env::temp_dir().join(name),
        Scratch::Beside => path.with_added_extension(name),
    }
}

fn sealed() -> io::Error {
    io::Error::other("the state of the file that was opened is gone")
}

async fn keep_piece(file: &File, overlay: &Overlay, (at, len): (u64, u64)) -> io::Result<()> {
    let bufs = Bufs::One(IoBuf::alloc(len as usize));
    let (read, bufs) = to_its_end(file.transfer(bufs, 0, at), false).await;
    read?;
    let kept = overlay.scratch.transfer(bufs, 0, at);
    to_its_end(kept, true).await.0?;
    lock(&overlay.written).note_kept(at, at + len);
    Ok(())
}

async fn set_len_overlaid(overlay: &Overlay, len: u64) -> io::Result<()> {
    meta(Meta::SetLen(overlay.scratch.clone(), len)).await?;
    lock(&overlay.written).set_len(len);
    Ok(())
}

/// A transfer of a file with an overlay, from one to its end.
async fn whole_overlaid(mut transfer: Transfer, write: bool) -> (io::Result<()>, Bufs) {
    let file = transfer.file.clone();
    let overlay = file.overlay().expect("only a file with an overlay comes here");
    if write {
        // Nobody keeps what the file has there meanwhile, in the place of what is written.
        let _turn = overlay.turn.acquire().await;
        let (start, end) = (transfer.offset, transfer.offset + transfer.len() as u64);
        let scratch = overlay.scratch.clone();
        let transfer = Transfer { file: scratch, durability: Durability::None, ..transfer };
        let (written, bufs) = to_its_end(transfer, true).await;
        if written.is_ok() {
            lock(&overlay.written).note(start, end);
        }
        return (written, bufs);
    }
    loop {
        let (from, offset, left) = (transfer.from, transfer.offset, transfer.len() as u64);
        let piece = lock(&overlay.written).piece(offset, left);
        let source = if piece.is_written { &overlay.scratch } else { &file };
        if piece.len == left {
            let (read, bufs) =
                to_its_end(Transfer { file: source.clone(), ..transfer }, false).await;
            if piece.is_written {
                return (read, bufs);
            }
            if overlay.is_sealed.load(Ordering::Acquire) {
                return (Err(sealed()), bufs);
            }
            if lock(&overlay.written).is_apart(offset, left) {
                return (read, bufs);
            }
            // Somebody was about to write to the file meanwhile, and has kept what it had.
            transfer = file.transfer(bufs, from, offset);
            continue;
        }
        let bufs = Bufs::One(IoBuf::alloc(piece.len as usize));
        let durability = Durability::None;
        let part = Transfer { file: source.clone(), bufs, from: 0, offset, durability };
        let (read, bufs) = to_its_end(part, false).await;
        if !piece.is_written && !lock(&overlay.written).is_apart(offset, piece.len) {
            continue;
        }
        let read = match overlay.is_sealed.load(Ordering::Acquire) && !piece.is_written {
            true => Err(sealed()),
            false => read,
        };
        if read.is_err() {
            return (read, transfer.bufs);
        }
        let count = transfer.fill(one(bufs).as_slice());
        transfer.from += count;
        transfer.offset += count as u64;
    }
}
