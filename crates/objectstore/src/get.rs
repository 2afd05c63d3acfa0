//! Getting objects, wholly or in part, into the memory where their bytes are to be.

use std::ops::Range;

use runtime::IoBuf;
use runtime::time::{self, Instant};

use crate::attempt::Until;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{Head, Sink};
use crate::operation::{ObjectInfo, Operation, checksum};
use crate::restart::Turn;
use crate::store::Store;

/// An object, or a part of one.
#[derive(Debug)]
pub struct Object {
    /// What the store says of it.
    pub info: ObjectInfo,
    /// Its bytes, or those of the part.
    pub body: IoBuf,
}

/// How far a get has come.
struct Progress<'a> {
    key: &'a str,
    /// `None` for the whole object.
    range: Option<Range<u64>>,
    /// The version that is wanted, where no other one will do.
    version: Option<&'a str>,
    sink: Sink,
    /// What the store has said of the object.
    info: Option<ObjectInfo>,
    /// The checksum of the whole object, if that is asked for and there is one.
    crc32c: Option<u32>,
}

impl Store {
    /// A whole object of up to [`crate::Limits::body_bytes_max`] bytes. Its checksum is verified, where
    /// the store gives one.
    ///
    /// # Errors
    /// `NotFound` when there is none, `TooLarge`, and what else goes wrong.
    pub async fn get(&self, key: &str) -> Result<Object> {
        let sink = Sink::growing(self.client().limits.body_bytes_max);
        let (info, body) = self.fetch(key, None, None, sink).await;
        Ok(Object { info: info?, body })
    }

    /// The bytes `range` of an object.
    ///
    /// # Errors
    /// `Invalid` for an empty range and one that goes beyond the object, `NotFound` when there is none,
    /// and what else goes wrong.
    pub async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Object> {
        let count = length(&range, self.client().limits.body_bytes_max)?;
        let (info, body) = self.get_into(key, range, IoBuf::alloc(count), 0).await;
        Ok(Object { info: info?, body })
    }

    /// The bytes `range` of an object into `buf` from `at` on, where they are received without a copy;
    /// gives the memory back. Bytes outside of that are not touched; after an error those inside are of
    /// no meaning.
    ///
    /// # Errors
    /// As [`Store::get_range`], and `Invalid` when the buffer is too short.
    pub async fn get_into(
        &self,
        key: &str,
        range: Range<u64>,
        buf: IoBuf,
        at: usize,
    ) -> (Result<ObjectInfo>, IoBuf) {
        match length(&range, buf.len().saturating_sub(at)) {
            Ok(count) => self.fetch(key, Some(range), None, Sink::of(buf, at, at + count)).await,
            Err(error) => (Err(error), buf),
        }
    }

    /// The bytes `range` of an object as long as it has this tag ([`ObjectInfo::tag`]).
    ///
    /// # Errors
    /// `Precondition` when the object is another one now; as [`Store::get_range`].
    pub async fn get_version(&self, key: &str, range: Range<u64>, tag: &str) -> Result<Object> {
        let count = length(&range, self.client().limits.body_bytes_max)?;
        let sink = Sink::of(IoBuf::alloc(count), 0, count);
        let (info, body) = self.fetch(key, Some(range), Some(tag), sink).await;
        Ok(Object { info: info?, body })
    }

    async fn fetch(
        &self,
        key: &str,
        range: Option<Range<u64>>,
        version: Option<&str>,
        sink: Sink,
    ) -> (Result<ObjectInfo>, IoBuf) {
        let mut progress = Progress { key, range, version, sink, info: None, crc32c: None };
        let deadline = self.deadline();
        let done = self.repeat(deadline, async || progress.go_on(self, deadline).await).await;
        (done, progress.sink.into_buf())
    }
}

/// The bytes of a range, which is not empty and fits.
fn length(range: &Range<u64>, room: usize) -> Result<usize> {
    let count = range.end.checked_sub(range.start).filter(|count| *count > 0);
    let count = count.ok_or_else(|| Error::invalid("the range has no bytes"))?;
    usize::try_from(count).ok().filter(|count| *count <= room).ok_or_else(|| {
        Error::invalid(format!("a range of {count} bytes, where there is room for {room}"))
    })
}

