//! Values of columns that a statement leaves out.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast;
use plan::catalog::TableDef;
use plan::constraints::ColumnDefault;
use plan::expr::Expr;
use plan::limits;
use types::cells::{Cells, Value};
use types::text::format_value;
use types::{Datum, SqlError, SqlResult};

use super::assign;
use super::target::parsed;
use crate::analyze::expression::bind_scalar;
use crate::catalog::{Catalog, NextNumber};
use crate::error::from_arrow;
use crate::expr::scalar;

/// Makes the defaults of a table's columns, one row after another.
pub struct Defaults {
    table: Arc<TableDef>,
    columns: Vec<Filling>,
}

enum Filling {
    /// The same for all rows; `None` is null.
    Same(Option<ArrayRef>),
    /// Computed for each row.
    Computed(Expr),
    /// The next number.
    Counted(NextNumber),
}

impl Defaults {
    /// The defaults of `table`.
    ///
    /// Errors: what binding the expressions says.
    pub fn new(table: &Arc<TableDef>, catalog: &dyn Catalog) -> SqlResult<Defaults> {
        Defaults::of_some(table, catalog, &vec![true; table.schema.columns.len()])
    }

    /// The defaults of the columns that are `wanted`; the others are null.
    ///
    /// Errors: as [`Defaults::new`].
    pub(crate) fn of_some(
        table: &Arc<TableDef>,
        catalog: &dyn Catalog,
        wanted: &[bool],
    ) -> SqlResult<Defaults> {
        let columns = wanted.iter().enumerate().map(|(ordinal, wanted)| match wanted {
            true => Filling::new(table, ordinal, catalog),
            false => Ok(Filling::Same(None)),
        });
        Ok(Defaults { table: Arc::clone(table), columns: columns.collect::<SqlResult<_>>()? })
    }

    /// The text of a column's next default; `None` is null.
    ///
    /// Errors: what computing it says; 2200H when an identity column has no numbers left.
    pub fn next(&mut self, ordinal: usize) -> SqlResult<Option<String>> {
        let text = self.text(ordinal)?;
        limits::take_text(text.as_deref())?;
        Ok(text)
    }

    /// Appends a column's next default to the row that is being made.
    ///
    /// # Errors
    /// As [`Defaults::next`].
    pub(crate) fn push(&mut self, ordinal: usize, rows: &mut Cells) -> SqlResult<()> {
        let column = &self.table.schema.columns[ordinal];
        let value = match &mut self.columns[ordinal] {
            Filling::Same(None) => {
                rows.push(Value::Null);
                return Ok(());
            }
            Filling::Counted(next) => return Datum::Int(next()?).push(column.ty, rows),
            Filling::Same(Some(value)) => Arc::clone(value),
            Filling::Computed(expr) => assign(&expr.evaluate(&one_row()?)?, column)?,
        };
        limits::take_value(value.get_buffer_memory_size())?;
        rows.push_of(value.as_ref(), 0)
    }

    fn text(&mut self, ordinal: usize) -> SqlResult<Option<String>> {
        let column = &self.table.schema.columns[ordinal];
        match &mut self.columns[ordinal] {
            Filling::Same(value) => Ok(value.as_ref().and_then(|value| format_value(value, 0))),
            Filling::Computed(expr) => {
                let value = assign(&expr.evaluate(&one_row()?)?, column)?;
                Ok(format_value(&value, 0))
            }
            Filling::Counted(next) => next().map(|number| Some(number.to_string())),
        }
    }
}

impl Filling {
    fn new(table: &TableDef, ordinal: usize, catalog: &dyn Catalog) -> SqlResult<Filling> {
        match table.constraints.default_of(ordinal) {
            None | Some(ColumnDefault::Generated(_)) => Ok(Filling::Same(None)),
            Some(ColumnDefault::Identity(_)) => {
                let numbers = catalog.numbers_of(table, ordinal);
                let none = || SqlError::internal("nobody numbers the rows");
                numbers.ok_or_else(none).map(Filling::Counted)
            }
            Some(ColumnDefault::Expression(text)) => {
                let column = &table.schema.columns[ordinal];
                let schema = DFSchema::empty();
                let ast = assign::literal_as(parsed(text)?, column)?;
                let literal = match &ast {
                    ast::Expr::Cast { expr, .. } => matches!(**expr, ast::Expr::Value(_)),
                    other => matches!(other, ast::Expr::Value(_)),
                };
                let expr = scalar::compile(&bind_scalar(ast, &schema, catalog)?, &schema)?;
                if !literal {
                    return Ok(Filling::Computed(expr));
                }
                let mut free = column.clone();
                free.nullable = true;
                let value = assign(&expr.evaluate(&one_row()?)?, &free)?;
                Ok(Filling::Same(Some(value)))
            }
        }
    }
}

fn one_row() -> SqlResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let empty = Arc::new(arrow_schema::Schema::empty());
    RecordBatch::try_new_with_options(empty, vec![], &options).map_err(from_arrow)
}
