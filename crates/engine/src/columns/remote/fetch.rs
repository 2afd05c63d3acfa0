//! Downloads what a morsel needs of a chunk's body: ranges of whole sectors, those that lie close
//! together as one, all at once, each compared with the checksums of its sectors.

use std::ops::Range;
use std::sync::Arc;

use columnar::{ChunkHeader, SECTOR_BYTES};
use exec::Access;
use objectstore::{ErrorKind, Segments, Usage};
use runtime::IoBuf;
use txn::waiting::{Beside, all};
use types::{SqlError, SqlResult, SqlState};

use super::name::ChunkName;
use crate::objects::fault::of_object;
use crate::objects::location::Location;
use crate::objects::room::{Room, Taken};
use crate::objects::seal::BODY;
use crate::objects::stores::Bucket;
use crate::objects::tally::Tally;

/// Bytes between two ranges that are read along: less than what comes while a request is on its way
/// (30 ms at 50 MiB/s are 1.5 MiB; AnyBlob paper, section 2.3), more than what costs its checksums.
const GAP_BYTES: usize = 512 << 10;

/// Bytes of a request at most: beyond 8 to 16 MiB a larger one brings no more (section 2.4).
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// Bytes that are compared with their checksums between two looks at the clock.
const VERIFIED_BYTES: usize = 64 << 10;

/// How often bytes are asked for that do not fit their checksums.
const TURNS_MAX: usize = 3;

/// Bytes of a body that are in memory.
pub(crate) struct Piece {
    offset: usize,
    bytes: IoBuf,
    _taken: Option<Arc<Taken>>,
}

impl Piece {
    /// The bytes at these places of the body.
    pub(crate) fn slice(&self, place: &Range<usize>) -> &[u8] {
        &self.bytes.as_slice()[place.start - self.offset..place.end - self.offset]
    }

    fn place(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes.len()
    }
}

/// A chunk of which parts are being downloaded.
pub(crate) struct Download<'a> {
    bucket: &'a Bucket,
    name: ChunkName,
    header: &'a ChunkHeader,
    pieces: Vec<Arc<Piece>>,
    taken: Option<Arc<Taken>>,
}

