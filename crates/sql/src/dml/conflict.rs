//! `ON CONFLICT`: which constraint, and what becomes of the stored row.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_common::DFSchema;
use plan::catalog::TableDef;
use plan::constraints::Deferral;
use types::cells::Cells;
use types::{SqlError, SqlResult, SqlState};

use super::assign::refuse_null_cells;
use super::expressions::{compiled, qualified};
use super::formula::{Formula, Inputs, with_values};
use super::target::assigned;
use crate::catalog::{Catalog, missing};
use crate::dml::insert::unknown_column;
use crate::error::from_library;
use crate::parse::dml;
use crate::parse::dml::{Arbiter, Insert};

/// Bytes of values beside rows that change together.
const BYTES_MAX: usize = 1 << 20;

/// What an `INSERT` does about rows that are there already.
pub struct Conflict {
    /// Columns of the constraints that count, each a primary key or a unique index.
    pub keys: Vec<Vec<usize>>,
    /// The name of one that is deferrable, which no row that is to be inserted may be compared by (55000).
    pub deferrable: Option<String>,
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
    /// The columns of the stored row, then those of the other one, then the values that are named.
    inputs: SchemaRef,
    /// Places of these among the values of an execution.
    given: Vec<usize>,
    values: Vec<(usize, Formula)>,
    condition: Option<Formula>,
}

impl Conflict {
    /// What `insert` says about conflicts; `None` when it says nothing.
    ///
    /// Errors: 42P10 when no unique constraint fits, 42704 for an unknown constraint, 42703 and
    /// others for what binding says.
    pub fn of(insert: &Insert, catalog: &dyn Catalog) -> SqlResult<Option<Conflict>> {
        let values = Given { schema: DFSchema::empty(), places: vec![] };
        Conflict::with_values(insert, catalog, values)
    }

    /// The same of expressions that name values of an execution.
    pub(super) fn with_values(
        insert: &Insert,
        catalog: &dyn Catalog,
        values: Given,
    ) -> SqlResult<Option<Conflict>> {
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
        let both = stored.join(&qualified(&table, "excluded")?).map_err(from_library)?;
        let schema = both.join(&values.schema).map_err(from_library)?;
        let inputs: SchemaRef = Arc::new(schema.as_arrow().clone());
        let formula = |expr| Ok(Formula::new(compiled(expr, &schema, catalog)?, &inputs));
        let value = |a: &dml::Assignment| {
            let (ordinal, value) = assigned(&table, &a.column, &a.value)?;
            Ok((ordinal, formula(value)?))
        };
        let given = values.places;
        let values = assignments.iter().map(value).collect::<SqlResult<_>>()?;
        let condition = selection.clone().map(formula).transpose()?;
        let is_condition = |of: &Formula| of.is_truth() || of.data_type().is_null();
        if !condition.as_ref().is_none_or(is_condition) {
            let message = "argument of WHERE must be type boolean";
            return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let action =
            ConflictAction::Update(Assignments { table, inputs, given, values, condition });
        Ok(Some(Conflict { keys, deferrable, action }))
    }
}

/// Values of an execution that expressions name, as columns.
pub(super) struct Given {
    pub schema: DFSchema,
    /// Their places among all values.
    pub places: Vec<usize>,
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
    /// So many rows have the values that are named beside each, which are in no account.
    pub fn rows_at_once(&self, values: &Cells) -> usize {
        match self.given.is_empty() {
            true => usize::MAX,
            false => (BYTES_MAX / values.memory().max(1)).max(1),
        }
    }

    /// The stored rows that change as they become, and which these are. A row belongs to the
    /// excluded one at its place. Both have all columns of the table in order; the stored ones, and
    /// what they become, a row id behind them where the table has one. `values` are those of the
    /// execution, as one row.
    ///
    /// # Errors
    /// Those of computing and assigning the values; 23502.
    pub fn apply(
        &self,
        stored: &Cells,
        excluded: &Cells,
        values: &Cells,
    ) -> SqlResult<(Cells, Vec<u32>)> {
        let inputs = self.beside(stored, excluded, values);
        let Some(condition) = &self.condition else {
            let all = (0..stored.len() as u32).collect();
            return Ok((self.changed(stored, &inputs)?, all));
        };
        if condition.data_type().is_null() {
            return Ok((Cells::new(stored.width()), vec![]));
        }
        let held = condition.values(&inputs)?.held(stored.len())?;
        let (stored, excluded) = (stored.copied(&held), excluded.copied(&held));
        Ok((self.changed(&stored, &self.beside(&stored, &excluded, values))?, held))
    }

    /// The stored rows as they become.
    fn changed(&self, stored: &Cells, inputs: &Inputs<'_>) -> SqlResult<Cells> {
        let columns = &self.table.schema.columns;
        let assigned = |(ordinal, value): &(usize, Formula)| {
            Ok((*ordinal, value.assigned(inputs, &columns[*ordinal])?))
        };
        let assigned = self.values.iter().map(assigned).collect::<SqlResult<Vec<_>>>()?;
        let changed = with_values(stored, &assigned)?;
        refuse_null_cells(&self.table, &self.table.schema, &changed)?;
        Ok(changed)
    }

    fn beside(&self, stored: &Cells, excluded: &Cells, values: &Cells) -> Inputs<'_> {
        let count = self.table.schema.columns.len();
        let mut both = Cells::new(2 * count + self.given.len());
        for row in 0..stored.len() {
            let rows = stored.row(row).take(count).chain(excluded.row(row).take(count));
            let given = self.given.iter().map(|place| values.value(0, *place));
            rows.chain(given).for_each(|value| both.push(value));
            both.end_row();
        }
        Inputs::new(&self.inputs, both)
    }
}
