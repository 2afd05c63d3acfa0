//! Tables as row programs read them: rows of values, by ranges and by keys.

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::RecordBatch;
use exec::{Found, LocalFuture, Room, RowTables, Stopped};
use plan::catalog::TableId;
use plan::{Access, First, IndexRef, KeyRange, LookupJoin, ScalarValue, Scan};
use runtime::IoCounters;
use storage::{Depth, Direction};
use txn::visible::{Bounds, Entries, VisibleTree};
use types::cells::{Cells, Value, value_of};
use types::key::{KeyColumn, encode_value_of};
use types::reader::RowReader;
use types::row::RowLayout;
use types::{SqlError, SqlResult, SqlState};

use super::keys::{beginning_with, bounds, encode};
use super::rows::RowKeys;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;

/// The rows that a part of the statement has given, the columns at these places.
pub(crate) type Given<'a> = &'a dyn Fn(TableId, &[usize]) -> Option<SqlResult<RecordBatch>>;

/// The tables of a snapshot, and rows that parts of the statement have given.
pub(crate) struct ProgramTables<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) given: Given<'a>,
    /// Requests that a list of keys may have in flight.
    pub(crate) depth: Depth,
    /// Where reads are counted.
    pub(crate) io: IoCounters,
}

/// A tree of a table, with what is read of its entries.
struct Reader {
    tree: VisibleTree,
    layout: Arc<RowLayout>,
    entries: Read,
}

/// The part of entries that is read.
enum Read {
    /// Their rows.
    Rows(RowReader, usize),
    /// The keys of the rows that they lead to.
    Keys(RowKeys),
}

/// Entries as they come.
struct Taken<'a> {
    read: &'a Read,
    rows: Cells,
    keys: Vec<Vec<u8>>,
    key_bytes: usize,
    positions: Vec<u32>,
    room: Room,
}

impl<'a> Taken<'a> {
    fn new(read: &'a Read, room: Room) -> Taken<'a> {
        let width = match read {
            Read::Rows(_, width) => *width,
            Read::Keys(_) => 0,
        };
        Taken { read, rows: Cells::new(width), keys: vec![], key_bytes: 0, positions: vec![], room }
    }

    fn is_over(&self) -> bool {
        let bytes = self.rows.memory() + self.key_bytes;
        self.positions.len() > self.room.rows || bytes > self.room.bytes
    }

    /// Adds what was found behind it, up to so many entries.
    fn append(&mut self, found: Taken<'_>, count: usize) {
        let count = found.positions.len().min(count);
        self.rows.append(&found.rows.slice(0, count));
        self.keys.extend(found.keys.into_iter().take(count));
        self.key_bytes += found.key_bytes;
        let first = self.positions.len() as u32;
        self.positions.extend(first..first + count as u32);
    }

    /// The entries in the order of who asked for them.
    fn finish(self) -> Result<Taken<'a>, Stopped> {
        if self.is_over() {
            return Err(Stopped::TooMany);
        }
        if self.positions.is_sorted() {
            return Ok(self);
        }
        let mut order: Vec<u32> = (0..self.positions.len() as u32).collect();
        order.sort_by_key(|at| self.positions[*at as usize]);
        let mut keys = self.keys;
        let in_order = |at: &u32| keys.get_mut(*at as usize).map(std::mem::take);
        Ok(Taken {
            keys: order.iter().filter_map(in_order).collect(),
            positions: order.iter().map(|at| self.positions[*at as usize]).collect(),
            rows: match self.read {
                Read::Rows(..) => self.rows.take(&order),
                Read::Keys(_) => self.rows,
            },
            ..self
        })
    }
}

impl Entries for Taken<'_> {
    fn restart(&mut self) {
        self.rows.clear();
        self.keys.clear();
        self.key_bytes = 0;
        self.positions.clear();
    }

    fn take(&mut self, position: usize, key: &[u8], value: &[u8]) {
        if self.is_over() {
            return;
        }
        match self.read {
            Read::Rows(reader, _) => reader.read(key, value, &mut self.rows),
            Read::Keys(keys) => {
                self.keys.push(keys.of(key));
                self.key_bytes += key.len();
            }
        }
        self.positions.push(position as u32);
    }
}