impl<'a> Download<'a> {
    /// Nothing has been asked for yet.
    pub(crate) fn new(
        bucket: &'a Bucket,
        name: ChunkName,
        header: &'a ChunkHeader,
    ) -> Download<'a> {
        Download { bucket, name, header, pieces: vec![], taken: None }
    }

    /// Waits until there is memory for all of these places, or `instead` gives something else to do
    /// ([`Room::take_or`]).
    pub(crate) async fn reserve<T>(
        &mut self,
        room: &Arc<Room>,
        places: &[Range<usize>],
        instead: impl FnMut() -> Option<T>,
    ) -> Result<(), T> {
        let bytes = self.requests(places.to_vec()).iter().map(Range::len).sum();
        if bytes > 0 {
            self.taken = Some(Arc::new(room.take_or(bytes, instead).await?));
        }
        Ok(())
    }

    /// Takes memory for all of these places if there is some now; whether there is.
    pub(crate) fn try_reserve(&mut self, room: &Arc<Room>, places: &[Range<usize>]) -> bool {
        let bytes = self.requests(places.to_vec()).iter().map(Range::len).sum();
        self.taken = if bytes > 0 { room.try_hold(bytes).map(Arc::new) } else { None };
        bytes == 0 || self.taken.is_some()
    }

    /// Gets these places, as far as they are not there.
    ///
    /// # Errors
    /// Those of the store, with the name of the object; XX001 for bytes that were not written so.
    pub(crate) async fn get(
        &mut self,
        places: Vec<Range<usize>>,
        access: Option<Access<'_>>,
    ) -> SqlResult<()> {
        let missing = places.into_iter().filter(|place| self.piece(place).is_none()).collect();
        let ranges = self.requests(missing);
        let usage = Arc::new(Usage::default());
        let (begun, count) = (runtime::time::now(), ranges.len() as u64);
        let get = |range| -> Beside<'_, Piece> { Box::pin(self.part(range, usage.clone())) };
        let pieces = all(ranges.into_iter().map(get).collect()).await;
        if let Some(access) = access {
            let tally = Tally::default();
            tally.add(count, &usage, self.bucket);
            tally.waited(begun);
            tally.tell(access.skips);
        }
        self.pieces.extend(pieces?.into_iter().map(Arc::new));
        self.taken.iter().for_each(|taken| taken.came());
        Ok(())
    }

    /// Nothing more will be asked for: memory beyond what came is given back.
    pub(crate) fn finish(&self) {
        if let Some(taken) = &self.taken {
            taken.keep(self.pieces.iter().map(|piece| piece.bytes.len()).sum());
        }
    }

    /// The piece that has these places; an empty one is in none.
    pub(crate) fn piece(&self, place: &Range<usize>) -> Option<&Arc<Piece>> {
        let has = |piece: &&Arc<Piece>| {
            let own = piece.place();
            own.start <= place.start && place.end <= own.end
        };
        self.pieces.iter().find(has)
    }

    /// The requests for some places: of an encrypted chunk whole segments.
    fn requests(&self, places: Vec<Range<usize>>) -> Vec<Range<usize>> {
        match &self.bucket.seal {
            None => requests(places),
            Some(_) => requests(places.iter().map(|place| self.segments(place).plain()).collect()),
        }
    }

    fn segments(&self, place: &Range<usize>) -> Segments {
        Segments::around(place, self.header.body_len())
    }

    async fn part(&self, range: Range<usize>, usage: Arc<Usage>) -> SqlResult<Piece> {
        let Bucket { store, location, seal, .. } = self.bucket;
        let (store, name) = (store.counted_in(usage), self.name.to_string());
        let opener = seal.as_ref().map(|seal| seal.opener(&self.name.0));
        let segments = self.segments(&range);
        let place = if opener.is_some() { segments.sealed() } else { range.clone() };
        let (key, bytes) = (location.key(&name), place.start as u64..place.end as u64);
        let mut buf = IoBuf::alloc(place.len());
        for turn in 1.. {
            let got;
            (got, buf) = store.get_into(&key, bytes.clone(), buf, 0).await;
            got.map_err(|error| match error.kind() {
                // The range is one of what was written.
                ErrorKind::Invalid => changed(location, &name, &error.to_string()),
                _ => of_object(&error, location, &name),
            })?;
            let opened = match &opener {
                Some(opener) => opener.open_segments(BODY, &segments, buf.as_mut_slice()).await,
                None => Ok(()),
            };
            let checked = match opened {
                Ok(()) => self.verify(range.start, &buf.as_slice()[..range.len()]).await,
                Err(_) => Err("it cannot be decrypted".to_owned()),
            };
            match checked {
                Ok(()) => break,
                // It may have been changed on its way only.
                Err(_) if turn < TURNS_MAX => {}
                Err(error) => return Err(changed(location, &name, &error)),
            }
        }
        buf.truncate(range.len());
        Ok(Piece { offset: range.start, bytes: buf, _taken: self.taken.clone() })
    }

    async fn verify(&self, start: usize, buf: &[u8]) -> Result<(), String> {
        for (at, bytes) in buf.chunks(VERIFIED_BYTES).enumerate() {
            let offset = (start + at * VERIFIED_BYTES) as u64;
            self.header.verify(offset, bytes).map_err(|error| error.to_string())?;
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Ok(())
    }
}

/// XX001
fn changed(location: &Location, name: &str, why: &str) -> SqlError {
    let message = format!("object \"{location}/{name}\" was changed: {why}");
    SqlError::new(SqlState::DATA_CORRUPTED, message)
}

/// The requests for some places: whole sectors, joined where little lies between them, unless they become
/// too long.
fn requests(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.retain(|place| !place.is_empty());
    places.sort_by_key(|place| place.start);
    let mut joined: Vec<Range<usize>> = vec![];
    for place in places {
        let start = place.start / SECTOR_BYTES * SECTOR_BYTES;
        let end = place.end.next_multiple_of(SECTOR_BYTES);
        match joined.last_mut() {
            Some(last)
                if start <= last.end + GAP_BYTES && end - last.start <= REQUEST_BYTES_MAX =>
            {
                last.end = last.end.max(end);
            }
            _ => joined.push(start..end),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
