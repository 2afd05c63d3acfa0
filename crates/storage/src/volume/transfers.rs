//! Reads, writes and syncs: a request goes to the members on which its extents lie, in parts that
//! are on their way together.

use std::future::Future;
use std::io;
use std::sync::Arc;

use runtime::IoBuf;
use runtime::fs::Durability;

use super::member::Member;
use super::{Members, State};
use crate::planted;

/// Direction and durability of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
    WriteToSync,
    WriteDurable(Durability),
}

/// Bytes in a row on one member.
struct Run {
    member: Arc<Member>,
    at: u64,
    len: u64,
}

type Moved = (io::Result<()>, Vec<IoBuf>);

impl Members {
    /// Writes one buffer, to its end also when the caller is dropped: nothing is on its way to an
    /// extent that moves.
    pub(super) async fn written(
        self: &Arc<Self>,
        buf: IoBuf,
        offset: u64,
        way: Way,
    ) -> (io::Result<()>, IoBuf) {
        let (result, bufs) = self.written_vectored(vec![buf], offset, way).await;
        (result, one(bufs))
    }

    /// The same with several buffers.
    pub(super) async fn written_vectored(
        self: &Arc<Self>,
        bufs: Vec<IoBuf>,
        offset: u64,
        way: Way,
    ) -> Moved {
        let this = Arc::clone(self);
        let count = bufs.len();
        let writing = runtime::spawn(async move {
            let _shared = this.gate.shared().await;
            match this.check() {
                Ok(()) => this.moved(bufs, offset, way).await,
                Err(error) => (Err(error), bufs),
            }
        });
        writing.await.unwrap_or_else(|_| (Err(stopped()), IoBuf::alloc_many(count, 0)))
    }

    /// Reads bytes into the buffers, which get them one after the other. Extents may move
    /// meanwhile, and their places be given to others: what was read then is read again.
    pub(super) async fn read(&self, mut bufs: Vec<IoBuf>, offset: u64) -> Moved {
        let len: usize = bufs.iter().map(IoBuf::len).sum();
        loop {
            let before = self.state();
            let read = self.moved(bufs, offset, Way::Read).await;
            let after = self.state();
            let is_same = Arc::ptr_eq(&before, &after)
                || self.places(&before, offset, len) == self.places(&after, offset, len);
            if is_same {
                return read;
            }
            bufs = read.1;
        }
    }

    /// The places of bytes, each with the label of its member.
    fn places(&self, state: &State, offset: u64, len: usize) -> Vec<(u64, u32)> {
        let extent_bytes = self.origin.geometry.extent_bytes;
        let extents = offset / extent_bytes..(offset + len as u64).div_ceil(extent_bytes);
        let place = |extent| state.table.extents.get(extent as usize);
        let found = extents.filter_map(place);
        found.map(|place| (state.table.members[place.member].id, place.number)).collect()
    }

    /// Moves the bytes of the buffers, which lie one after the other. Who writes has the gate.
    pub(super) async fn moved(&self, mut bufs: Vec<IoBuf>, offset: u64, way: Way) -> Moved {
        let len: usize = bufs.iter().map(IoBuf::len).sum();
        let mut runs = match self.runs(offset, len as u64) {
            Ok(runs) => runs,
            Err(error) => return (Err(error), bufs),
        };
        if runs.len() == 1 {
            let run = runs.pop().expect("there is one");
            let way = self.way_to(&run.member.file, way);
            return run.member.moved(bufs, run.at, way).await;
        }
        // Few requests cross extents: what they cost is a copy.
        let mut whole = Whole::of(&mut bufs);
        let part = |run: Run| {
            let mut part = IoBuf::alloc(run.len as usize);
            if way != Way::Read {
                whole.take(part.as_mut_slice());
            }
            let way = self.way_to(&run.member.file, way);
            runtime::spawn(async move { run.member.moved(vec![part], run.at, way).await })
        };
        let parts: Vec<_> = runs.into_iter().map(part).collect();
        let (mut result, mut target) = (Ok(()), Whole::of(&mut bufs));
        for part in parts {
            let (moved, part) = part.await.unwrap_or_else(|_| (Err(stopped()), vec![]));
            if way == Way::Read && moved.is_ok() && result.is_ok() {
                target.put(one(part).as_slice());
            }
            result = result.and(moved);
        }
        (result, bufs)
    }

    /// Where bytes lie.
    ///
    /// # Errors
    /// `UnexpectedEof` beyond the end.
    fn runs(&self, offset: u64, len: u64) -> io::Result<Vec<Run>> {
        let (state, extent_bytes) = (self.state(), self.origin.geometry.extent_bytes);
        let end = offset.checked_add(len).filter(|end| *end <= self.bytes());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let (mut runs, mut offset): (Vec<Run>, u64) = (vec![], offset);
        while offset < end || runs.is_empty() {
            let Some(place) = state.table.extents.get((offset / extent_bytes) as usize) else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let within = offset % extent_bytes;
            let (at, len) = (
                self.origin.geometry.offset(place.number) + within,
                (extent_bytes - within).min(end - offset),
            );
            let member = &state.members[place.member];
            let follows =
                |run: &&mut Run| Arc::ptr_eq(&run.member, member) && run.at + run.len == at;
            match runs.last_mut().filter(follows) {
                Some(run) => run.len += len,
                None => runs.push(Run { member: Arc::clone(member), at, len }),
            }
            offset += len;
        }
        Ok(runs)
    }

