//! A few rows of a vector: of long texts the head is read, and then what these rows have
//! (`docs/format/block.md`, section 1); of all else the vector.

use std::ops::Range;

use columnar::{Error, ROWS_ALONE_MAX, SECTOR_BYTES};
use runtime::IoCounters;
use types::SqlResult;

use super::chunk::{Body, Bytes, Chunk};
use super::remote::fetch::Download;
use crate::fault::block as block_error;

/// Rows of one vector: their places in it, ascending, none twice.
pub(crate) struct InVector {
    pub(crate) vector: usize,
    pub(crate) positions: Vec<u16>,
}

/// A head that was read, and where rows are behind it.
pub(crate) struct Known {
    head: Bytes,
    places: Vec<Range<usize>>,
}

impl InVector {
    fn vectors(&self) -> Range<usize> {
        self.vector..self.vector + 1
    }
}

impl Chunk {
    /// Starts to read what rows need first, without waiting.
    pub(crate) fn prefetch_first(&self, column: usize, rows: &InVector, io: &IoCounters) {
        match self.head(column, rows) {
            Some(head) => self.prefetch_place(head, io),
            None => self.prefetch(column, &rows.vectors(), io),
        }
    }

    /// The head of the vector, if that says where the rows are, and their places.
    pub(crate) async fn known(
        &self,
        column: usize,
        rows: &InVector,
        io: &IoCounters,
    ) -> SqlResult<Option<Known>> {
        let Some(head) = self.head(column, rows) else { return Ok(None) };
        let head = self.read_place(head, io).await?;
        let places = self.places(column, rows, &head)?;
        Ok(places.map(|places| Known { head, places }))
    }

    /// Starts to read what rows need beside a head, without waiting.
    pub(crate) fn prefetch_rest(&self, known: &Known, io: &IoCounters) {
        known.places.iter().for_each(|place| self.prefetch_place(place.clone(), io));
    }

    /// Reads what rows of a vector need, or takes it from what was downloaded.
    pub(crate) async fn read_rows(
        &self,
        column: usize,
        rows: &InVector,
        known: Option<Known>,
        download: Option<&Download<'_>>,
        io: &IoCounters,
    ) -> SqlResult<Vec<Bytes>> {
        let Some(Known { head, places }) = known else {
            return Ok(vec![self.read(column, &rows.vectors(), download, io).await?]);
        };
        let mut pieces = vec![head];
        for place in places {
            pieces.push(self.read_place(place, io).await?);
        }
        Ok(pieces)
    }

    /// The head of a vector that is long beside what these rows need of it.
    fn head(&self, column: usize, rows: &InVector) -> Option<Range<usize>> {
        let Body::Here(_) = &self.body else { return None };
        let head = self.header.head(column, rows.vector)?;
        let all = &self.header.columns()[column].vectors()[rows.vector].bytes;
        // Most rows lie in one sector, some in two.
        let wanted = (1 + 2 * rows.positions.len()) * SECTOR_BYTES;
        let count = rows.positions.len();
        let few = count <= ROWS_ALONE_MAX && count < self.header.rows_of(rows.vector);
        let few = few && wanted as u64 <= all.end - all.start;
        few.then_some(head.start as usize..head.end as usize)
    }

    /// Where the rest of what rows need is; `None` if the head does not say.
    fn places(
        &self,
        column: usize,
        rows: &InVector,
        head: &Bytes,
    ) -> SqlResult<Option<Vec<Range<usize>>>> {
        let pieces = head.pieces();
        let places = match self.vector(column, rows.vector, &pieces)?.places(&rows.positions) {
            Err(Error::Absent(_)) => None,
            places => places.map_err(block_error)?,
        };
        Ok(places.map(|places| adjoining(places, head.end() as u64)))
    }
}

/// Places behind `known`, those together that are less than a sector apart.
fn adjoining(places: Vec<Range<u64>>, known: u64) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = vec![];
    for place in places.into_iter().filter(|place| !place.is_empty() && place.end > known) {
        let place = place.start as usize..place.end as usize;
        match runs.last_mut() {
            Some(last) if place.start <= last.end + SECTOR_BYTES => {
                last.end = last.end.max(place.end);
            }
            _ => runs.push(place),
        }
    }
    runs
}
