//! The rows of an `INSERT .. VALUES`.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion_sql::sqlparser::ast;
use plan::catalog::TableDef;
use plan::constraints::ColumnDefault;
use plan::expr::Expr;
use types::datetime::speaks_of_now;
use types::parse::ColumnParser;
use types::text::format_value;
use types::{Column, Schema, SqlError, SqlResult};

use super::values::{Values, is_now, placed};
use crate::catalog::Catalog;
use crate::dml::assign;
use crate::dml::assign::{literal_as, or_null, refuse_nulls};
use crate::dml::compiled::admitted::{Scope, number};
use crate::dml::defaults::Defaults;
use crate::dml::expressions::compiled;
use crate::dml::insert::{cell, incoming_schema, takes_values, targets_of};
use crate::dml::target::{is_default, parsed};
use crate::error::from_arrow;
use crate::parse::dml::{Insert, InsertSource};
use crate::parse::parameter::Parameter;
use crate::point::placeholder;

/// Values that are compiled; more are computed each time.
const CELLS_MAX: usize = 512;

/// Rows as they are made for each execution.
pub(super) struct Inserted {
    /// The table's columns while those that are generated are still null.
    schema: Schema,
    /// For each row, the columns of the table in order.
    rows: Vec<Vec<Cell>>,
    /// Columns whose defaults are made anew for each row; they may take numbers of sequences.
    defaulted: Vec<bool>,
}

/// Where a value comes from.
enum Cell {
    /// A text that the column reads; `None` is null.
    Text(Option<String>),
    /// A parameter without a type, whose text the column reads.
    Parameter(usize),
    /// An expression over the values.
    Computed(Expr),
    /// The column's default.
    Default,
}

impl Inserted {
    /// The rows of `insert`; `None` where they have to be computed each time.
    pub(super) fn of(
        insert: &Insert,
        table: &Arc<TableDef>,
        values: &Values,
        catalog: &dyn Catalog,
    ) -> SqlResult<Option<Inserted>> {
        let none = [vec![]];
        let given = match &insert.source {
            InsertSource::Values(rows) => rows.as_slice(),
            InsertSource::Defaults => &none,
            InsertSource::Query(_) => return Ok(None),
        };
        let targets = targets_of(insert, table, given)?;
        if given.len() * table.schema.columns.len() > CELLS_MAX {
            return Ok(None);
        }
        let draft = Draft { insert, table, values, catalog };
        let mut rows = vec![];
        for row in given {
            let Some(row) = draft.row(row, &targets)? else { return Ok(None) };
            rows.push(row);
        }
        let is_default = |ordinal: usize| {
            rows.iter().any(|row: &Vec<Cell>| matches!(row[ordinal], Cell::Default))
        };
        let defaulted = (0..table.schema.columns.len()).map(is_default).collect();
        Ok(Some(Inserted { schema: incoming_schema(table), rows, defaulted }))
    }

    /// The rows; `None` where something is wrong with a value.
    pub(super) fn rows(
        &self,
        table: &Arc<TableDef>,
        values: &RecordBatch,
        parameters: &[Parameter],
        catalog: &dyn Catalog,
    ) -> SqlResult<Option<RecordBatch>> {
        let columns = self.schema.columns.iter().map(or_null);
        let mut parsers: Vec<ColumnParser> = columns.map(|c| ColumnParser::new(&c)).collect();
        let source = Source { values, parameters };
        // Before any number of a sequence is taken.
        for (ordinal, parser) in parsers.iter_mut().enumerate() {
            let column = &table.schema.columns[ordinal];
            for row in self.rows.iter().filter(|_| !self.defaulted[ordinal]) {
                let read = source.text(&row[ordinal], column);
                if read.and_then(|text| parser.push(text.as_deref())).is_err() {
                    return Ok(None);
                }
            }
        }
        if self.defaulted.contains(&true) {
            self.fill(table, &source, catalog, &mut parsers)?;
        }
        let arrays: Vec<ArrayRef> = parsers.iter_mut().map(ColumnParser::finish).collect();
        refuse_nulls(table, &self.schema, &arrays)?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.arrow(), arrays, &options);
        batch.map(Some).map_err(from_arrow)
    }

    /// The columns that have defaults, row by row.
    fn fill(
        &self,
        table: &Arc<TableDef>,
        source: &Source<'_>,
        catalog: &dyn Catalog,
        parsers: &mut [ColumnParser],
    ) -> SqlResult<()> {
        let mut defaults = Defaults::of_some(table, catalog, &self.defaulted)?;
        for row in &self.rows {
            for ordinal in (0..row.len()).filter(|ordinal| self.defaulted[*ordinal]) {
                let text = match &row[ordinal] {
                    Cell::Default => defaults.next(ordinal)?,
                    given => source.text(given, &table.schema.columns[ordinal])?,
                };
                parsers[ordinal].push(text.as_deref())?;
            }
        }
        Ok(())
    }
}