    /// Makes what was written durable.
    pub(super) async fn sync(self: &Arc<Self>) -> io::Result<()> {
        let this = Arc::clone(self);
        to_its_end(async move {
            let _shared = this.gate.shared().await;
            this.check()?;
            let state = this.state();
            let written = state.members.iter().filter(|member| member.is_written());
            let first_alone = planted::is("volume-others-not-synced");
            let written = written.take(if first_alone { 1 } else { usize::MAX });
            this.or_failed(sync_all(written.cloned()).await)
        })
        .await
    }

    /// Reserves space for bytes, those that there are not yet included.
    pub(super) async fn allocate(self: &Arc<Self>, offset: u64, len: u64) -> io::Result<()> {
        let end = offset.checked_add(len).ok_or(io::ErrorKind::FileTooLarge)?;
        let before = self.bytes();
        let this = Arc::clone(self);
        to_its_end(async move {
            if offset < before {
                let _shared = this.gate.shared().await;
                this.check()?;
                // Stripes of a member lie in a row there: few calls, however many extents.
                for run in by_member(this.runs(offset, end.min(before) - offset)?) {
                    run.member.reserve(run.at, run.len).await?;
                }
            }
            if end > before { this.grow(end).await } else { Ok(()) }
        })
        .await
    }

    /// Gives the space of bytes back.
    pub(super) async fn give_back(self: &Arc<Self>, offset: u64, len: u64) -> io::Result<bool> {
        let this = Arc::clone(self);
        to_its_end(async move {
            let _shared = this.gate.shared().await;
            this.check()?;
            let mut all = true;
            for run in this.runs(offset, len)? {
                all &= run.member.give_back(run.at, run.len).await?;
            }
            Ok(all)
        })
        .await
    }
}

/// Syncs members, together.
pub(super) async fn sync_all(members: impl Iterator<Item = Arc<Member>>) -> io::Result<()> {
    let sync = |member: Arc<Member>| runtime::spawn(async move { member.sync().await });
    let syncs: Vec<_> = members.map(sync).collect();
    let mut result = Ok(());
    for sync in syncs {
        result = result.and(sync.await.unwrap_or_else(|_| Err(stopped())));
    }
    result
}

/// Runs by a task of its own, which goes on when the caller is dropped.
pub(super) async fn to_its_end<T: 'static>(
    work: impl Future<Output = io::Result<T>> + 'static,
) -> io::Result<T> {
    runtime::spawn(work).await.unwrap_or_else(|_| Err(stopped()))
}

pub(super) fn stopped() -> io::Error {
    io::Error::other("the runtime was stopped")
}

pub(super) fn one(mut bufs: Vec<IoBuf>) -> IoBuf {
    assert!(bufs.len() <= 1, "a transfer keeps its buffers");
    bufs.pop().unwrap_or_else(|| IoBuf::alloc(0))
}

/// The same runs, joined where they follow each other on a member.
fn by_member(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by_key(|run| (Arc::as_ptr(&run.member), run.at));
    let mut joined: Vec<Run> = vec![];
    for run in runs {
        let follows = |last: &&mut Run| {
            Arc::ptr_eq(&last.member, &run.member) && last.at + last.len == run.at
        };
        match joined.last_mut().filter(follows) {
            Some(last) => last.len += run.len,
            None => joined.push(run),
        }
    }
    joined
}

/// The bytes of several buffers as one row, taken or put from the front.
struct Whole<'b> {
    bufs: std::slice::IterMut<'b, IoBuf>,
    rest: &'b mut [u8],
}

impl<'b> Whole<'b> {
    fn of(bufs: &'b mut [IoBuf]) -> Whole<'b> {
        Whole { bufs: bufs.iter_mut(), rest: &mut [] }
    }

    fn each(&mut self, mut len: usize, mut with: impl FnMut(&mut [u8])) {
        while len > 0 {
            if self.rest.is_empty() {
                self.rest = self.bufs.next().expect("the buffers have the bytes").as_mut_slice();
                continue;
            }
            let count = len.min(self.rest.len());
            let (piece, rest) = std::mem::take(&mut self.rest).split_at_mut(count);
            with(piece);
            (self.rest, len) = (rest, len - count);
        }
    }

    fn take(&mut self, target: &mut [u8]) {
        let mut at = 0;
        self.each(target.len(), |piece| {
            target[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
    }

    fn put(&mut self, source: &[u8]) {
        let mut at = 0;
        self.each(source.len(), |piece| {
            piece.copy_from_slice(&source[at..at + piece.len()]);
            at += piece.len();
        });
    }
}
