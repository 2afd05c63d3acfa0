//! `ON CONFLICT`: which rows are inserted, and which stored rows change instead.

use std::collections::HashSet;
use std::sync::Arc;

use sql::dml::{Assignments, Conflict, ConflictAction};
use txn::locks::mode::{LockKey, LockMode};
use txn::waiting::{give_way, unless_cancelled};
use types::cells::Cells;
use types::{SqlError, SqlResult, SqlState};

use super::change::Change;
use super::constraints::checked_rows;
use super::references::{Reference, stored_rows};
use super::rows::{NewRows, Rows};
use crate::catalog::entry::TableEntry;
use crate::writing::Writing;

/// Stored rows that change together: they are in memory as values.
const ROWS_AT_ONCE: usize = 512;

/// The rows of an `INSERT` as they are written.
pub(super) struct Planned {
    inserted: NewRows,
    /// Rows that were in the way, and what they become.
    removed: Rows,
    updated: Rows,
    /// Where the rows that are written stand, inserted ones first, in the order of the statement.
    pub(super) order: Option<Vec<u32>>,
}

/// The treatment of conflicts, with the values of an execution as one row.
#[derive(Clone, Copy)]
pub(super) struct OnConflict<'a> {
    pub(super) conflict: &'a Conflict,
    pub(super) values: &'a Cells,
}

/// Stored rows in the way of those that are to be inserted.
struct Blocked {
    /// The clustered key of the row that is in the way of each.
    by: Vec<Option<Vec<u8>>>,
    /// Those that have a key of an earlier one.
    repeated: Vec<bool>,
}

impl Planned {
    pub(super) fn all(entry: &TableEntry, inserted: NewRows) -> Planned {
        let (removed, updated) = (Rows::none(entry), Rows::none(entry));
        Planned { inserted, removed, updated, order: None }
    }

    /// The change of the table.
    pub(super) async fn change(self, entry: &Arc<TableEntry>) -> SqlResult<Change> {
        let Planned { inserted, removed, updated, .. } = self;
        let added = match (inserted.is_empty(), updated.is_empty()) {
            (true, false) => updated,
            (_, true) => inserted.numbered(entry).await?,
            (false, false) => inserted.numbered(entry).await?.and(&updated)?,
        };
        Ok(Change::new(entry, removed, added))
    }
}

/// 55000: whether a row is in conflict with one is known when the transaction ends.
fn deferrable_arbiter(entry: &TableEntry, constraint: &str) -> SqlError {
    let message = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints \
                   as arbiters";
    SqlError::new(SqlState("55000"), message).of_table(&entry.def.name).of_constraint(constraint)
}

/// 21000: a row would be changed twice.
fn changed_twice() -> SqlError {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    SqlError::new(SqlState::CARDINALITY_VIOLATION, message).with_hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate \
         constrained values.",
    )
}

/// Which rows are inserted, and which stored rows change instead.
///
/// # Errors
/// 55000 for a key that is deferrable, 21000 for a row that would change twice; those of locks, of
/// storage and of what is computed.
pub(super) async fn resolve(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    rows: NewRows,
    on_conflict: OnConflict<'_>,
) -> SqlResult<Planned> {
    let OnConflict { conflict, values } = on_conflict;
    if let Some(constraint) = conflict.deferrable.as_ref().filter(|_| !rows.is_empty()) {
        return Err(deferrable_arbiter(entry, constraint));
    }
    writing.block()?.note_newest_seen();
    let Blocked { by, repeated } = blocked(writing, entry, &rows, conflict).await?;
    let is_free = |row: &u32| by[*row as usize].is_none() && !repeated[*row as usize];
    let kept: Vec<u32> = (0..rows.len() as u32).filter(is_free).collect();
    let ConflictAction::Update(assignments) = &conflict.action else {
        return Ok(Planned::all(entry, rows.take(&kept)?));
    };
    if by.iter().zip(&repeated).any(|(by, is_repeated)| by.is_none() && *is_repeated) {
        // The earlier row is inserted.
        return Err(changed_twice());
    }
    let in_the_way = (0u32..).zip(by).filter_map(|(row, key)| key.map(|key| (row, key)));
    let (excluded, keys): (Vec<u32>, Vec<Vec<u8>>) = in_the_way.unzip();
    let lock = |key: &Vec<u8>| {
        (LockKey { tree: entry.tree_of_row(key), key: key.clone() }, LockMode::Update)
    };
    writing.lock(keys.iter().map(lock).collect()).await?;
    let (mut removed, mut updated, mut written) = (vec![], vec![], kept.clone());
    let at_once = ROWS_AT_ONCE.min(assignments.rows_at_once(values));
    for (excluded, keys) in excluded.chunks(at_once).zip(keys.chunks(at_once)) {
        let rows = (&rows, excluded, keys);
        let (old, new, places) = changed(writing, entry, rows, (assignments, values)).await?;
        removed.push(old);
        updated.push(new);
        written.extend(places);
        give_way(&writing.cancel).await?;
    }
    check_once(&excluded, &keys, &written[kept.len()..])?;
    let mut order: Vec<(u32, u32)> = written.into_iter().zip(0..).collect();
    order.sort_unstable();
    let order = Some(order.into_iter().map(|(_, at)| at).collect());
    let (removed, updated) = (Rows::all(entry, &removed)?, Rows::all(entry, &updated)?);
    Ok(Planned { inserted: rows.take(&kept)?, removed, updated, order })
}

