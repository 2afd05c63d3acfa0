//! The rows of a table under a new definition: written anew, or only looked at.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use sql::catalog::{TableDef, TableId};
use sql::dml::{Defaults, assign, converted};
use types::parse::ColumnParser;
use types::{SqlError, SqlResult, SqlState};

use super::draft::{Altered, Origin};
use crate::catalog::TableEntry;
use crate::dml::{batch_of, check_all, checked, validate_rows};
use crate::isolation;
use crate::load::{Loader, Rebuilt, Target};
use crate::reader::TableRows;
use crate::waiting::unless_cancelled;
use crate::writing::Writing;

/// Writes all rows into new trees.
pub(super) async fn rebuild(
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
        let rows = stored.project(&(0..count).collect::<Vec<_>>()).map_err(crate::dml::internal)?;
        let rows = mapped(writing, altered, def, &rows, &mut defaults)?;
        let rows = checked(def, &writing.catalog, rows)?;
        check_keys(writing, altered, &entry, &rows, &def.constraints.foreign_keys).await?;
        match stored.columns().get(count).filter(|_| def.primary_key.is_empty()) {
            Some(ids) => loader.push_with_ids(&rows, ids).await?,
            None => loader.push(&rows).await?,
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
    keys: &[sql::constraints::ForeignKey],
) -> SqlResult<()> {
    for key in keys.iter().filter(|k| altered.new_keys.contains(&k.name)) {
        if key.table == entry.def.id.0 && altered.rebuild {
            return Err(SqlError::unsupported(
                "adding a foreign key of a table to itself together with this change",
            ));
        }
        let parent = writing.catalog.snapshot().table_by_id(TableId(key.table));
        let parent =
            parent.ok_or_else(|| SqlError::internal("a foreign key refers to no table"))?;
        check_all(entry, key, parent, rows).await?;
    }
    Ok(())
}

/// Looks at the rows, which stay as they are.
pub(super) async fn validate(
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
