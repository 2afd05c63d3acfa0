//! The rows of a table under a new definition: written anew, or only looked at; and foreign keys of columns whose
//! type changes: whether they still can refer, and whether rows still do.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use plan::catalog::{TableDef, TableId};
use plan::constraints::ForeignKey;
use sql::dml::{Defaults, assign, check_can_refer, converted};
use txn::waiting::{give_way, unless_cancelled};
use types::parse::ColumnParser;
use types::{SqlError, SqlResult, SqlState};

use super::draft::{Altered, Origin};
use crate::catalog::entry::TableEntry;
use crate::catalog::trees::drop_trees;
use crate::dml::constraints::{checked, validate_rows};
use crate::dml::references::{check_all, referring};
use crate::dml::rows::batch as batch_of;
use crate::isolation;
use crate::load::loader::{Loader, Rebuilt};
use crate::load::target::Target;
use crate::relation::whole::TableRows;
use crate::writing::Writing;

/// Rows that get their new values at one go: a few milliseconds where each has a default of its
/// own.
const ROWS_AT_ONCE: usize = 4096;

/// Writes all rows into new trees.
pub(crate) async fn rebuild(
    writing: &Writing<'_>,
    altered: &Altered,
    def: &TableDef,
) -> SqlResult<Rebuilt> {
    let old = &altered.entry;
    isolation::check_table(&writing.snapshot().read_view, old)?;
    // The trees are those of the old table: a loader asks one only for its limits.
    let trees = vec![old.tree_id; def.indexes.len()];
    let store = writing.db.store();
    let entry = TableEntry::new(store, def.clone(), old.tree_id, &trees)?;
    let entry = Arc::new(entry.with_columns(store, old.stored_columns().as_ref())?);
    let target = Target::of(entry.clone());
    let mut loader = Loader::empty(writing.db, target, writing.cancel.clone())?;
    let mut defaults = Defaults::new(&entry.def, &writing.catalog)?;
    let ordinals: Vec<usize> = (0..old.layout.schema.columns.len()).collect();
    let count = old.def.schema.columns.len();
    let mut table = TableRows::new(writing.snapshot(), old, &ordinals)?;
    while let Some(stored) = unless_cancelled(&writing.cancel, table.next()).await?? {
        for start in (0..stored.num_rows()).step_by(ROWS_AT_ONCE) {
            let stored = stored.slice(start, ROWS_AT_ONCE.min(stored.num_rows() - start));
            let rows =
                stored.project(&(0..count).collect::<Vec<_>>()).map_err(crate::fault::internal)?;
            let rows = mapped(writing, altered, def, &rows, &mut defaults)?;
            let rows = checked(def, &writing.catalog, rows)?;
            check_keys(writing, altered, &entry, &rows, &def.constraints.foreign_keys).await?;
            match stored.columns().get(count).filter(|_| def.primary_key.is_empty()) {
                Some(ids) => loader.push_with_ids(&rows, ids).await?,
                None => loader.push(&rows).await?,
            }
            give_way(&writing.cancel).await?;
        }
    }
    loader.build(writing.db).await
}

/// Rows of the old definition as those of the new one.
fn mapped(
    writing: &Writing<'_>,
    altered: &Altered,
    def: &TableDef,
    rows: &RecordBatch,
    defaults: &mut Defaults,
) -> SqlResult<RecordBatch> {
    let schema = sql::incoming_schema(def);
    let mut columns: Vec<ArrayRef> = vec![];
    for (ordinal, origin) in altered.origins.iter().enumerate() {
        let column = &schema.columns[ordinal];
        columns.push(match origin {
            Origin::Old(old) if column.nullable || rows.column(*old).null_count() == 0 => {
                rows.column(*old).clone()
            }
            Origin::Old(_) => return Err(contains_nulls(def, &column.name)),
            Origin::Expression(text) => {
                let old = &altered.entry.def;
                let values = converted(old, text, column, rows, &writing.catalog);
                assign(&values?, column)?
            }
            Origin::Default => {
                let mut open = column.clone();
                open.nullable = true;
                let mut parser = ColumnParser::new(&open);
                for _ in 0..rows.num_rows() {
                    parser.push(defaults.next(ordinal)?.as_deref())?;
                }
                let values = parser.finish();
                if !column.nullable && values.null_count() > 0 {
                    return Err(contains_nulls(def, &column.name));
                }
                values
            }
        });
    }
    batch_of(&schema.arrow(), columns, rows.num_rows())
}

fn contains_nulls(def: &TableDef, column: &str) -> SqlError {
    let message = format!("column \"{column}\" of relation \"{}\" contains null values", def.name);
    SqlError::new(SqlState::NOT_NULL_VIOLATION, message).of_table(&def.name).of_column(column)
}

/// Refuses rows that new foreign keys do not allow.
async fn check_keys(
    writing: &Writing<'_>,
    altered: &Altered,
    entry: &Arc<TableEntry>,
    rows: &RecordBatch,
    keys: &[ForeignKey],
) -> SqlResult<()> {
    for key in keys.iter().filter(|k| altered.new_keys.contains(&k.name)) {
        // The rows that it refers to are there when all have been written.
        if key.table == entry.def.id.0 && altered.rebuild {
            continue;
        }
        let parent = parent(writing, key)?;
        check_all(entry, key, parent, rows).await?;
    }
    Ok(())
}

