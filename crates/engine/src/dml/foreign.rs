//! Foreign keys: rows that refer must find their row, rows referred to must stay or take the others
//! along. Checked on the state that the whole statement would leave.

pub(crate) mod acting;
pub(crate) mod link;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use arrow_array::RecordBatch;
use plan::catalog::TableId;
use plan::constraints::{ForeignKey, ReferentialAction};
use sql::dml::{TargetCatalog, rows_with_keys};
use txn::locks::mode::LockMode;
use types::text::format_value;
use types::{SqlError, SqlResult, SqlState};

use super::change::Change;
use super::references::{Reference, missing_parent, referring};
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::deferred::{Doubt, Doubted};
use crate::writing::Writing;
use link::{Key, Link};

/// Rows that one query looks for.
pub(super) const KEYS_PER_QUERY: usize = 200;

/// The change, and those of other tables that follow from it.
///
/// Errors: 23503.
pub(super) async fn enforce(writing: &Writing<'_>, change: Change) -> SqlResult<Vec<Change>> {
    let refers = !change.entry.def.constraints.foreign_keys.is_empty();
    let referred =
        !change.removed.is_empty() && !referring(&writing.catalog, change.entry.def.id).is_empty();
    if !refers && !referred {
        return Ok(vec![change]);
    }
    writing.block()?.note_newest_seen();
    let mut state = State { writing, changes: BTreeMap::new(), handled: HashSet::new() };
    let first = change.entry.def.id;
    state.changes.insert(first, change);
    state.follow(first).await?;
    state.check_referring().await?;
    Ok(state.changes.into_values().collect())
}

/// What has become of a key.
enum Gone {
    Deleted,
    /// The row has other values now, perhaps nulls.
    Changed(Vec<Option<String>>),
}

/// A key that a row has no more: its place among the rows that go, and what has become of it.
struct Lost {
    row: u32,
    what: Gone,
}

struct State<'a> {
    writing: &'a Writing<'a>,
    changes: BTreeMap<TableId, Change>,
    /// Foreign keys with values that were followed already.
    handled: HashSet<(TableId, String, Key)>,
}

