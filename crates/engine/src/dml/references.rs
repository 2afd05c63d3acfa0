//! Looking rows up by unique keys, keys that several rows have, and which tables refer to which.

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use exec::{Access, Skips};
use plan::catalog::{IndexDef, TableId};
use plan::constraints::ForeignKey;
use runtime::IoCounters;
use runtime::sync::Cancel;
use sql::dml::equal;
use storage::{Cursor, Depth, Direction, Tree};
use txn::locks::mode::{LockKey, LockMode};
use txn::undo::{ReadView, Seen};
use txn::visible::VisibleTree;
use txn::waiting::give_way;
use types::cells::Cells;
use types::key::{KeyColumn, KeyEncoder, split_columns, successor};
use types::row::{BatchBuilder, index_key_columns, primary_key_columns};
use types::text::format_value;
use types::writer::encode_key;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::rows::cells_of;
use crate::catalog::entry::{IndexEntry, TableEntry};
use crate::catalog::snapshot::Snapshot;
use crate::columns::fetch::ChunkFetch;
use crate::fault;
use crate::load::tree::same_key;
use crate::relation::fetch::Fetch;
use crate::relation::keys::end_of;
use crate::relation::programs::rows_now;
use crate::system::catalog::SystemCatalog;

/// The tables that refer to `table`, each with one of its foreign keys that do.
pub(crate) fn referring(
    catalog: &SystemCatalog,
    table: TableId,
) -> Vec<(Arc<TableEntry>, ForeignKey)> {
    let tables = catalog.snapshot().referring(table);
    let keys = |t: &Arc<TableEntry>| {
        let own = t.def.constraints.foreign_keys.iter().filter(|k| k.table == table.0).cloned();
        own.map(|key| (t.clone(), key)).collect::<Vec<_>>()
    };
    tables.flat_map(keys).collect()
}

/// What rows refer to.
pub(crate) struct Referred {
    /// Encoded keys; none where a column is null, and where no row can have what the columns are equal to.
    pub(super) keys: Vec<Option<Vec<u8>>>,
    is_astray: Vec<bool>,
}

impl Referred {
    /// Whether a row refers to one of which nothing is stored, when this is `found` for its key.
    pub(super) fn is_missing<T>(&self, row: usize, found: Option<&T>) -> bool {
        self.is_astray[row] || (self.keys[row].is_some() && found.is_none())
    }
}

/// A unique key of a table: its primary key or a unique index.
pub(crate) struct Reference {
    entry: Arc<TableEntry>,
    tree: Tree,
    key: Vec<KeyColumn>,
    /// Ordinals of the key's columns, in its order.
    columns: Vec<usize>,
    /// Where the primary key lies in the tree's key.
    primary: Vec<usize>,
}

