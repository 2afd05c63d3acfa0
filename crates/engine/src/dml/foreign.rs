//! Foreign keys: rows that refer must find their row, rows referred to must stay or take the others
//! along. Checked on the state that the whole statement would leave.

mod link;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use sql::catalog::{TableDef, TableId};
use sql::constraints::{ForeignKey, ReferentialAction};
use sql::dml::{Defaults, TargetCatalog, assign, rows_with_keys};
use types::parse::ColumnParser;
use types::text::format_value;
use types::{SqlError, SqlResult, SqlState};

pub(super) use self::link::Key;
use self::link::Link;
use super::references::{Reference, missing_parent, referring, shown_key};
use super::rows::{Rows, batch};
use super::{Change, checked};
use crate::catalog::TableEntry;
use crate::deferred::{Doubt, Doubted};
use crate::locks::LockMode;
use crate::writing::Writing;

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

struct State<'a> {
    writing: &'a Writing<'a>,
    changes: BTreeMap<TableId, Change>,
    /// Foreign keys with values that were followed already.
    handled: HashSet<(TableId, String, Key)>,
}

impl State<'_> {
    /// Does what the foreign keys that refer to the table ask for, and so on from table to table.
    async fn follow(&mut self, first: TableId) -> SqlResult<()> {
        // Depth first: what follows from a change is done before the table's next key is looked at.
        let catalog = &self.writing.catalog;
        let mut open = vec![(first, referring(catalog, first).into_iter())];
        while let Some((table, keys)) = open.last_mut() {
            let table = *table;
            let Some((child, key)) = keys.next() else {
                open.pop();
                continue;
            };
            let parent = self.changes[&table].entry.def.clone();
            let link = Link { parent, child: child.def.clone(), key };
            if self.follow_link(table, &child, &link).await? {
                open.push((child.def.id, referring(catalog, child.def.id).into_iter()));
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
        self.lock_gone(table, &link.key).await?;
        let found = self.referring_rows(child, link, &gone).await?;
        if found.is_empty() {
            return Ok(false);
        }
        let values = link.referred(&found.batch)?;
        if self.defers(link, &gone, &found, &values)? {
            return Ok(false);
        }
        self.act((child, link), &gone, found, &values).await?;
        Ok(true)
    }

    /// Keys that rows of the table had and no row has afterwards, with what they became where rows
    /// were changed one by one.
    fn gone(&mut self, table: TableId, link: &Link) -> HashMap<Key, Option<Key>> {
        let (change, key) = (&self.changes[&table], &link.key);
        let mut gone = HashMap::new();
        let added = texts_of(&change.added, &key.referenced);
        let kept: HashSet<&Key> = added.iter().flatten().collect();
        let removed = texts_of(&change.removed, &key.referenced);
        let updates = change.aligned;
        let first = added.len().saturating_sub(removed.len());
        for (row, old) in removed.into_iter().enumerate() {
            let Some(old) = old.filter(|old| !kept.contains(old)) else { continue };
            let name = (link.child.id, key.name.clone(), old.clone());
            if self.handled.insert(name) {
                let new = updates.then(|| added[first + row].clone()).flatten();
                gone.insert(old, new);
            }
        }
        gone
    }

    /// Locks keys that rows of the table had and no row has afterwards: nobody refers to them any more
    /// unless it is committed.
    async fn lock_gone(&self, table: TableId, key: &ForeignKey) -> SqlResult<()> {
        let change = &self.changes[&table];
        let reference = Reference::new(&change.entry, &key.referenced)?;
        let kept = reference.prefixes(&change.added.batch)?;
        let kept: HashSet<&Vec<u8>> = kept.iter().flatten().collect();
        let removed = reference.prefixes(&change.removed.batch)?;
        let gone = removed.iter().flatten().filter(|prefix| !kept.contains(prefix));
        self.writing.lock_rows(&change.entry, reference.locks(gone, LockMode::Update)).await
    }

    /// Rows of the child that refer to one of the keys, as they are after the changes so far.
    async fn referring_rows(
        &self,
        child: &Arc<TableEntry>,
        link: &Link,
        gone: &HashMap<Key, Option<Key>>,
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
        let values = link.referred(&found.batch)?;
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

    /// Whether nothing happens to the rows that refer to keys which have gone, until the transaction
    /// commits.
    fn defers(
        &self,
        Link { child, key, .. }: &Link,
        gone: &HashMap<Key, Option<Key>>,
        found: &Rows,
        values: &[Option<Key>],
    ) -> SqlResult<bool> {
        let is_refused = Self::action(key, gone, values) == ReferentialAction::Refuse;
        if !is_refused || !self.writing.defers(&key.name, key.deferral) {
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

    /// What the foreign key asks for with rows that refer to these.
    fn action(
        key: &ForeignKey,
        gone: &HashMap<Key, Option<Key>>,
        values: &[Option<Key>],
    ) -> ReferentialAction {
        let is_changed = |value: &Key| gone.get(value).is_some_and(Option::is_some);
        match values.iter().flatten().any(is_changed) {
            true => key.on_update,
            false => key.on_delete,
        }
    }

    async fn act(
        &mut self,
        (child, link): (&Arc<TableEntry>, &Link),
        gone: &HashMap<Key, Option<Key>>,
        found: Rows,
        values: &[Option<Key>],
    ) -> SqlResult<()> {
        let Link { parent, key, .. } = link;
        let new_of = |row: usize| values[row].as_ref().and_then(|v| gone.get(v)?.as_ref());
        let new: Vec<Option<&Key>> = (0..found.len()).map(new_of).collect();
        let updated = new.iter().any(Option::is_some);
        let action = Self::action(key, gone, values);
        let added = match action {
            ReferentialAction::Refuse | ReferentialAction::Restrict => {
                return Err(still_referenced(parent, child, key, &found, 0));
            }
            ReferentialAction::Cascade if !updated => Rows::none(child),
            ReferentialAction::Cascade => self.with_new_keys(child, link, &found, &new).await?,
            ReferentialAction::SetNull | ReferentialAction::SetDefault => {
                self.with_fillings(child, key, &found, action).await?
            }
        };
        let next = match self.changes.remove(&child.def.id) {
            None => Change::new(child, found, added),
            Some(mut change) => {
                change.aligned &= found.len() == added.len();
                change.removed = change.removed.and(&found)?;
                change.added = change.added.and(&added)?;
                change
            }
        };
        self.changes.insert(child.def.id, next);
        Ok(())
    }

    async fn with_new_keys(
        &self,
        child: &TableEntry,
        link: &Link,
        found: &Rows,
        new: &[Option<&Key>],
    ) -> SqlResult<Rows> {
        let mut columns = found.batch.columns().to_vec();
        for (position, &ordinal) in link.key.columns.iter().enumerate() {
            let assigned = link.assigned(position, new.iter().copied())?;
            let mut parser = ColumnParser::new(&child.def.schema.columns[ordinal]);
            for row in 0..found.len() {
                let old = || format_value(found.batch.column(ordinal), row);
                parser.push(format_value(&assigned, row).or_else(old).as_deref())?;
            }
            columns[ordinal] = parser.finish();
        }
        self.replaced(child, found, columns).await
    }

    async fn with_fillings(
        &self,
        child: &TableEntry,
        key: &ForeignKey,
        found: &Rows,
        action: ReferentialAction,
    ) -> SqlResult<Rows> {
        let mut columns = found.batch.columns().to_vec();
        let mut defaults = Defaults::new(&child.def, &self.writing.catalog)?;
        for &ordinal in &key.columns {
            let column = &child.def.schema.columns[ordinal];
            if action == ReferentialAction::SetNull {
                let nulls = new_null_array(&column.ty.arrow(), found.len());
                columns[ordinal] = assign(&nulls, column)?;
                continue;
            }
            let mut parser = ColumnParser::new(column);
            for _ in 0..found.len() {
                parser.push(defaults.next(ordinal)?.as_deref())?;
            }
            columns[ordinal] = parser.finish();
        }
        self.replaced(child, found, columns).await
    }

    async fn replaced(
        &self,
        child: &TableEntry,
        found: &Rows,
        columns: Vec<ArrayRef>,
    ) -> SqlResult<Rows> {
        let rows = batch(&child.def.schema.arrow(), columns, found.len())?;
        let rows = checked(&child.def, &self.writing.catalog, rows)?;
        let ids = match &child.columns {
            // The ids of a part are those of its rows alone.
            Some(_) => child.take_row_ids(rows.num_rows()).await?,
            None => found.ids.clone(),
        };
        Ok(Rows { batch: rows, ids })
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
        let rows = &change.added.batch;
        let referred = reference.referred(rows, &key.columns, &key.referenced)?;
        // Whoever takes the key away waits for this one, or has been waited for.
        let locks = reference.locks(referred.keys.iter().flatten(), LockMode::KeyShare);
        self.writing.lock_rows(parent, locks).await?;
        let stored = reference.find(&referred.keys).await?;
        let other = self.changes.get(&parent.def.id);
        let (mut gone, mut come) = (HashSet::new(), HashSet::new());
        if let Some(other) = other {
            gone.extend(reference.prefixes(&other.removed.batch)?.into_iter().flatten());
            come.extend(reference.prefixes(&other.added.batch)?.into_iter().flatten());
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

/// 23503 for a row of `child` that refers to a row of `parent` which has gone.
pub(super) fn still_referenced(
    parent: &TableDef,
    child: &TableEntry,
    key: &ForeignKey,
    rows: &Rows,
    row: usize,
) -> SqlError {
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        parent.name, key.name, child.def.name
    );
    let values = shown_key(child, &key.columns, &rows.batch, row);
    let names: Vec<&str> =
        key.referenced.iter().map(|&i| parent.schema.columns[i].name.as_str()).collect();
    let values = values.split_once(")=").map_or("", |(_, v)| v);
    let detail = format!(
        "Key ({})={values} is still referenced from table \"{}\".",
        names.join(", "),
        child.def.name
    );
    SqlError::new(SqlState::FOREIGN_KEY_VIOLATION, message)
        .with_detail(detail)
        .of_table(&child.def.name)
        .of_constraint(&key.name)
}

/// The values of columns as texts, `None` for rows with a null among them.
fn texts_of(rows: &Rows, ordinals: &[usize]) -> Vec<Option<Key>> {
    (0..rows.len()).map(|row| row_texts(&rows.batch, ordinals, row)).collect()
}

pub(super) fn row_texts(rows: &RecordBatch, ordinals: &[usize], row: usize) -> Option<Key> {
    ordinals.iter().map(|&i| link::key_text(rows.column(i), row)).collect()
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
