//! What single rows must fulfil, compiled: columns that are computed from others, checks.

use arrow_array::{ArrayRef, RecordBatch};
use plan::catalog::TableDef;
use plan::constraints::ColumnDefault;
use plan::expr::Expr;
use types::SqlResult;

use super::admitted::Scope;
use crate::catalog::Catalog;
use crate::dml::assign;
use crate::dml::expressions::{checks, generated_columns};
use crate::dml::target::parsed;
use crate::error::from_arrow;

/// The columns of a table that are computed from others, and the conditions that no row of it may make
/// false.
pub struct RowRules {
    generated: Vec<(usize, Expr)>,
    checks: Vec<(String, Expr)>,
}

impl RowRules {
    /// The rules of a table.
    ///
    /// # Errors
    /// What binding says; 42804 for a check that is no condition.
    pub fn of(table: &TableDef, catalog: &dyn Catalog) -> SqlResult<RowRules> {
        let generated = generated_columns(table, catalog)?;
        Ok(RowRules { generated, checks: checks(table, catalog)? })
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.generated.is_empty() && self.checks.is_empty()
    }

    /// The rows with the columns that are computed filled in.
    ///
    /// # Errors
    /// What computing them says.
    pub fn filled(&self, table: &TableDef, rows: RecordBatch) -> SqlResult<RecordBatch> {
        if self.generated.is_empty() {
            return Ok(rows);
        }
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        for (ordinal, expr) in &self.generated {
            columns[*ordinal] = assign(&expr.evaluate(&rows)?, &table.schema.columns[*ordinal])?;
        }
        RecordBatch::try_new(table.schema.arrow(), columns).map_err(from_arrow)
    }

    /// The conditions, with their constraints' names.
    pub fn checks(&self) -> &[(String, Expr)] {
        &self.checks
    }
}

/// The rules of a table; `None` where they have to be bound for each statement.
pub(super) fn stable(table: &TableDef, catalog: &dyn Catalog) -> SqlResult<Option<RowRules>> {
    let names = [table.name.as_str()];
    let scope = Scope::of_row(table, &names);
    let checks = table.constraints.checks.iter().map(|check| check.expression.as_str());
    let defaults = table.constraints.defaults.iter().flatten();
    let generated = defaults.filter_map(|default| match default {
        ColumnDefault::Generated(text) => Some(text.as_str()),
        _ => None,
    });
    for text in checks.chain(generated) {
        if !scope.admits(&parsed(text)?) {
            return Ok(None);
        }
    }
    RowRules::of(table, catalog).map(Some)
}