/// Refuses a row that is in conflict with a stored one which an earlier row `changed`.
///
/// # Errors
/// 21000
fn check_once(excluded: &[u32], keys: &[Vec<u8>], changed: &[u32]) -> SqlResult<()> {
    let (mut changed, mut gone) = (changed.iter().peekable(), HashSet::new());
    for (row, key) in excluded.iter().zip(keys) {
        let is_second = gone.contains(key);
        if changed.next_if_eq(&row).is_some() {
            gone.insert(key);
        }
        if is_second {
            return Err(changed_twice());
        }
    }
    Ok(())
}

/// Looks for stored rows with the keys of those that are to be inserted, and locks these keys.
async fn blocked(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    rows: &NewRows,
    conflict: &Conflict,
) -> SqlResult<Blocked> {
    let mut blocked = Blocked { by: vec![None; rows.len()], repeated: vec![false; rows.len()] };
    for key in &conflict.keys {
        let reference = Reference::new(entry, key)?;
        let prefixes = match rows {
            NewRows::Cells(rows) => reference.prefixes_of_cells(rows)?,
            NewRows::Vectors(rows) => reference.prefixes(rows)?,
        };
        let keys = reference.locks(prefixes.iter().flatten(), LockMode::Update);
        writing.lock_rows(entry, keys).await?;
        let stored = reference.find(&prefixes).await?;
        let mut seen = HashSet::new();
        for (row, (prefix, stored)) in prefixes.iter().zip(stored).enumerate() {
            if let Some(prefix) = prefix.as_ref().filter(|_| stored.is_some()) {
                writing.check_seen(&reference, prefix, false)?;
            }
            blocked.by[row] = blocked.by[row].take().or(stored);
            blocked.repeated[row] |= prefix.as_ref().is_some_and(|prefix| !seen.insert(prefix));
        }
    }
    Ok(blocked)
}

/// The stored rows with these keys that change, as they become, and the places of the rows that were
/// in conflict with them.
async fn changed(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    (rows, excluded, keys): (&NewRows, &[u32], &[Vec<u8>]),
    (assignments, values): (&Assignments, &Cells),
) -> SqlResult<(Rows, Rows, Vec<u32>)> {
    // Several rows may be in conflict with one.
    let mut distinct = keys.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let place = |key: &Vec<u8>| distinct.binary_search(key).expect("it is one of them") as u32;
    let places: Vec<u32> = keys.iter().map(place).collect();
    // They may have to be downloaded.
    let stored = stored_rows(writing.snapshot(), entry, &distinct);
    let stored = unless_cancelled(&writing.cancel, stored).await??.take(&places);
    let (updated, held) = assignments.apply(&stored, &rows.cells(excluded)?, values)?;
    let places: Vec<u32> = held.iter().map(|at| excluded[*at as usize]).collect();
    let (removed, updated) = (stored.take(&held), Rows::of_cells(entry, updated));
    let mut updated = checked_rows(&entry.def, &writing.catalog, updated)?;
    if entry.columns.is_some() {
        // The ids of a part are those of its rows alone.
        let ids = entry.take_row_ids(updated.len()).await?;
        updated = Rows::new(updated.batch().clone(), ids);
    }
    Ok((Rows::of_cells(entry, removed), updated, places))
}