/// The values of an execution.
struct Source<'a> {
    values: &'a RecordBatch,
    parameters: &'a [Parameter],
}

impl Source<'_> {
    /// A value as text that the column reads; `None` is null.
    fn text(&self, cell: &Cell, column: &Column) -> SqlResult<Option<String>> {
        let value = match cell {
            Cell::Text(text) => return Ok(text.clone()),
            Cell::Parameter(number) => {
                let parameter = self.parameters.get(*number);
                return Ok(parameter.and_then(|p| p.text()).map(Cow::into_owned));
            }
            Cell::Computed(expr) => expr.evaluate(self.values)?,
            Cell::Default => return Err(SqlError::internal("a default is no value")),
        };
        Ok(format_value(&assign(&value, column)?, 0))
    }
}

/// Rows while they are compiled.
struct Draft<'a> {
    insert: &'a Insert,
    table: &'a Arc<TableDef>,
    values: &'a Values,
    catalog: &'a dyn Catalog,
}

impl Draft<'_> {
    fn row(&self, row: &[ast::Expr], targets: &[usize]) -> SqlResult<Option<Vec<Cell>>> {
        let cell = |ordinal: usize| {
            let given = targets.iter().position(|t| *t == ordinal).and_then(|at| row.get(at));
            match given {
                Some(expr)
                    if !is_default(expr)
                        && takes_values(self.table, ordinal, self.insert.overriding)? =>
                {
                    self.given(expr, &self.table.schema.columns[ordinal])
                }
                _ => self.default(ordinal).map(Some),
            }
        };
        (0..self.table.schema.columns.len()).map(cell).collect()
    }

    fn given(&self, expr: &ast::Expr, column: &Column) -> SqlResult<Option<Cell>> {
        if let ast::Expr::Nested(inner) = expr {
            return self.given(inner, column);
        }
        if let Some(number) = placeholder(expr)
            && self.values.type_of(number).is_none()
        {
            return Ok(Some(Cell::Parameter(number)));
        }
        if is_literal(expr) {
            return cell(expr, column, self.catalog).map(|text| Some(Cell::Text(text)));
        }
        let scope = Scope { values: Some(self.values), ..Scope::of_row(self.table, &[]) };
        if !scope.admits(expr) {
            return Ok(None);
        }
        self.computed(expr.clone(), column).map(Some)
    }

    fn computed(&self, expr: ast::Expr, column: &Column) -> SqlResult<Cell> {
        let expr = literal_as(placed(expr), column)?;
        compiled(expr, &self.values.schema()?, self.catalog).map(Cell::Computed)
    }

    /// What a column has without a value; what does not change is found out now.
    fn default(&self, ordinal: usize) -> SqlResult<Cell> {
        let column = &self.table.schema.columns[ordinal];
        match self.table.constraints.default_of(ordinal) {
            None | Some(ColumnDefault::Generated(_)) => Ok(Cell::Text(None)),
            Some(ColumnDefault::Identity(_)) => Ok(Cell::Default),
            Some(ColumnDefault::Expression(text)) => {
                let expr = parsed(text)?;
                if is_now(&expr) {
                    return self.computed(expr, column);
                }
                let is_stable = is_literal(&expr) && !speaks_of_now(text);
                if !is_stable {
                    return Ok(Cell::Default);
                }
                let wanted: Vec<bool> =
                    (0..self.table.schema.columns.len()).map(|i| i == ordinal).collect();
                let text = Defaults::of_some(self.table, self.catalog, &wanted)?.next(ordinal)?;
                // What the default's own type does to it is done.
                let mut parser = ColumnParser::new(&or_null(column));
                parser.push(text.as_deref())?;
                Ok(Cell::Text(text))
            }
        }
    }
}

/// Whether an expression is a plain literal, which the column reads.
fn is_literal(expr: &ast::Expr) -> bool {
    let ast::Expr::Value(value) = expr else { return number(expr).is_some() };
    matches!(
        value.value,
        ast::Value::Null
            | ast::Value::Boolean(_)
            | ast::Value::Number(..)
            | ast::Value::SingleQuotedString(_)
    )
}
