//! A part with many deleted rows, on its way into one without them: its rows move up, so their ids are others. Where a
//! table has indexes, whose entries lead to row ids, only a part without any row goes.

use std::ops::Bound;

use runtime::IoCounters;
use storage::Direction;

use super::bounds::Bounds;
use super::stop::Stop;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns::deleted::Ids;
use crate::columns::part::{Part, row_key};
use crate::columns::table::Columns;

/// Marks that are read at once.
pub(crate) const BATCH_MARKS: usize = 4096;

/// Rows for which a word of [`Gone`] stands.
pub(crate) const WORD_ROWS: i64 = 64;

/// Bytes of one with its count.
pub(crate) const WORD_BYTES: u64 = 16;

/// A part with many deleted rows.
pub(crate) struct Hollow {
    pub(crate) part: Part,
    pub(crate) gone: Gone,
}

/// The deleted rows of a part, as a snapshot sees them.
pub(crate) struct Gone {
    first_row: i64,
    /// A bit for each row, with the number of those in the words before.
    words: Vec<(u64, u64)>,
    pub(crate) count: u64,
}

impl Gone {
    fn new(part: &Part) -> Gone {
        let words = part.row_count.div_ceil(WORD_ROWS as u64) as usize;
        Gone { first_row: part.first_row, words: vec![(0, 0); words], count: 0 }
    }

    fn insert(&mut self, id: i64) {
        let at = id - self.first_row;
        self.words[(at / WORD_ROWS) as usize].0 |= 1 << (at % WORD_ROWS);
        self.count += 1;
    }

    fn counted(mut self) -> Gone {
        let mut before = 0;
        for (bits, count) in &mut self.words {
            *count = before;
            before += u64::from(bits.count_ones());
        }
        self
    }

    /// Where a row moves; `None` for one that is gone.
    pub(crate) fn place_of(&self, id: i64) -> Option<i64> {
        let at = id - self.first_row;
        let (bits, before) = self.words[(at / WORD_ROWS) as usize];
        let bit = 1 << (at % WORD_ROWS);
        let below = before + u64::from((bits & (bit - 1)).count_ones());
        (bits & bit == 0).then(|| id.saturating_sub_unsigned(below))
    }
}

impl Hollow {
    /// The first part that has lost enough rows; not one for whose bits so much memory is too little.
    ///
    /// # Errors
    /// As [`Stop`]; those of storage.
    pub(crate) async fn find(
        snapshot: &Snapshot,
        entry: &TableEntry,
        (bounds, memory_bytes): (Bounds, usize),
        mut goes_on: impl FnMut() -> Result<(), Stop>,
    ) -> Result<Option<Hollow>, Stop> {
        let Some(columns) = &entry.columns else { return Ok(None) };
        for part in columns.parts.iter() {
            if part.row_count / WORD_ROWS as u64 * WORD_BYTES > memory_bytes as u64 {
                continue;
            }
            let gone = gone(snapshot, columns, part, &mut goes_on).await?;
            let is_empty = gone.count == part.row_count;
            let may_move = entry.indexes.is_empty();
            if is_empty || may_move && bounds.is_hollow(gone.count, part.row_count) {
                return Ok(Some(Hollow { part: part.clone(), gone }));
            }
        }
        Ok(None)
    }

    /// Whether it has no row any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.gone.count == self.part.row_count
    }
}

pub(crate) async fn gone(
    snapshot: &Snapshot,
    columns: &Columns,
    part: &Part,
    goes_on: &mut impl FnMut() -> Result<(), Stop>,
) -> Result<Gone, Stop> {
    let (tree, io) = (snapshot.visible(columns.deleted.clone()), IoCounters::default());
    let (mut gone, mut marks) = (Gone::new(part), Ids::default());
    let mut low = Bound::Included(row_key(part.first_row).to_vec());
    loop {
        goes_on()?;
        let range = (low, Bound::Excluded(row_key(part.end()).to_vec()));
        let first = tree.first(&range, Direction::Forward, BATCH_MARKS, &io, &mut marks).await?;
        marks.0.drain(..).for_each(|id| gone.insert(id));
        let Some(last) = first.last else { return Ok(gone.counted()) };
        low = Bound::Excluded(last);
    }
}