impl State<'_> {
    /// Does what the foreign keys that refer to the table ask for, and so on from table to table.
    async fn follow(&mut self, first: TableId) -> SqlResult<()> {
        // Breadth first, as PostgreSQL does: all keys of a table are followed before what they have changed.
        let catalog = &self.writing.catalog;
        let keys = |table| referring(catalog, table).into_iter().map(move |link| (table, link));
        let mut open: VecDeque<_> = keys(first).collect();
        while let Some((table, (child, key))) = open.pop_front() {
            let parent = self.changes[&table].entry.def.clone();
            let link = Link { parent, child: child.def.clone(), key };
            if self.follow_link(table, &child, &link).await? {
                open.extend(keys(child.def.id));
            }
        }
        Ok(())
    }

    /// Does what one foreign key asks for: whether that has changed the child.
    async fn follow_link(
        &mut self,
        table: TableId,
        child: &Arc<TableEntry>,
        link: &Link,
    ) -> SqlResult<bool> {
        let gone = self.gone(table, link);
        if gone.is_empty() {
            return Ok(false);
        }
        if self.writing.catalog.snapshot().is_hidden(child.def.id) {
            return Err(hidden(&child.def.name));
        }
        self.lock_gone(table, &link.key, &gone).await?;
        let changed = self.act_on_added(child, link, &gone).await?;
        let found = self.referring_rows(child, link, &gone).await?;
        Ok(self.act_on_stored(child, link, &gone, found).await? || changed)
    }

    /// Keys that rows of the table had and have no more. As long as another row has it, a key that only refuses
    /// is not asked.
    fn gone(&mut self, table: TableId, link: &Link) -> HashMap<Key, Lost> {
        let (change, key) = (&self.changes[&table], &link.key);
        let mut gone = HashMap::new();
        if change.removed.is_empty() {
            return gone;
        }
        let added = texts_of(&change.added, &key.referenced);
        let kept: HashSet<&Key> = added.iter().flatten().collect();
        let removed = texts_of(&change.removed, &key.referenced);
        let (count, deleted) = (removed.len(), removed.len() - change.pairs);
        for (row, old) in removed.into_iter().enumerate() {
            let Some(old) = old else { continue };
            let new = (row >= deleted).then(|| added.len() + row - count);
            let action = if new.is_some() { key.on_update } else { key.on_delete };
            let stays = new.is_some_and(|new| added[new].as_ref() == Some(&old))
                || (action == ReferentialAction::Refuse && kept.contains(&old));
            if stays || !self.handled.insert((link.child.id, key.name.clone(), old.clone())) {
                continue;
            }
            let values = |new| values_of(change.added.batch(), &key.referenced, new);
            let what = new.map_or(Gone::Deleted, |new| Gone::Changed(values(new)));
            gone.insert(old, Lost { row: row as u32, what });
        }
        gone
    }

    /// Locks the keys: nobody refers to them any more unless it is committed.
    async fn lock_gone(
        &self,
        table: TableId,
        key: &ForeignKey,
        gone: &HashMap<Key, Lost>,
    ) -> SqlResult<()> {
        let change = &self.changes[&table];
        let reference = Reference::new(&change.entry, &key.referenced)?;
        let mut rows: Vec<u32> = gone.values().map(|lost| lost.row).collect();
        rows.sort_unstable();
        let prefixes = reference.prefixes(change.removed.take(&rows)?.batch())?;
        let locks = reference.locks(prefixes.iter().flatten(), LockMode::Update);
        self.writing.lock_rows(&change.entry, locks).await
    }

    /// Rows of the child that refer to one of the keys, as they are after the changes so far.
    async fn referring_rows(
        &self,
        child: &Arc<TableEntry>,
        link: &Link,
        gone: &HashMap<Key, Lost>,
    ) -> SqlResult<Rows> {
        let key = &link.key;
        let target = TargetCatalog::new(&self.writing.catalog, &child.def.name)?;
        let mut found = Rows::none(child);
        let (types, keys) = link.sought(&gone.keys().collect::<Vec<_>>())?;
        for keys in keys.chunks(KEYS_PER_QUERY) {
            let keys: Vec<&Key> = keys.iter().collect();
            let query = rows_with_keys(&target, &key.columns, &types, &keys)?;
            let rows = self.writing.rows_of_latest(&query, &child.def.name).await?;
            found = found.and(&Rows::found(child, &rows)?)?;
        }
        let values = link.referred(found.batch())?;
        let gone_rows = match self.changes.get(&child.def.id) {
            Some(change) => change.removed.keys(child)?.into_iter().collect::<HashSet<Vec<u8>>>(),
            None => HashSet::new(),
        };
        let keys = found.keys(child)?;
        let stays = |&row: &u32| {
            let refers = values[row as usize].as_ref().is_some_and(|key| gone.contains_key(key));
            refers && !gone_rows.contains(&keys[row as usize])
        };
        let stays: Vec<u32> = (0..found.len() as u32).filter(stays).collect();
        found.take(&stays)
    }

    /// Whether nothing happens to these rows of the child, which refer to keys that have gone, until the transaction
    /// commits.
    fn defers(&self, Link { child, key, .. }: &Link, found: &Rows) -> SqlResult<bool> {
        if !self.writing.defers(&key.name, key.deferral) {
            return Ok(false);
        }
        let values = texts_of(found, &key.columns);
        self.writing.block()?.note_doubts(values.into_iter().flatten().map(|values| Doubt {
            table: child.id,
            constraint: key.name.clone(),
            what: Doubted::Removed,
            values,
        }));
        Ok(true)
    }

    /// Refuses rows that are added and refer to no row of the state afterwards.
    async fn check_referring(&self) -> SqlResult<()> {
        for change in self.changes.values() {
            for key in &change.entry.def.constraints.foreign_keys {
                self.check_key(change, key).await?;
            }
        }
        Ok(())
    }

    async fn check_key(&self, change: &Change, key: &ForeignKey) -> SqlResult<()> {
        let parent = &self.writing.referred(key)?;
        let reference = Reference::new(parent, &key.referenced)?;
        let rows = change.added.batch();
        let referred = reference.referred(rows, &key.columns, &key.referenced)?;
        // Whoever takes the key away waits for this one, or has been waited for.
        let locks = reference.locks(referred.keys.iter().flatten(), LockMode::KeyShare);
        self.writing.lock_rows(parent, locks).await?;
        let stored = reference.find(&referred.keys).await?;
        let other = self.changes.get(&parent.def.id);
        let (mut gone, mut come) = (HashSet::new(), HashSet::new());
        if let Some(other) = other {
            gone.extend(reference.prefixes(other.removed.batch())?.into_iter().flatten());
            come.extend(reference.prefixes(other.added.batch())?.into_iter().flatten());
        }
        for (row, prefix) in referred.keys.iter().enumerate() {
            let has_gone = prefix.as_ref().is_some_and(|prefix| gone.contains(prefix));
            let has_come = prefix.as_ref().is_some_and(|prefix| come.contains(prefix));
            let stored = stored[row].as_ref().filter(|_| !has_gone);
            if has_come || !referred.is_missing(row, stored) {
                continue;
            }
            if let Some(prefix) = prefix {
                self.writing.check_seen(&reference, prefix, true)?;
            }
            if !self.writing.defers(&key.name, key.deferral) {
                return Err(missing_parent(&change.entry, key, parent, rows, row));
            }
            let doubt = missing_in_doubt(&change.entry, key, rows, row);
            self.writing.block()?.note_doubts(doubt);
        }
        Ok(())
    }
}