impl ProgramTables<'_> {
    fn entry(&self, table: &plan::catalog::TableDef) -> SqlResult<&Arc<TableEntry>> {
        let found = self.snapshot.table_by_id(table.id);
        found.ok_or_else(|| SqlError::internal("the plan is of another catalog version"))
    }

    /// The tree of an index, of which rows are read, or the keys of those that are to be fetched.
    fn reader(
        &self,
        entry: &TableEntry,
        index: &IndexRef,
        (columns, fetch): (&[usize], bool),
    ) -> Reader {
        let (tree, layout) = entry.tree_of(index);
        let entries = match fetch {
            true => Read::Keys(RowKeys::new(entry, &layout)),
            false => Read::Rows(RowReader::new(layout.clone(), columns), columns.len()),
        };
        Reader { tree: self.snapshot.visible(tree), layout, entries }
    }

    async fn scanned(&self, scan: &Scan, access: &Access, room: Room) -> Result<Cells, Stopped> {
        if scan.table.id.is_given() {
            return self.given(scan, room);
        }
        let all = [KeyRange::all()];
        let (index, ranges, fetch) = match access {
            Access::Range { index, ranges, fetch } => (index, &ranges[..], fetch),
            Access::Full => (&IndexRef::Primary, &all[..], &false),
        };
        let entry = self.entry(&scan.table)?;
        let reader = self.reader(entry, index, (&scan.columns, *fetch));
        let mut taken = Taken::new(&reader.entries, room);
        let key = &reader.layout.key[..index.key_columns(&entry.def).len()];
        if matches!(index, IndexRef::Primary) && are_whole(&reader.layout, ranges) {
            let keys = ranges.iter().map(|range| encode(&reader.layout.key, &range.prefix));
            self.points(&reader, &keys.collect::<SqlResult<Vec<_>>>()?, &mut taken).await?;
        } else {
            self.ranges(&reader, (scan, key, ranges), &mut taken).await?;
        }
        let taken = taken.finish()?;
        match fetch {
            true => Ok(self.fetched(entry, &scan.columns, taken).await?.rows),
            false => Ok(taken.rows),
        }
    }

    /// Rows that a part of the statement has given.
    fn given(&self, scan: &Scan, room: Room) -> Result<Cells, Stopped> {
        let given = (self.given)(scan.table.id, &scan.columns);
        let given = given.ok_or_else(|| SqlError::internal("a part has given no rows"))??;
        if given.num_rows() > room.rows {
            return Err(Stopped::TooMany);
        }
        let mut rows = Cells::new(scan.columns.len());
        for row in 0..given.num_rows() {
            for column in given.columns() {
                rows.push(value_of(column.as_ref(), row)?);
            }
            rows.end_row();
        }
        Ok(rows)
    }

    /// The rows of a table in row form whose first columns of an index are these: all columns that
    /// its clustered tree has.
    ///
    /// # Errors
    /// Those of storage; too many for the room.
    pub(crate) async fn with_key(
        &self,
        entry: &TableEntry,
        (index, values): (&IndexRef, &[ScalarValue]),
        room: Room,
    ) -> Result<Cells, Stopped> {
        let columns: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
        let is_primary = matches!(index, IndexRef::Primary);
        let reader = self.reader(entry, index, (&columns, !is_primary));
        let key = encode(&reader.layout.key, values)?;
        let mut taken = Taken::new(&reader.entries, room);
        if is_primary && values.len() == reader.layout.key.len() {
            self.points(&reader, &[key], &mut taken).await?;
        } else {
            let (low, high) = beginning_with(key);
            let range = (Bound::Included(low), Bound::Excluded(high));
            let (way, count) = (Direction::Forward, room.rows + 1);
            self.first(&reader, (&range, way), count, &mut taken).await?;
        }
        let taken = taken.finish()?;
        match is_primary {
            true => Ok(taken.rows),
            false => Ok(self.fetched(entry, &columns, taken).await?.rows),
        }
    }

    async fn points(
        &self,
        reader: &Reader,
        keys: &[Vec<u8>],
        taken: &mut Taken<'_>,
    ) -> SqlResult<()> {
        match keys {
            [key] => reader.tree.get(key, &self.io, taken).await,
            keys => reader.tree.get_batch(keys, self.depth, &self.io, taken).await,
        }
    }

    /// So many entries from one end of a range, or all if it has no more.
    async fn first(
        &self,
        reader: &Reader,
        (range, way): (&Bounds, Direction),
        wanted: usize,
        taken: &mut Taken<'_>,
    ) -> SqlResult<()> {
        let mut stored = wanted;
        loop {
            let first = reader.tree.first(range, way, stored, &self.io, taken).await?;
            let is_enough = taken.positions.len() >= wanted || taken.is_over();
            if is_enough || first.last.is_none() {
                return Ok(());
            }
            // Some of those that are stored are not there for this reader.
            taken.restart();
            stored = stored.saturating_mul(2);
        }
    }

    async fn ranges(
        &self,
        reader: &Reader,
        (scan, key, ranges): (&Scan, &[KeyColumn], &[KeyRange]),
        taken: &mut Taken<'_>,
    ) -> SqlResult<()> {
        let mut ranges = ranges.iter().filter_map(|range| bounds(key, range).transpose());
        let (first, second) = (ranges.next().transpose()?, ranges.next().transpose()?);
        let Some(first) = first else { return Ok(()) };
        let Some(second) = second else {
            let (count, backward) = scan.first.map_or((taken.room.rows + 1, false), |first| {
                (first.count.min(taken.room.rows + 1), first.backward)
            });
            let way = if backward { Direction::Backward } else { Direction::Forward };
            return self.first(reader, (&first, way), count, taken).await;
        };
        let mut bounds = vec![first, second];
        for range in ranges {
            bounds.push(range?);
        }
        if let Some(first) = scan.first {
            return self.firsts(reader, bounds, first, taken).await;
        }
        let mut all: Vec<_> = bounds.into_iter().map(half_open).collect();
        // Intervals that differ may be equal, and have one hash.
        all.sort_unstable();
        all.dedup();
        reader.tree.range_batch(&all, self.depth, &self.io, taken).await
    }

    /// The first rows of several ranges, which follow each other in the order of the key.
    async fn firsts(
        &self,
        reader: &Reader,
        mut ranges: Vec<Bounds>,
        first: First,
        taken: &mut Taken<'_>,
    ) -> SqlResult<()> {
        let way = if first.backward { Direction::Backward } else { Direction::Forward };
        if first.backward {
            ranges.reverse();
        }
        let wanted = first.count.min(taken.room.rows + 1);
        for range in &ranges {
            let missing = wanted - taken.positions.len();
            if missing == 0 || taken.is_over() {
                break;
            }
            let mut found = Taken::new(&reader.entries, taken.room);
            self.first(reader, (range, way), missing, &mut found).await?;
            taken.append(found, missing);
        }
        Ok(())
    }

    async fn joined(&self, join: &LookupJoin, keys: &Cells, room: Room) -> Result<Found, Stopped> {
        let entry = self.entry(&join.table)?;
        let reader = self.reader(entry, &join.index, (&join.columns, join.fetch));
        let (positions, encoded) = encoded(&reader.layout.key, keys)?;
        let mut taken = Taken::new(&reader.entries, room);
        let is_whole = keys.width() == reader.layout.key.len();
        if matches!(join.index, IndexRef::Primary) && is_whole {
            self.points(&reader, &encoded, &mut taken).await?;
        } else {
            let ranges: Vec<_> = encoded.into_iter().map(beginning_with).collect();
            reader.tree.range_batch(&ranges, self.depth, &self.io, &mut taken).await?;
        }
        let taken = taken.finish()?;
        let mut found = match join.fetch {
            true => self.fetched(entry, &join.columns, taken).await?,
            false => Found { rows: taken.rows, positions: taken.positions },
        };
        found.positions.iter_mut().for_each(|at| *at = positions[*at as usize]);
        Ok(found)
    }

    /// The rows that entries of an index lead to, in the order of these.
    async fn fetched(
        &self,
        entry: &TableEntry,
        columns: &[usize],
        taken: Taken<'_>,
    ) -> Result<Found, Stopped> {
        let reader = self.reader(entry, &IndexRef::Primary, (columns, false));
        let mut rows = Taken::new(&reader.entries, taken.room);
        self.points(&reader, &taken.keys, &mut rows).await?;
        let rows = rows.finish()?;
        if rows.positions.len() == taken.keys.len() {
            return Ok(Found { rows: rows.rows, positions: taken.positions });
        }
        Err(missing_row().into())
    }
}

