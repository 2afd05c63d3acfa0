//! Few rows as an `UPDATE` changes them: a row at a time, without vectors.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::ArrayRef;
use sql::dml::{assign, is_of_column, or_null, refuse_null_cells};
use types::SqlResult;
use types::cells::Cells;

use super::constraints::checked_rows;
use super::delete::firsts;
use super::rows::{Rows, keys_of};
use crate::catalog::entry::TableEntry;
use crate::writing::{Finding, Writing};

/// Rows as they were and as they become, of those that a query found: all columns that the table's
/// tree has, columns of the query's own, and last the values of the columns at `ordinals`. A row
/// that was found twice becomes its first form.
///
/// # Errors
/// Those of assigning the values, 23502, 23514.
pub(super) fn updated(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    (finding, ordinals): (&Finding, &[usize]),
    mut found: Cells,
) -> SqlResult<(Rows, Rows)> {
    let columns: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
    let mut old = found.clone().columns(&columns);
    let firsts = firsts(keys_of(entry, &old)?, &mut HashSet::new());
    if firsts.len() < old.len() {
        (found, old) = (found.take(&firsts), old.take(&firsts));
    }
    let assigned = assigned(entry, (finding, ordinals), &found)?;
    let mut new = Cells::new(columns.len());
    for row in 0..found.len() {
        for (ordinal, assigned) in assigned.iter().enumerate() {
            match assigned {
                Assigned::Kept => new.push(old.value(row, ordinal)),
                Assigned::As(at) => new.push(found.value(row, *at)),
                Assigned::Converted(values) => new.push_of(values.as_ref(), row)?,
            }
        }
        new.end_row();
    }
    refuse_null_cells(&entry.def, &entry.def.schema, &new)?;
    let (old, new) = (Rows::of_cells(entry, old), Rows::of_cells(entry, new));
    Ok((old, checked_rows(&entry.def, &writing.catalog, new)?))
}

/// The values that a column gets.
enum Assigned {
    /// It stays.
    Kept,
    /// The values that were found at this place.
    As(usize),
    /// These values.
    Converted(ArrayRef),
}

/// The values that each column of the table's tree gets.
fn assigned(
    entry: &TableEntry,
    (finding, ordinals): (&Finding, &[usize]),
    found: &Cells,
) -> SqlResult<Vec<Assigned>> {
    let mut assigned: Vec<Assigned> =
        entry.layout.schema.columns.iter().map(|_| Assigned::Kept).collect();
    let first = found.width() - ordinals.len();
    for (at, &ordinal) in (first..).zip(ordinals) {
        let column = &entry.def.schema.columns[ordinal];
        let ty = finding.schema().field(at).data_type();
        assigned[ordinal] = match is_of_column(ty, column) {
            true => Assigned::As(at),
            false => Assigned::Converted(assign(&found.vector(at, ty)?, &or_null(column))?),
        };
    }
    Ok(assigned)
}
