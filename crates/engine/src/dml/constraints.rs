//! Conditions on single rows: generated columns, null, checks.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use plan::catalog::TableDef;
use sql::catalog::Catalog;
use sql::dml::RowRules;
use types::text::format_value;
use types::{SqlError, SqlResult, SqlState};

use super::rows::Rows;

/// The rows as they are stored: generated columns filled in, every check held.
///
/// Errors: 23514 for a row that makes a check false, and what computing says.
pub(crate) fn checked(
    def: &TableDef,
    catalog: &dyn Catalog,
    rows: RecordBatch,
) -> SqlResult<RecordBatch> {
    if !def.constraints.have_rules() {
        return Ok(rows);
    }
    checked_by(&RowRules::of(def, catalog)?, def, rows)
}

/// The same of rows that may be values.
///
/// # Errors
/// The same.
pub(super) fn checked_rows(def: &TableDef, catalog: &dyn Catalog, rows: Rows) -> SqlResult<Rows> {
    if !def.constraints.have_rules() {
        return Ok(rows);
    }
    let batch = checked(def, catalog, rows.batch().clone())?;
    Ok(Rows::new(batch, rows.ids().clone()))
}

/// The same by rules that were compiled before.
pub(super) fn checked_by(
    rules: &RowRules,
    def: &TableDef,
    rows: RecordBatch,
) -> SqlResult<RecordBatch> {
    let rows = rules.filled(def, rows)?;
    validate(rules, def, &rows, false)?;
    Ok(rows)
}

/// Refuses a definition whose checks rows that are there make false.
pub(crate) fn validate_rows(
    def: &TableDef,
    catalog: &dyn Catalog,
    rows: &RecordBatch,
) -> SqlResult<()> {
    validate(&RowRules::of(def, catalog)?, def, rows, true)
}

fn validate(rules: &RowRules, def: &TableDef, rows: &RecordBatch, existing: bool) -> SqlResult<()> {
    for (name, condition) in rules.checks() {
        let held = condition.evaluate(rows)?;
        if held.data_type().is_null() {
            continue;
        }
        let held = held.as_boolean();
        let fails = (0..held.len()).find(|&i| held.is_valid(i) && !held.value(i));
        let Some(row) = fails else { continue };
        let table = &def.name;
        if existing {
            let message = format!(
                "check constraint \"{name}\" of relation \"{table}\" is violated by some row"
            );
            let error = SqlError::new(SqlState::CHECK_VIOLATION, message);
            return Err(error.of_table(table).of_constraint(name));
        }
        let message =
            format!("new row for relation \"{table}\" violates check constraint \"{name}\"");
        return Err(SqlError::new(SqlState::CHECK_VIOLATION, message)
            .with_detail(format!("Failing row contains ({}).", shown(rows, row)))
            .of_table(table)
            .of_constraint(name));
    }
    Ok(())
}

/// A row as PostgreSQL shows it in a detail.
fn shown(rows: &RecordBatch, row: usize) -> String {
    let value = |c: &ArrayRef| format_value(c, row).unwrap_or_else(|| "null".into());
    let values: Vec<String> = rows.columns().iter().map(value).collect();
    values.join(", ")
}