/// Looks at the rows, which stay as they are.
pub(crate) async fn validate(
    writing: &Writing<'_>,
    altered: &Altered,
    def: &TableDef,
) -> SqlResult<()> {
    let old = &altered.entry;
    let stricter = |(new, old): (&types::Column, &types::Column)| !new.nullable && old.nullable;
    let columns = def.schema.columns.iter().zip(&old.def.schema.columns);
    let not_null: Vec<usize> =
        columns.enumerate().filter(|(_, c)| stricter(*c)).map(|(i, _)| i).collect();
    let checks = def.constraints.checks != old.def.constraints.checks;
    if not_null.is_empty() && !checks && altered.new_keys.is_empty() {
        return Ok(());
    }
    // What others have added since a snapshot would not be looked at.
    isolation::check_table(&writing.snapshot().read_view, old)?;
    let ordinals: Vec<usize> = (0..def.schema.columns.len()).collect();
    let entry = Arc::new(old.with_def(def.clone()));
    let mut table = TableRows::new(writing.snapshot(), old, &ordinals)?;
    while let Some(rows) = table.next().await? {
        if let Some(&bad) = not_null.iter().find(|&&i| rows.column(i).null_count() > 0) {
            return Err(contains_nulls(def, &def.schema.columns[bad].name));
        }
        validate_rows(def, &writing.catalog, &rows)?;
        check_keys(writing, altered, &entry, &rows, &def.constraints.foreign_keys).await?;
    }
    Ok(())
}

/// Refuses types that cannot refer to each other.
///
/// # Errors
/// 42804
pub(crate) fn check_types(
    writing: &Writing<'_>,
    altered: &Altered,
    def: &TableDef,
) -> SqlResult<()> {
    let compare = |child: &TableDef, key: &ForeignKey, parent: &TableDef| {
        let columns = key.columns.iter().zip(&key.referenced);
        let (own, other) = (&child.schema.columns, &parent.schema.columns);
        columns
            .into_iter()
            .try_for_each(|(&ours, &theirs)| check_can_refer(&key.name, &own[ours], &other[theirs]))
    };
    for key in def.constraints.foreign_keys.iter().filter(|key| is_retyped(altered, &key.columns)) {
        match key.table == def.id.0 {
            true => compare(def, key, def)?,
            false => compare(def, key, &parent(writing, key)?.def)?,
        }
    }
    for (child, key) in refers_to_retyped(writing, altered, def) {
        compare(child.as_deref().map_or(def, |child| &child.def), &key, def)?;
    }
    Ok(())
}

/// Refuses rows that refer to none: rows of the table itself by new keys, and rows of any table by keys whose
/// columns have other types now. The table is that of new trees, which go with the error.
///
/// # Errors
/// 23503
pub(crate) async fn check_rows(
    writing: &Writing<'_>,
    altered: &Altered,
    def: &TableDef,
    rebuilt: &Rebuilt,
) -> SqlResult<()> {
    let checked = rows_refer(writing, altered, def, rebuilt).await;
    if checked.is_err() {
        // The error that led here is the one to report.
        drop_trees(writing.db.store(), &rebuilt.made).await.ok();
    }
    checked
}

async fn rows_refer(
    writing: &Writing<'_>,
    altered: &Altered,
    def: &TableDef,
    rebuilt: &Rebuilt,
) -> SqlResult<()> {
    let own = def.constraints.foreign_keys.iter();
    let own = own.filter(|k| k.table == def.id.0 && altered.new_keys.contains(&k.name));
    let own = own.map(|key| (None, key.clone()));
    let keys: Vec<_> = own.chain(refers_to_retyped(writing, altered, def)).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let new = Arc::new(rebuilt.entry(writing.db.store(), def.clone())?);
    for (child, key) in keys {
        if let Some(child) = &child {
            isolation::check_table(&writing.snapshot().read_view, child)?;
        }
        let child = child.as_ref().unwrap_or(&new);
        let ordinals: Vec<usize> = (0..child.def.schema.columns.len()).collect();
        let mut table = TableRows::new(writing.snapshot(), child, &ordinals)?;
        while let Some(rows) = unless_cancelled(&writing.cancel, table.next()).await?? {
            check_all(child, &key, &new, &rows).await?;
        }
    }
    Ok(())
}

/// Foreign keys that refer to columns with other types now, with the columns' new places, each with its table;
/// `None` for this one.
fn refers_to_retyped(
    writing: &Writing<'_>,
    altered: &Altered,
    def: &TableDef,
) -> Vec<(Option<Arc<TableEntry>>, ForeignKey)> {
    let own = def.constraints.foreign_keys.iter().filter(|key| key.table == def.id.0).cloned();
    let own = own.map(|key| (None, key));
    let others = referring(&writing.catalog, def.id).into_iter();
    let others = others.filter(|(child, key)| {
        let is_dropped = |(of, name): &(TableId, String)| *of == child.def.id && *name == key.name;
        child.def.id != def.id && !altered.dropped_references.iter().any(is_dropped)
    });
    let others = others.map(|(child, mut key)| {
        for ordinal in &mut key.referenced {
            *ordinal = altered.remap[*ordinal].unwrap_or(*ordinal);
        }
        (Some(child), key)
    });
    own.chain(others).filter(|(_, key)| is_retyped(altered, &key.referenced)).collect()
}

/// Whether one of the columns has another type.
fn is_retyped(altered: &Altered, ordinals: &[usize]) -> bool {
    let is_computed =
        |&ordinal: &usize| matches!(altered.origins.get(ordinal), Some(Origin::Expression(_)));
    ordinals.iter().any(is_computed)
}

/// The table that a key refers to.
fn parent<'a>(writing: &'a Writing<'_>, key: &ForeignKey) -> SqlResult<&'a Arc<TableEntry>> {
    let parent = writing.catalog.snapshot().table_by_id(TableId(key.table));
    parent.ok_or_else(|| SqlError::internal("a foreign key refers to no table"))
}
