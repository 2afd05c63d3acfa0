//! Rows by a key, or by the first columns of one, as their statement sees them.

use std::ops::Bound;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use sql::ScalarValue;
use sql::plan::IndexRef;
use storage::{Depth, Direction};
use types::row::BatchBuilder;
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::{Snapshot, TableEntry};
use crate::fetch::Fetch;
use crate::source::encode;
use crate::visible::{Entries, beginning_with};

/// Rows that are changed at once; of more a plan makes batches and gives way between them.
const ROWS_MAX: usize = 128;

/// The rows, with all columns of the table; `None` if there may be more than a few.
pub(super) async fn rows(
    snapshot: &Snapshot,
    entry: &TableEntry,
    index: &IndexRef,
    values: &[ScalarValue],
) -> SqlResult<Option<RecordBatch>> {
    let key = encode(&entry.tree_of(index).1.key, values)?;
    match index {
        IndexRef::Primary if values.len() == entry.layout.key.len() => {
            by_keys(snapshot, entry, &[key]).await.map(Some)
        }
        IndexRef::Primary => by_prefix(snapshot, entry, index, key, Found::new(entry)).await,
        IndexRef::Secondary(_) => {
            let layout = entry.tree_of(index).1;
            let fetch = Fetch::new(entry, snapshot.visible(entry.tree.clone()), &layout, &[]);
            let found = Keys { fetch, keys: vec![] };
            let Some(keys) = by_prefix(snapshot, entry, index, key, found).await? else {
                return Ok(None);
            };
            let rows = by_keys(snapshot, entry, &keys).await?;
            match rows.num_rows() == keys.len() {
                true => Ok(Some(rows)),
                false => {
                    let message = "an index entry points to a row that does not exist";
                    Err(SqlError::new(SqlState::DATA_CORRUPTED, message))
                }
            }
        }
    }
}

/// The rows with these whole primary keys.
async fn by_keys(
    snapshot: &Snapshot,
    entry: &TableEntry,
    keys: &[Vec<u8>],
) -> SqlResult<RecordBatch> {
    let (tree, io) = (snapshot.visible(entry.tree.clone()), IoCounters::default());
    let mut found = Found::new(entry);
    match keys {
        [key] => tree.get(key, &io, &mut found).await?,
        keys => tree.get_batch(keys, Depth::Many, &io, &mut found).await?,
    }
    Ok(found.rows.finish())
}

/// What the entries that begin with a key come to.
async fn by_prefix<T: Taken>(
    snapshot: &Snapshot,
    entry: &TableEntry,
    index: &IndexRef,
    key: Vec<u8>,
    mut taken: T,
) -> SqlResult<Option<T::Outcome>> {
    let (tree, io) = (snapshot.visible(entry.tree_of(index).0), IoCounters::default());
    let (low, high) = beginning_with(key);
    let range = (Bound::Included(low), Bound::Excluded(high));
    let first = tree.first(&range, Direction::Forward, ROWS_MAX, &io, &mut taken).await?;
    Ok(first.last.is_none().then(|| taken.finish()))
}

/// Entries on their way to rows.
trait Taken: Entries {
    type Outcome;

    fn finish(self) -> Self::Outcome;
}

/// Rows of the clustered tree.
struct Found<'a> {
    entry: &'a TableEntry,
    rows: BatchBuilder,
}

impl<'a> Found<'a> {
    fn new(entry: &'a TableEntry) -> Found<'a> {
        let ordinals: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
        Found { entry, rows: BatchBuilder::new(entry.layout.clone(), &ordinals, 1) }
    }
}

impl Entries for Found<'_> {
    fn restart(&mut self) {
        *self = Found::new(self.entry);
    }

    fn take(&mut self, _: usize, key: &[u8], value: &[u8]) {
        self.rows.push(key, value);
    }
}

impl Taken for Found<'_> {
    type Outcome = RecordBatch;

    fn finish(mut self) -> RecordBatch {
        self.rows.finish()
    }
}

/// Primary keys from entries of an index.
struct Keys {
    fetch: Fetch,
    keys: Vec<Vec<u8>>,
}

impl Entries for Keys {
    fn restart(&mut self) {
        self.keys.clear();
    }

    fn take(&mut self, _: usize, key: &[u8], _: &[u8]) {
        self.keys.push(self.fetch.primary_key(key));
    }
}

impl Taken for Keys {
    type Outcome = Vec<Vec<u8>>;

    fn finish(self) -> Vec<Vec<u8>> {
        self.keys
    }
}
