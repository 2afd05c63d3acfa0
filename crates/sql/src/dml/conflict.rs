//! `ON CONFLICT`: which constraint, and what becomes of the stored row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use plan::catalog::TableDef;
use plan::constraints::Deferral;
use plan::expr::Expr;
use types::{SqlError, SqlResult, SqlState};

use super::assign;
use super::expressions::{compiled, qualified};
use super::target::assigned;
use crate::catalog::{Catalog, missing};
use crate::dml::insert::unknown_column;
use crate::error::{from_arrow, from_library};
use crate::parse::dml;
use crate::parse::dml::{Arbiter, Insert};

/// What an `INSERT` does about rows that are there already.
pub struct Conflict {
    /// Columns of the constraints that count, each a primary key or a unique index.
    pub keys: Vec<Vec<usize>>,
    /// The name of one that is deferrable, which no row that is to be inserted may be compared by (55000).
    pub deferrable: Option<String>,
    /// What happens to a row in conflict.
    pub action: ConflictAction,
}

impl Conflict {
    /// The same in the zone and at the moment of the statement that runs now.
    pub(crate) fn in_context(&self) -> Conflict {
        let action = match &self.action {
            ConflictAction::Nothing => ConflictAction::Nothing,
            ConflictAction::Update(assignments) => ConflictAction::Update(assignments.in_context()),
        };
        Conflict { keys: self.keys.clone(), deferrable: self.deferrable.clone(), action }
    }
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
            return Err(missing::table_not_found(catalog, &insert.table));
        };
        let Arbiters { keys, deferrable } = arbiters(&conflict.target, &table)?;
        let Some((assignments, selection)) = &conflict.update else {
            let action = ConflictAction::Nothing;
            return Ok(Some(Conflict { keys, deferrable, action }));
        };
        let alias = insert.alias.as_deref().unwrap_or(&insert.table);
        let stored = qualified(&table, alias)?;
        let schema = stored.join(&qualified(&table, "excluded")?).map_err(from_library)?;
        let value = |a: &dml::Assignment| {
            let (ordinal, value) = assigned(&table, &a.column, &a.value)?;
            Ok((ordinal, compiled(value, &schema, catalog)?))
        };
        let values = assignments.iter().map(value).collect::<SqlResult<_>>()?;
        let condition = selection.clone().map(|e| compiled(e, &schema, catalog)).transpose()?;
        let action = ConflictAction::Update(Assignments { table, values, condition });
        Ok(Some(Conflict { keys, deferrable, action }))
    }
}

/// The constraints that an `ON CONFLICT` is about.
#[derive(Default)]
struct Arbiters {
    keys: Vec<Vec<usize>>,
    deferrable: Option<String>,
}

impl Arbiters {
    fn add(&mut self, key: &Key<'_>) {
        match key.deferral {
            Deferral::Never => self.keys.push(key.columns.to_vec()),
            _ => self.deferrable = Some(key.name.clone()),
        }
    }
}

/// A key of a table.
struct Key<'a> {
    name: String,
    columns: &'a [usize],
    deferral: Deferral,
}

fn all_keys(table: &TableDef) -> Vec<Key<'_>> {
    let primary = Some(&table.primary_key).filter(|key| !key.is_empty()).map(|columns| Key {
        name: table.primary_key_name(),
        columns,
        deferral: Deferral::Never,
    });
    let unique = table.indexes.iter().filter(|index| index.unique).map(|index| Key {
        name: index.name.clone(),
        columns: &index.columns,
        deferral: index.deferral,
    });
    primary.into_iter().chain(unique).collect()
}

fn arbiters(target: &Arbiter, table: &TableDef) -> SqlResult<Arbiters> {
    let (keys, mut found) = (all_keys(table), Arbiters::default());
    match target {
        Arbiter::Any => keys.iter().for_each(|key| found.add(key)),
        Arbiter::Columns(names) => {
            let ordinal =
                |n: &String| table.schema.ordinal(n).ok_or_else(|| unknown_column(n, table));
            let mut wanted = names.iter().map(ordinal).collect::<SqlResult<Vec<_>>>()?;
            wanted.sort_unstable();
            wanted.dedup();
            let fits = |key: &&Key<'_>| {
                let mut columns = key.columns.to_vec();
                columns.sort_unstable();
                columns == wanted
            };
            keys.iter().filter(fits).for_each(|key| found.add(key));
            // Several of the same columns say the same.
            found.keys.truncate(1);
            if found.keys.is_empty() && found.deferrable.is_none() {
                let message = "there is no unique or exclusion constraint matching the ON CONFLICT \
                               specification";
                return Err(SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message));
            }
        }
        Arbiter::Constraint(name) => {
            let key = keys.iter().find(|key| key.name == *name);
            found.add(key.ok_or_else(|| {
                let message =
                    format!("constraint \"{name}\" for table \"{}\" does not exist", table.name);
                SqlError::new(SqlState::UNDEFINED_OBJECT, message)
            })?);
        }
    }
    Ok(found)
}

impl Assignments {
    fn in_context(&self) -> Assignments {
        let value = |(ordinal, expr): &(usize, Expr)| (*ordinal, expr.in_context());
        Assignments {
            table: self.table.clone(),
            values: self.values.iter().map(value).collect(),
            condition: self.condition.as_ref().map(Expr::in_context),
        }
    }

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
