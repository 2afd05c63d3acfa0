//! Rows that a table leaves behind when its trees are written anew.
//!
//! Row ids are a bit each, in pages of 1 KiB that lie side by side where they do. Keys are sorted on disk
//! like everything else of a load, and met in the order of the clustered tree.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use runtime::sync::Cancel;
use txn::waiting::give_way;
use types::SqlResult;
use types::key::{KeyColumn, KeyEncoder};

use super::keys::key_arrays;
use crate::catalog::entry::TableEntry;
use crate::database::Database;
use crate::sorter::Sorter;
use crate::sorter::merge::Sorted;

/// Memory of the keys that are sorted, a part of what the load sorts in.
const KEYS_SHARE: usize = 16;

/// The least of it.
const KEYS_BYTES_MIN: usize = 1 << 20;

/// Rows whose keys are looked at between looks at the clock.
const ROWS_PER_LOOK: usize = 64;

/// Takes the rows that go, in any order.
pub(crate) enum Leaving {
    /// Of a table whose rows have ids.
    Ids(IdSet),
    /// By their keys in the clustered tree, which has these columns.
    Keys(Vec<KeyColumn>, Sorter),
}

/// The rows that go, to be met in the order of the clustered tree.
pub(crate) enum Left {
    /// None.
    Nothing,
    /// Those with these row ids.
    Ids(IdSet),
    /// Those with these keys.
    Keys(Box<SortedKeys>),
}

impl Leaving {
    /// Nothing yet of this table.
    pub(crate) fn of(db: &Database, entry: &TableEntry) -> Leaving {
        if entry.def.primary_key.is_empty() {
            return Leaving::Ids(IdSet::default());
        }
        let budget_bytes = (db.shares().sort() / KEYS_SHARE).max(KEYS_BYTES_MIN);
        Leaving::Keys(entry.layout.key.clone(), Sorter::new(db.sort_path(), budget_bytes))
    }

    /// Adds rows of the table: all its columns, and their row ids.
    ///
    /// # Errors
    /// 53100, 57014.
    pub(crate) async fn push(
        &mut self,
        rows: &RecordBatch,
        ids: &ArrayRef,
        cancel: &Cancel,
    ) -> SqlResult<()> {
        let (key, sorter) = match self {
            Leaving::Ids(set) => {
                ids.as_primitive::<Int64Type>().values().iter().for_each(|&id| set.insert(id));
                return Ok(());
            }
            Leaving::Keys(key, sorter) => (key, sorter),
        };
        let encoder = KeyEncoder::new(key, &key_arrays(key, rows, ids));
        let mut bytes = vec![];
        for row in 0..rows.num_rows() {
            bytes.clear();
            encoder.encode(row, &mut bytes)?;
            sorter.push(&bytes, b"");
            if row % ROWS_PER_LOOK == 0 {
                give_way(cancel).await?;
            }
        }
        sorter.spill_if_full(cancel).await
    }

    /// All of them.
    pub(crate) fn finish(self) -> Left {
        match self {
            Leaving::Ids(set) => Left::Ids(set),
            Leaving::Keys(_, sorter) => {
                let sorted = Sorted::of(vec![sorter.finish()]);
                Left::Keys(Box::new(SortedKeys { sorted, next: None, has_begun: false }))
            }
        }
    }

    /// Removes what was spilled of rows that nobody will ask for.
    pub(crate) async fn discard(self) {
        if let Leaving::Keys(_, sorter) = self {
            sorter.finish().discard().await;
        }
    }
}

impl Left {
    /// Whether all rows stay.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Left::Nothing)
    }

    /// The rows that stay, of some that follow those asked about before in the order of the clustered tree.
    pub(super) async fn staying(
        &mut self,
        entry: &TableEntry,
        rows: RecordBatch,
        ids: ArrayRef,
    ) -> SqlResult<(RecordBatch, ArrayRef)> {
        let stays: Vec<bool> = match self {
            Left::Nothing => return Ok((rows, ids)),
            Left::Ids(set) => {
                ids.as_primitive::<Int64Type>().values().iter().map(|&id| !set.has(id)).collect()
            }
            Left::Keys(keys) => keys.others(&entry.layout.key, &rows, &ids).await?,
        };
        let internal = crate::fault::internal;
        let stays = BooleanArray::from(stays);
        let kept = arrow_select::filter::filter_record_batch(&rows, &stays).map_err(internal)?;
        Ok((kept, arrow_select::filter::filter(&ids, &stays).map_err(internal)?))
    }

    /// Removes what was spilled.
    pub(super) async fn discard(self) {
        if let Left::Keys(keys) = self {
            keys.sorted.discard().await;
        }
    }
}

/// Keys in ascending order.
pub(crate) struct SortedKeys {
    sorted: Sorted,
    /// The first that is not below those asked about.
    next: Option<Vec<u8>>,
    has_begun: bool,
}

impl SortedKeys {
    /// For each row whether its key is none of these.
    async fn others(
        &mut self,
        key: &[KeyColumn],
        rows: &RecordBatch,
        ids: &ArrayRef,
    ) -> SqlResult<Vec<bool>> {
        let encoder = KeyEncoder::new(key, &key_arrays(key, rows, ids));
        let (mut bytes, mut others) = (vec![], Vec::with_capacity(rows.num_rows()));
        for row in 0..rows.num_rows() {
            bytes.clear();
            encoder.encode(row, &mut bytes)?;
            self.go_to(&bytes).await?;
            others.push(self.next.as_ref() != Some(&bytes));
        }
        Ok(others)
    }

    async fn go_to(&mut self, key: &[u8]) -> SqlResult<()> {
        while !self.has_begun || self.next.as_deref().is_some_and(|next| next < key) {
            self.has_begun = true;
            self.next = self.sorted.next().await?.map(|(key, _)| key.to_vec());
        }
        Ok(())
    }
}

/// Row ids, most of them close to others: a bit each, of pages that have any.
#[derive(Default)]
pub(crate) struct IdSet(HashMap<i64, Box<[u64; IdSet::WORDS]>>);

impl IdSet {
    const WORDS: usize = 128;
    const BITS: i64 = 64 * IdSet::WORDS as i64;

    fn insert(&mut self, id: i64) {
        let (page, word, bit) = IdSet::place(id);
        self.0.entry(page).or_insert_with(|| Box::new([0; IdSet::WORDS]))[word] |= bit;
    }

    fn has(&self, id: i64) -> bool {
        let (page, word, bit) = IdSet::place(id);
        self.0.get(&page).is_some_and(|words| words[word] & bit != 0)
    }

    fn place(id: i64) -> (i64, usize, u64) {
        let within = id.rem_euclid(IdSet::BITS);
        (id.div_euclid(IdSet::BITS), (within / 64) as usize, 1 << (within % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::IdSet;

    #[test]
    fn ids_are_told_apart_at_the_borders_of_words_and_pages() {
        let ids = [i64::MIN, -1, 0, 63, 64, IdSet::BITS - 1, IdSet::BITS, i64::MAX];
        let mut set = IdSet::default();
        ids.iter().for_each(|&id| set.insert(id));
        let near = |id: i64| [id.checked_sub(1), Some(id), id.checked_add(1)];
        for id in ids.into_iter().flat_map(near).flatten() {
            assert_eq!(set.has(id), ids.contains(&id), "{id}");
        }
    }
}
