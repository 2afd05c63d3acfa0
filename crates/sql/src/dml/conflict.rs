//! `ON CONFLICT`: which constraint, and what becomes of the stored row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use types::{SqlError, SqlResult, SqlState};

use super::assign;
use super::expressions::{compiled, qualified};
use super::target::assigned;
use crate::catalog::{Catalog, TableDef};
use crate::error::{from_arrow, from_library};
use crate::expr::Expr;
use crate::insert::unknown_column;
use crate::parse::{Arbiter, Insert};

/// What an `INSERT` does about rows that are there already.
pub struct Conflict {
    /// Columns of the constraints that count, each a primary key or a unique index.
    pub keys: Vec<Vec<usize>>,
    /// What happens to a row in conflict.
    pub action: ConflictAction,
}

/// What happens to a row in conflict.
pub enum ConflictAction {
    /// The new row is dropped.
    Nothing,
    /// The stored row is changed.
    Update(Assignments),
}

/// The assignments of `DO UPDATE`, over the stored row and the one that was to be inserted.
pub struct Assignments {
    table: Arc<TableDef>,
    values: Vec<(usize, Expr)>,
    condition: Option<Expr>,
}

impl Conflict {
    /// What `insert` says about conflicts; `None` when it says nothing.
    ///
    /// Errors: 42P10 when no unique constraint fits, 42704 for an unknown constraint, 42703 and
    /// others for what binding says.
    pub fn of(insert: &Insert, catalog: &dyn Catalog) -> SqlResult<Option<Conflict>> {
        let Some(conflict) = &insert.conflict else { return Ok(None) };
        let Some(table) = catalog.table(&insert.table) else {
            return Err(crate::bind::table_not_found(catalog, &insert.table));
        };
        let keys = keys(&conflict.target, &table)?;
        let Some((assignments, selection)) = &conflict.update else {
            return Ok(Some(Conflict { keys, action: ConflictAction::Nothing }));
        };
        let alias = insert.alias.as_deref().unwrap_or(&insert.table);
        let stored = qualified(&table, alias)?;
        let schema = stored.join(&qualified(&table, "excluded")?).map_err(from_library)?;
        let value = |a: &crate::parse::Assignment| {
            let (ordinal, value) = assigned(&table, &a.column, &a.value)?;
            Ok((ordinal, compiled(value, &schema, catalog)?))
        };
        let values = assignments.iter().map(value).collect::<SqlResult<_>>()?;
        let condition = selection.clone().map(|e| compiled(e, &schema, catalog)).transpose()?;
        let action = ConflictAction::Update(Assignments { table, values, condition });
        Ok(Some(Conflict { keys, action }))
    }
}

fn keys(target: &Arbiter, table: &TableDef) -> SqlResult<Vec<Vec<usize>>> {
    let primary = Some(&table.primary_key).filter(|k| !k.is_empty());
    let unique = table.indexes.iter().filter(|i| i.unique).map(|i| &i.columns);
    let mut all = primary.into_iter().chain(unique);
    match target {
        Arbiter::Any => Ok(all.cloned().collect()),
        Arbiter::Columns(names) => {
            let ordinal =
                |n: &String| table.schema.ordinal(n).ok_or_else(|| unknown_column(n, table));
            let mut wanted = names.iter().map(ordinal).collect::<SqlResult<Vec<_>>>()?;
            wanted.sort_unstable();
            wanted.dedup();
            let fits = |key: &&Vec<usize>| {
                let mut key = (*key).clone();
                key.sort_unstable();
                key == wanted
            };
            let found = all.find(fits).ok_or_else(|| {
                let message = "there is no unique or exclusion constraint matching the ON CONFLICT \
                               specification";
                SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message)
            })?;
            Ok(vec![found.clone()])
        }
        Arbiter::Constraint(name) => {
            if *name == table.primary_key_name() && !table.primary_key.is_empty() {
                return Ok(vec![table.primary_key.clone()]);
            }
            let index = table.indexes.iter().find(|i| i.unique && i.name == *name);
            let index = index.ok_or_else(|| {
                let message =
                    format!("constraint \"{name}\" for table \"{}\" does not exist", table.name);
                SqlError::new(SqlState::UNDEFINED_OBJECT, message)
            })?;
            Ok(vec![index.columns.clone()])
        }
    }
}

impl Assignments {
    /// The stored rows that change as they become, and which these are. Both batches have all
    /// columns of the table in order, and a row in one belongs to the row at its place in the other.
    ///
    /// Errors: what computing and assigning the values says.
    pub fn apply(
        &self,
        stored: &RecordBatch,
        excluded: &RecordBatch,
    ) -> SqlResult<(RecordBatch, BooleanArray)> {
        let both = beside(stored, excluded)?;
        let changed = match &self.condition {
            None => BooleanArray::from(vec![true; stored.num_rows()]),
            Some(condition) => {
                let held = condition.evaluate(&both)?;
                let held = held.as_boolean();
                (0..held.len()).map(|i| Some(held.is_valid(i) && held.value(i))).collect()
            }
        };
        let both = filter_record_batch(&both, &changed).map_err(from_arrow)?;
        let mut columns = both.columns()[..stored.num_columns()].to_vec();
        for (ordinal, expr) in &self.values {
            let column = &self.table.schema.columns[*ordinal];
            columns[*ordinal] = assign(&expr.evaluate(&both)?, column)?;
        }
        let rows = RecordBatch::try_new(self.table.schema.arrow(), columns).map_err(from_arrow)?;
        Ok((rows, changed))
    }
}

fn beside(left: &RecordBatch, right: &RecordBatch) -> SqlResult<RecordBatch> {
    let (l, r) = (left.schema(), right.schema());
    let fields: Vec<_> = l.fields().iter().chain(r.fields()).cloned().collect();
    let columns: Vec<ArrayRef> = left.columns().iter().chain(right.columns()).cloned().collect();
    let schema = Arc::new(arrow_schema::Schema::new(fields));
    RecordBatch::try_new(schema, columns).map_err(from_arrow)
}