impl Reference {
    /// The unique key on these columns, in whatever order, that is not deferrable.
    ///
    /// Errors: 42830 when there is none.
    pub(crate) fn new(entry: &Arc<TableEntry>, ordinals: &[usize]) -> SqlResult<Reference> {
        let def = &entry.def;
        let same = |columns: &[usize]| {
            columns.len() == ordinals.len() && columns.iter().all(|c| ordinals.contains(c))
        };
        if !def.primary_key.is_empty() && same(&def.primary_key) {
            let (tree, key) = (entry.tree.clone(), entry.layout.key.clone());
            let (columns, primary) = (def.primary_key.clone(), (0..key.len()).collect());
            return Ok(Reference { entry: entry.clone(), tree, key, columns, primary });
        }
        let found = def.indexes.iter().position(|i| i.is_always_unique() && same(&i.columns));
        let Some(position) = found else {
            let message = format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                def.name
            );
            return Err(SqlError::new(SqlState::INVALID_FOREIGN_KEY, message));
        };
        Ok(Reference::of_index(entry, position))
    }

    /// The key of a unique index.
    pub(super) fn of_index(entry: &Arc<TableEntry>, position: usize) -> Reference {
        let def = &entry.def;
        let columns = def.indexes[position].columns.clone();
        let key = index_key_columns(&def.schema, &def.primary_key, &columns);
        let place = |c: &KeyColumn| key.iter().position(|k| k.ordinal == c.ordinal);
        let primary = primary_key_columns(&def.schema, &def.primary_key);
        let primary = primary.iter().filter_map(place).collect();
        let (entry, tree) = (entry.clone(), entry.indexes[position].tree.clone());
        Reference { entry, tree, key, columns, primary }
    }

    /// For each row of the table, the encoded key; `None` where a column is null.
    pub(crate) fn prefixes(&self, rows: &RecordBatch) -> SqlResult<Vec<Option<Vec<u8>>>> {
        let arrays: Vec<ArrayRef> = self.columns.iter().map(|&c| rows.column(c).clone()).collect();
        self.encoded(&arrays, rows.num_rows())
    }

    /// The same for rows of values.
    pub(crate) fn prefixes_of_cells(&self, rows: &Cells) -> SqlResult<Vec<Option<Vec<u8>>>> {
        let has_null = |row| self.columns.iter().any(|&column| rows.value(row, column).is_null());
        let encode = |row: usize| {
            if has_null(row) {
                return Ok(None);
            }
            let mut bytes = vec![];
            encode_key(&self.key[..self.columns.len()], rows, row, &mut bytes)?;
            Ok(Some(bytes))
        };
        (0..rows.len()).map(encode).collect()
    }

    /// The same for rows of another table: its columns at `own` correspond to ours at `referenced`.
    pub(crate) fn referred(
        &self,
        rows: &RecordBatch,
        own: &[usize],
        referenced: &[usize],
    ) -> SqlResult<Referred> {
        let (mut arrays, mut is_other) = (vec![], vec![false; rows.num_rows()]);
        for column in &self.columns {
            let at = referenced.iter().position(|r| r == column);
            let at = at.ok_or_else(|| SqlError::internal("a foreign key without its column"))?;
            let values = rows.column(own[at]);
            let ours = equal(values, &self.entry.def.schema.columns[*column])?;
            for (row, is_other) in is_other.iter_mut().enumerate() {
                *is_other |= ours.is_null(row) && values.is_valid(row);
            }
            arrays.push(ours);
        }
        let is_null = |row: usize| own.iter().any(|&column| rows.column(column).is_null(row));
        let is_astray = is_other.iter().enumerate().map(|(row, other)| *other && !is_null(row));
        let is_astray = is_astray.collect();
        Ok(Referred { keys: self.encoded(&arrays, rows.num_rows())?, is_astray })
    }

    /// The same for values of the key's columns.
    fn encoded(&self, arrays: &[ArrayRef], count: usize) -> SqlResult<Vec<Option<Vec<u8>>>> {
        let encoder = KeyEncoder::new(&self.key[..self.columns.len()], arrays);
        let encode = |row: usize| {
            if encoder.has_null(row) {
                return Ok(None);
            }
            let mut bytes = vec![];
            encoder.encode(row, &mut bytes)?;
            Ok(Some(bytes))
        };
        (0..count).map(encode).collect()
    }

    /// What locks these keys.
    pub(crate) fn locks<'a>(
        &self,
        keys: impl Iterator<Item = &'a Vec<u8>>,
        mode: LockMode,
    ) -> Vec<(LockKey, LockMode)> {
        let lock = |key: &Vec<u8>| (LockKey { tree: self.tree.id(), key: key.clone() }, mode);
        keys.map(lock).collect()
    }

    /// What the view sees of rows with the key that others have changed since.
    ///
    /// # Errors
    /// 72000
    pub(crate) fn replaced(&self, key: &[u8], view: &ReadView) -> SqlResult<Vec<Seen>> {
        let end = successor(key);
        view.replaced(self.tree.id(), key, end.as_deref())
    }

    /// For each key, the clustered key of the stored row that has it. Lock the keys before, for the tree has
    /// what others have not committed yet.
    pub(crate) async fn find(&self, keys: &[Option<Vec<u8>>]) -> SqlResult<Vec<Option<Vec<u8>>>> {
        let io = IoCounters::default();
        if let ([Some(key)], true) = (keys, self.columns.len() == self.key.len()) {
            let stored = self.tree.get(key, &io, |_| ()).await.map_err(fault::storage)?;
            return Ok(vec![stored.map(|()| self.clustered(key))]);
        }
        let wanted = keys.iter().enumerate().filter_map(|(i, k)| k.clone().map(|k| (i, k)));
        let (at, ranges): (Vec<usize>, Vec<_>) =
            wanted.map(|(i, key)| (i, (key.clone(), end_of(&key)))).unzip();
        let mut found = vec![None; keys.len()];
        let mut visit = |position: usize, stored: &[u8], _: &[u8]| {
            found[at[position]] = Some(self.clustered(stored));
        };
        let searched = self.tree.range_batch(&ranges, Depth::Many, &io, &mut visit).await;
        searched.map_err(fault::storage)?;
        Ok(found)
    }

    /// The clustered key of the row of an entry.
    fn clustered(&self, stored: &[u8]) -> Vec<u8> {
        let columns = split_columns(&self.key, stored);
        self.primary.iter().flat_map(|&i| columns[i].iter().copied()).collect()
    }
}

/// A walk over all entries of a unique index, for keys that several rows have: entries end with the key of their row
/// (`docs/format/row.md`), so they stand behind each other.
pub(crate) struct RepeatedKeys<'a> {
    index: &'a IndexDef,
    stored: &'a IndexEntry,
    leaves: Cursor,
    /// The key of the last entry.
    last: Vec<u8>,
    /// Entries of the last leaf.
    walked: usize,
    cancel: &'a Cancel,
}

impl<'a> RepeatedKeys<'a> {
    /// That of the index at a position of the table's.
    pub(crate) fn new(
        entry: &'a TableEntry,
        position: usize,
        cancel: &'a Cancel,
    ) -> RepeatedKeys<'a> {
        let (index, stored) = (&*entry.def.indexes[position], &entry.indexes[position]);
        let leaves = stored.tree.range(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        RepeatedKeys { index, stored, leaves, last: vec![], walked: 0, cancel }
    }