/// 0A000: what refers is found by its name.
fn hidden(table: &str) -> SqlError {
    SqlError::unsupported("changing keys to which a table may refer that a temporary one hides")
        .with_detail(format!("a temporary table is named \"{table}\", too"))
        .with_hint("drop the temporary table, or change the keys in another session")
}

/// 23503 for a row that refers to one which has gone.
pub(super) fn still_referenced(Link { parent, child, key }: &Link, values: &[String]) -> SqlError {
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        parent.name, key.name, child.name
    );
    let names = key.referenced.iter().map(|&i| parent.schema.columns[i].name.as_str());
    let detail = format!(
        "Key ({})=({}) is still referenced from table \"{}\".",
        names.collect::<Vec<_>>().join(", "),
        values.join(", "),
        child.name
    );
    SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .with_detail(detail)
        .of_table(&child.name)
        .of_constraint(&key.name)
}

/// The values of columns as texts, `None` for rows with a null among them.
fn texts_of(rows: &Rows, ordinals: &[usize]) -> Vec<Option<Key>> {
    (0..rows.len()).map(|row| row_texts(rows.batch(), ordinals, row)).collect()
}

pub(super) fn row_texts(rows: &RecordBatch, ordinals: &[usize], row: usize) -> Option<Key> {
    ordinals.iter().map(|&i| link::key_text(rows.column(i), row)).collect()
}

/// The values of columns in a row as texts.
fn values_of(rows: &RecordBatch, ordinals: &[usize], row: usize) -> Vec<Option<String>> {
    ordinals.iter().map(|&i| format_value(rows.column(i), row)).collect()
}

/// What a row with a foreign key that finds no row leaves to be looked at again.
pub(super) fn missing_in_doubt(
    entry: &TableEntry,
    key: &ForeignKey,
    rows: &RecordBatch,
    row: usize,
) -> Option<Doubt> {
    let values = row_texts(rows, &key.columns, row)?;
    let (table, constraint) = (entry.def.id, key.name.clone());
    Some(Doubt { table, constraint, what: Doubted::Missing, values })
}