/// The rows of a table in row form with these clustered keys, in their order, as they are now: all
/// columns that its clustered tree has.
///
/// # Errors
/// Those of storage; XX001 for a row that is not there.
pub(crate) async fn rows_now(entry: &TableEntry, keys: &[Vec<u8>]) -> SqlResult<Cells> {
    let columns: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
    let read = Read::Rows(RowReader::new(entry.layout.clone(), &columns), columns.len());
    // They are the caller's, who has the keys in memory.
    let mut taken = Taken::new(&read, Room { rows: keys.len(), bytes: usize::MAX });
    let (tree, io) = (VisibleTree::now(entry.tree.clone()), IoCounters::default());
    match keys {
        [key] => tree.get(key, &io, &mut taken).await?,
        keys => tree.get_batch(keys, Depth::Many, &io, &mut taken).await?,
    }
    match taken.finish() {
        Ok(taken) if taken.positions.len() == keys.len() => Ok(taken.rows),
        Err(Stopped::Failed(error)) => Err(error),
        _ => Err(missing_row()),
    }
}

fn missing_row() -> SqlError {
    let message = "an index entry points to a row that does not exist";
    SqlError::new(SqlState::DATA_CORRUPTED, message)
}

/// True if each range is one whole key of the tree.
fn are_whole(layout: &RowLayout, ranges: &[KeyRange]) -> bool {
    ranges.iter().all(|range| range.prefix.len() == layout.key.len())
}