    /// The keys in the next leaf that are those of the entry before them, without a null: a column for each
    /// of the index's; often none. `None` at the end.
    ///
    /// # Errors
    /// 57014; those of storage.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        give_way(self.cancel).await?;
        let leaf = self.leaves.next(&IoCounters::default()).await.map_err(fault::storage)?;
        let Some(leaf) = leaf else { return Ok(None) };
        self.walked = leaf.len();
        let layout = &self.stored.layout;
        let (columns, mut key) = (&layout.key, vec![]);
        let unique = &columns[..self.index.columns.len()];
        let mut found = BatchBuilder::new(layout.clone(), &self.index.columns, 0);
        for at in 0..leaf.len() {
            key.clear();
            let value = leaf.entry(at, &mut key);
            if same_key(unique, columns, &self.last, &key) {
                found.push(&key, value);
            }
            std::mem::swap(&mut self.last, &mut key);
        }
        Ok(Some(found.finish()))
    }

    /// How many entries the last step has seen.
    pub(crate) fn walked(&self) -> u64 {
        self.walked as u64
    }
}

/// The rows with these clustered keys, in the order of the keys: the columns of the table, then its
/// row id if it has one.
pub(crate) async fn stored_rows(
    snapshot: &Snapshot,
    entry: &TableEntry,
    keys: &[Vec<u8>],
) -> SqlResult<Cells> {
    let ordinals: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
    let Some(chunks) = ChunkFetch::new(snapshot, entry, &ordinals, None, None)? else {
        return rows_now(entry, keys).await;
    };
    let tree = VisibleTree::now(entry.tree.clone());
    let fetch = Fetch::new(entry, tree, ordinals, Some(chunks));
    let (io, skips) = (IoCounters::default(), Skips::default());
    let access = Access { depth: exec::Depth::Many, io: &io, skips: &skips };
    let (rows, places) = fetch.rows(keys, access).await?;
    cells_of(rows.columns(), &inverse(&places))
}

/// For each place the position at which it stands in the order.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut back = vec![0u32; order.len()];
    order.iter().zip(0..).for_each(|(&position, at)| back[position as usize] = at);
    back
}

/// Refuses rows of `entry` whose foreign key finds no row of the table it refers to.
///
/// Errors: 23503.
pub(crate) async fn check_all(
    entry: &TableEntry,
    key: &ForeignKey,
    parent: &Arc<TableEntry>,
    rows: &RecordBatch,
) -> SqlResult<()> {
    let missing = without_parent(key, parent, rows).await?;
    let first = missing.first();
    first.map_or(Ok(()), |&row| Err(missing_parent(entry, key, parent, rows, row)))
}

/// The rows whose foreign key finds no row of the table it refers to.
pub(crate) async fn without_parent(
    key: &ForeignKey,
    parent: &Arc<TableEntry>,
    rows: &RecordBatch,
) -> SqlResult<Vec<usize>> {
    let reference = Reference::new(parent, &key.referenced)?;
    let referred = reference.referred(rows, &key.columns, &key.referenced)?;
    let found = reference.find(&referred.keys).await?;
    let is_missing = |&row: &usize| referred.is_missing(row, found[row].as_ref());
    Ok((0..found.len()).filter(is_missing).collect())
}

/// 23503 for a row that refers to none.
pub(crate) fn missing_parent(
    entry: &TableEntry,
    key: &ForeignKey,
    parent: &TableEntry,
    rows: &RecordBatch,
    row: usize,
) -> SqlError {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        entry.def.name, key.name
    );
    let detail = format!(
        "{} is not present in table \"{}\".",
        shown_key(entry, &key.columns, rows, row),
        parent.def.name
    );
    SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .with_detail(detail)
        .of_table(&entry.def.name)
        .of_constraint(&key.name)
}

/// The types of a table's columns.
pub(super) fn types_of(entry: &TableEntry, ordinals: &[usize]) -> Vec<LogicalType> {
    ordinals.iter().map(|&column| entry.def.schema.columns[column].ty).collect()
}

/// `Key (a, b)=(1, 2)`.
pub(crate) fn shown_key(
    entry: &TableEntry,
    ordinals: &[usize],
    rows: &RecordBatch,
    row: usize,
) -> String {
    let values: Vec<ArrayRef> = ordinals.iter().map(|&i| rows.column(i).clone()).collect();
    format!("Key {}", named_values(entry, ordinals, &values, row))
}

/// `(a, b)=(1, 2)`: columns of a table by their ordinals, and their values in a row.
pub(crate) fn named_values(
    entry: &TableEntry,
    ordinals: &[usize],
    values: &[ArrayRef],
    row: usize,
) -> String {
    let names = ordinals.iter().map(|&column| entry.def.schema.columns[column].name.as_str());
    let names: Vec<&str> = names.collect();
    let value = |column: &ArrayRef| format_value(column, row).unwrap_or_else(|| "null".into());
    let values: Vec<String> = values.iter().map(value).collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}