impl Progress<'_> {
    /// Makes one attempt, which goes on where the last one has ended; one that takes longer than
    /// usual may be given up for another.
    async fn go_on(&mut self, store: &Store, deadline: Instant) -> Result<ObjectInfo> {
        let (begun, restarts) = (time::now(), store.restarts());
        loop {
            let size = self.size();
            let slow = size.and_then(|size| restarts.slow_after(size)).map(|slow| begun + slow);
            let turn = Turn::new(restarts, slow.filter(|slow| *slow > time::now()));
            let done = self.go_on_until(store, deadline, &turn).await;
            match (&done, size) {
                (Ok(_), Some(size)) => restarts.note(size, begun.elapsed()),
                (Err(_), _) if turn.is_given_up() && time::now() < deadline => {
                    store.note_restart();
                    continue;
                }
                _ => {}
            }
            return done;
        }
    }

    /// The bytes of the whole request, as far as that is known.
    fn size(&self) -> Option<u64> {
        let range = self.range.as_ref().map(|range| range.end - range.start);
        range.or_else(|| self.info.as_ref().map(|info| info.size))
    }

    async fn go_on_until(
        &mut self,
        store: &Store,
        deadline: Instant,
        turn: &Turn<'_>,
    ) -> Result<ObjectInfo> {
        let (range, tag) = self.rest();
        let operation = Operation::Get { key: self.key, range: range.clone(), tag: tag.clone() };
        let byte_count = range.as_ref().map_or(0, |range| range.end - range.start);
        let until = Until { request: deadline, turn: Some(turn), byte_count };
        let admit = |head: &Head, sink: &mut Sink| {
            let info = store.provider().info(self.key, head);
            admit(range.as_ref(), tag.as_deref(), head, &info, sink)
        };
        let done = store.attempt(&operation, &mut self.sink, &until, admit).await;
        match done {
            Ok(answer) => {
                self.note(store, &answer.head);
                self.finish(range.as_ref()).await
            }
            Err((error, head)) => {
                let is_other = matches!(error.kind(), ErrorKind::Precondition);
                head.iter().for_each(|head| self.note(store, head));
                if is_other || error.kind() == ErrorKind::Corrupt {
                    self.start_over();
                }
                match is_other && self.version.is_none() {
                    true => {
                        Err(Error::new(ErrorKind::Unavailable, "the object was replaced meanwhile"))
                    }
                    false => Err(error),
                }
            }
        }
    }

    /// What is still to be asked for, and of which version of the object.
    fn rest(&mut self) -> (Option<Range<u64>>, Option<String>) {
        let count = self.sink.count() as u64;
        let known = self.info.as_ref().and_then(|info| Some((info.size, info.tag.clone()?)));
        if count > 0
            && let Some((size, tag)) = known
        {
            let whole = self.range.clone().unwrap_or(0..size);
            let rest = whole.start + count..whole.end;
            if rest.start < rest.end {
                return (Some(rest), Some(tag));
            }
        }
        self.start_over();
        (self.range.clone(), self.version.map(str::to_owned))
    }

    fn start_over(&mut self) {
        self.sink.clear();
        (self.info, self.crc32c) = (None, None);
    }

    /// Keeps what the first answer says.
    fn note(&mut self, store: &Store, head: &Head) {
        if self.info.is_none() && head.status < 300 {
            self.info = Some(store.provider().info(self.key, head));
            let is_whole = self.range.is_none();
            self.crc32c = store.provider().crc32c(head).filter(|_| is_whole);
        }
    }

    /// Looks at what has come.
    async fn finish(&mut self, asked: Option<&Range<u64>>) -> Result<ObjectInfo> {
        let expected = match (&self.range, asked) {
            (Some(range), _) => Some(range.end - range.start),
            (None, Some(rest)) => Some(rest.end),
            (None, None) => None,
        };
        let count = self.sink.count() as u64;
        if expected.is_some_and(|expected| expected != count) {
            let what = format!("{count} bytes came instead of those asked for");
            self.start_over();
            return Err(Error::new(ErrorKind::Truncated, what));
        }
        if let Some(crc32c) = self.crc32c
            && checksum(self.sink.bytes()).await != crc32c
        {
            self.start_over();
            return Err(Error::new(ErrorKind::Corrupt, "the object's checksum is another one"));
        }
        let info = self.info.clone().expect("noted with the first answer");
        Ok(ObjectInfo { size: if self.range.is_none() { count } else { info.size }, ..info })
    }
}

/// Whether an answer is what was asked for.
fn admit(
    range: Option<&Range<u64>>,
    tag: Option<&str>,
    head: &Head,
    info: &ObjectInfo,
    sink: &Sink,
) -> Result<()> {
    if tag.is_some() && tag != info.tag.as_deref() {
        return Err(Error::new(ErrorKind::Precondition, "the object was replaced meanwhile"));
    }
    let Some(range) = range else {
        return match head.status {
            200 => Ok(()),
            status => Err(Error::protocol("a part of the object came").with_status(status)),
        };
    };
    let wanted = range.end - range.start;
    let length = head.number("content-length");
    match (head.status, head.content_range()) {
        (206, Some((first, last, size))) if first == range.start => {
            let came = last - first + 1;
            if last < range.end - 1 && last + 1 == size {
                return Err(beyond(range, size));
            }
            match came == wanted && length.is_none_or(|length| length == came) {
                true => Ok(()),
                false => Err(Error::protocol("another range came than was asked for")),
            }
        }
        // Some say so instead of 416.
        (206, None) if length == Some(0) => {
            Err(Error::invalid("the range begins beyond the object's end"))
        }
        // The whole object is the part, for a server that knows no parts.
        (200, None) if range.start == 0 && length == Some(wanted) => Ok(()),
        (200, None) if range.start == 0 && length.is_some_and(|length| length < wanted) => {
            Err(beyond(range, length.unwrap_or(0)))
        }
        (200, _) if sink.grows() => {
            Err(Error::new(ErrorKind::Unavailable, "the server gives whole objects only"))
        }
        (200, _) => Err(Error::new(ErrorKind::Refused, "the server gives whole objects only")),
        _ => Err(Error::protocol("another range came than was asked for")),
    }
}

fn beyond(range: &Range<u64>, size: u64) -> Error {
    let Range { start, end } = range;
    Error::invalid(format!("the range {start}..{end} goes beyond the object's {size} bytes"))
}