/// The range with its first key and the first one behind it.
fn half_open((low, high): Bounds) -> (Vec<u8>, Vec<u8>) {
    let behind = |mut key: Vec<u8>| {
        key.push(0);
        key
    };
    let low = match low {
        Bound::Included(key) => key,
        Bound::Excluded(key) => behind(key),
        Bound::Unbounded => vec![],
    };
    let high = match high {
        Bound::Included(key) => behind(key),
        Bound::Excluded(key) => key,
        Bound::Unbounded => beginning_with(vec![]).1,
    };
    (low, high)
}

/// The keys without null, with the numbers of their rows.
fn encoded(columns: &[KeyColumn], keys: &Cells) -> SqlResult<(Vec<u32>, Vec<Vec<u8>>)> {
    let (mut positions, mut all) = (vec![], vec![]);
    for row in (0..keys.len()).filter(|row| !keys.row(*row).any(|value| value == Value::Null)) {
        let mut key = vec![];
        for (column, value) in columns.iter().zip(keys.row(row)) {
            encode_value_of(column, value, &mut key)?;
        }
        positions.push(row as u32);
        all.push(key);
    }
    Ok((positions, all))
}

impl RowTables for ProgramTables<'_> {
    fn scan<'a>(
        &'a self,
        scan: &'a Scan,
        access: &'a Access,
        room: Room,
    ) -> LocalFuture<'a, Result<Cells, Stopped>> {
        Box::pin(self.scanned(scan, access, room))
    }

    fn lookup<'a>(
        &'a self,
        join: &'a LookupJoin,
        keys: &'a Cells,
        room: Room,
    ) -> LocalFuture<'a, Result<Found, Stopped>> {
        Box::pin(self.joined(join, keys, room))
    }
}
