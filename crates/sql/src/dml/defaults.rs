//! Values of columns that a statement leaves out.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast;
use types::text::format_value;
use types::{SqlError, SqlResult, SqlState};

use super::assign;
use super::target::parsed;
use crate::catalog::{Catalog, TableDef};
use crate::constraints::ColumnDefault;
use crate::error::from_arrow;
use crate::expr::{Expr, bind_scalar};

/// Makes the defaults of a table's columns, one row after another.
pub struct Defaults {
    table: Arc<TableDef>,
    columns: Vec<Filling>,
}

enum Filling {
    /// The same for all rows; `None` is null.
    Same(Option<String>),
    /// Computed for each row.
    Computed(Expr),
    /// The next number.
    Counted { next: Option<i64>, increment: i64 },
}

impl Defaults {
    /// The defaults of `table`.
    ///
    /// Errors: what binding the expressions says.
    pub fn new(table: &Arc<TableDef>, catalog: &dyn Catalog) -> SqlResult<Defaults> {
        let count = table.schema.columns.len();
        let columns = (0..count).map(|i| Filling::new(table, i, catalog));
        Ok(Defaults { table: Arc::clone(table), columns: columns.collect::<SqlResult<_>>()? })
    }

    /// The text of a column's next default; `None` is null.
    ///
    /// Errors: what computing it says; 2200H when an identity column has no numbers left.
    pub fn next(&mut self, ordinal: usize) -> SqlResult<Option<String>> {
        let column = &self.table.schema.columns[ordinal];
        match &mut self.columns[ordinal] {
            Filling::Same(value) => Ok(value.clone()),
            Filling::Computed(expr) => {
                let value = assign(&expr.evaluate(&one_row()?)?, column)?;
                Ok(format_value(&value, 0))
            }
            Filling::Counted { next, increment } => {
                let value = next.ok_or_else(|| {
                    let message = format!(
                        "nextval: reached maximum value of sequence \"{}_{}_seq\"",
                        self.table.name, column.name
                    );
                    SqlError::new(SqlState::SEQUENCE_LIMIT_EXCEEDED, message)
                })?;
                *next = value.checked_add(*increment);
                Ok(Some(value.to_string()))
            }
        }
    }

    /// The table's constraints with its identity columns counted on; `None` when none was used.
    pub fn counted(&self) -> Option<crate::constraints::Constraints> {
        let mut constraints = (*self.table.constraints).clone();
        let mut changed = false;
        for (default, filling) in constraints.defaults.iter_mut().zip(&self.columns) {
            if let (Some(ColumnDefault::Identity(identity)), Filling::Counted { next, .. }) =
                (default, filling)
            {
                let next = next.unwrap_or(i64::MAX);
                changed |= identity.next != next;
                identity.next = next;
            }
        }
        changed.then_some(constraints)
    }
}

impl Filling {
    fn new(table: &TableDef, ordinal: usize, catalog: &dyn Catalog) -> SqlResult<Filling> {
        match table.constraints.default_of(ordinal) {
            None | Some(ColumnDefault::Generated(_)) => Ok(Filling::Same(None)),
            Some(ColumnDefault::Identity(identity)) => {
                Ok(Filling::Counted { next: Some(identity.next), increment: identity.increment })
            }
            Some(ColumnDefault::Expression(text)) => {
                let column = &table.schema.columns[ordinal];
                let schema = DFSchema::empty();
                let ast = super::literal_as(parsed(text)?, column)?;
                let literal = match &ast {
                    ast::Expr::Cast { expr, .. } => matches!(**expr, ast::Expr::Value(_)),
                    other => matches!(other, ast::Expr::Value(_)),
                };
                let expr = Expr::compile(&bind_scalar(ast, &schema, catalog)?, &schema)?;
                if !literal {
                    return Ok(Filling::Computed(expr));
                }
                let mut free = column.clone();
                free.nullable = true;
                let value = assign(&expr.evaluate(&one_row()?)?, &free)?;
                Ok(Filling::Same(format_value(&value, 0)))
            }
        }
    }
}

fn one_row() -> SqlResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let empty = Arc::new(arrow_schema::Schema::empty());
    RecordBatch::try_new_with_options(empty, vec![], &options).map_err(from_arrow)
}
