//! The rows of an `INSERT .. VALUES`.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast;
use plan::catalog::TableDef;
use plan::constraints::ColumnDefault;
use types::cells::Cells;
use types::datetime::speaks_of_now;
use types::parse::ColumnParser;
use types::{Column, LogicalType, Schema, SqlError, SqlResult};

use super::values::{self, is_now, placed};
use crate::catalog::Catalog;
use crate::dml::assign::{literal_as, or_null, refuse_null_cells};
use crate::dml::compiled::admitted::{Scope, number};
use crate::dml::defaults::Defaults;
use crate::dml::expressions::compiled;
use crate::dml::formula::{Formula, Inputs, Values};
use crate::dml::insert::{cell, incoming_schema, takes_values, targets_of};
use crate::dml::target::{is_default, parsed};
use crate::parse::dml::{Insert, InsertSource};
use crate::parse::parameter::Parameter;
use crate::point::placeholder;

/// Values that are kept; of more all are computed each time.
const CELLS_MAX: usize = 4096;

/// Values among them that are compiled, which takes some microseconds each.
const COMPUTED_MAX: usize = 512;

/// Rows as they are made for each execution.
pub(super) struct Inserted {
    /// The table's columns while those that are generated are still null.
    schema: Schema,
    /// For each row, the columns of the table in order.
    rows: Vec<Vec<Cell>>,
    /// The values that are the same each time, one a row.
    constants: Cells,
    /// Columns whose defaults are made anew for each row; they may take numbers of sequences.
    defaulted: Vec<bool>,
}

/// Where a value comes from.
enum Cell {
    /// The constant with this number.
    Same(usize),
    /// A parameter whose text the column reads: without a type, or of the column's own.
    Parameter(usize),
    /// A parameter whose values are those of the column.
    Given(usize),
    /// An expression over the values.
    Computed(Formula),
    /// The column's default.
    Default,
}

impl Inserted {
    /// The rows of `insert`; `None` where they have to be computed each time.
    pub(super) fn of(
        insert: &Insert,
        table: &Arc<TableDef>,
        values: &values::Values,
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
        let (constants, schemas) = (RefCell::new(Cells::new(1)), OnceCell::new());
        let draft =
            Draft { insert, table, values, catalog, constants: &constants, schemas: &schemas };
        let (mut rows, mut computed) = (vec![], 0);
        let is_computed = |cell: &&Cell| matches!(cell, Cell::Computed(_));
        for row in given {
            let Some(row) = draft.row(row, &targets)? else { return Ok(None) };
            computed += row.iter().filter(is_computed).count();
            if computed > COMPUTED_MAX {
                return Ok(None);
            }
            rows.push(row);
        }
        let is_default = |ordinal: usize| {
            rows.iter().any(|row: &Vec<Cell>| matches!(row[ordinal], Cell::Default))
        };
        let defaulted = (0..table.schema.columns.len()).map(is_default).collect();
        let (schema, constants) = (incoming_schema(table), constants.into_inner());
        Ok(Some(Inserted { schema, rows, constants, defaulted }))
    }

    /// The rows; `None` where something is wrong with a value.
    pub(super) fn rows(
        &self,
        table: &Arc<TableDef>,
        values: &Inputs<'_>,
        parameters: &[Parameter],
        catalog: &dyn Catalog,
    ) -> SqlResult<Option<Cells>> {
        let source = Source { values, parameters, table };
        // Before any number of a sequence is taken.
        let computed = self.rows.iter().map(|row| source.computed(row));
        let Ok(computed) = computed.collect::<SqlResult<Vec<_>>>() else { return Ok(None) };
        let mut defaults = match self.defaulted.contains(&true) {
            true => Some(Defaults::of_some(table, catalog, &self.defaulted)?),
            false => None,
        };
        let mut rows = Cells::new(table.schema.columns.len());
        for (row, computed) in self.rows.iter().zip(computed) {
            let mut computed = computed.into_iter();
            for (ordinal, cell) in row.iter().enumerate() {
                match (cell, &mut defaults) {
                    (Cell::Same(at), _) => rows.push(self.constants.value(*at, 0)),
                    (Cell::Given(number), _) => rows.push(values.rows().value(0, *number)),
                    (Cell::Default, Some(defaults)) => defaults.push(ordinal, &mut rows)?,
                    (Cell::Parameter(_) | Cell::Computed(_), _) => {
                        let none = || SqlError::internal("a value that was not computed");
                        computed.next().ok_or_else(none)?.push(0, &mut rows)?;
                    }
                    (Cell::Default, None) => {
                        return Err(SqlError::internal("a default is no value"));
                    }
                }
            }
            rows.end_row();
        }
        refuse_null_cells(table, &self.schema, &rows)?;
        Ok(Some(rows))
    }
}

/// The values of an execution.
struct Source<'a> {
    values: &'a Inputs<'a>,
    parameters: &'a [Parameter],
    table: &'a TableDef,
}

impl Source<'_> {
    /// Those values of a row that depend on the execution, in order.
    fn computed(&self, row: &[Cell]) -> SqlResult<Vec<Values>> {
        let columns = self.table.schema.columns.iter();
        row.iter()
            .zip(columns)
            .filter_map(|(cell, column)| self.value(cell, column).transpose())
            .collect()
    }

    fn value(&self, cell: &Cell, column: &Column) -> SqlResult<Option<Values>> {
        Ok(Some(match cell {
            Cell::Parameter(number) => {
                let parameter = self.parameters.get(*number);
                if let Some(value) = parameter.filter(|_| column.ty == LogicalType::Text) {
                    let mut cells = Cells::new(1);
                    value.value.push(column.ty, &mut cells)?;
                    cells.end_row();
                    return Ok(Some(Values::Cells(cells)));
                }
                let text = parameter.and_then(|parameter| parameter.text());
                Values::Vector(read(text.as_deref(), column)?)
            }
            Cell::Computed(formula) => formula.assigned(self.values, column)?,
            Cell::Same(_) | Cell::Given(_) | Cell::Default => return Ok(None),
        }))
    }
}

/// True if a text is another value of the type at each moment.
fn is_moment(text: &str, ty: LogicalType) -> bool {
    use LogicalType as T;
    let is_temporal = matches!(ty.plain(), T::Date | T::Time | T::Timestamp | T::TimestampTz);
    is_temporal && speaks_of_now(text)
}

/// The value of a column that a text is; `None` is null.
fn read(text: Option<&str>, column: &Column) -> SqlResult<ArrayRef> {
    let mut parser = ColumnParser::new(&or_null(column));
    parser.push(text)?;
    Ok(parser.finish())
}

/// Rows while they are compiled.
struct Draft<'a> {
    insert: &'a Insert,
    table: &'a Arc<TableDef>,
    values: &'a values::Values,
    catalog: &'a dyn Catalog,
    constants: &'a RefCell<Cells>,
    /// The columns of the values, once an expression is compiled over them: there may be thousands.
    schemas: &'a OnceCell<(DFSchema, SchemaRef)>,
}

impl Draft<'_> {
    fn schemas(&self) -> SqlResult<&(DFSchema, SchemaRef)> {
        if let Some(schemas) = self.schemas.get() {
            return Ok(schemas);
        }
        let schemas = (self.values.schema()?, Arc::new(self.values.arrow()));
        Ok(self.schemas.get_or_init(|| schemas))
    }

    /// The value of a column that a text is, as a constant.
    fn same(&self, text: Option<&str>, column: &Column) -> SqlResult<Cell> {
        let value = read(text, column)?;
        let mut constants = self.constants.borrow_mut();
        constants.push_of(value.as_ref(), 0)?;
        constants.end_row();
        Ok(Cell::Same(constants.len() - 1))
    }

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
        if let Some(number) = placeholder(expr) {
            match self.values.type_of(number) {
                None if self.values.is_read_as(number, column.ty) => {
                    return Ok(Some(Cell::Parameter(number)));
                }
                None => return Ok(None),
                Some(ty) if is_part_of(ty, column.ty) => return Ok(Some(Cell::Given(number))),
                Some(_) => {}
            }
        }
        if is_literal(expr) {
            let text = cell(expr, column, self.catalog)?;
            if text.as_deref().is_some_and(|text| is_moment(text, column.ty)) {
                return Ok(None);
            }
            // An error of the value is told when the statement runs.
            return Ok(self.same(text.as_deref(), column).ok());
        }
        let scope = Scope { values: Some(self.values), ..Scope::of_row(self.table, &[]) };
        if !scope.admits(expr) {
            return Ok(None);
        }
        self.computed(expr.clone(), column).map(Some)
    }

    fn computed(&self, expr: ast::Expr, column: &Column) -> SqlResult<Cell> {
        let (schema, arrow) = self.schemas()?;
        let expr = compiled(literal_as(placed(expr), column)?, schema, self.catalog)?;
        Ok(Cell::Computed(Formula::new(expr, arrow)))
    }

    /// What a column has without a value; what does not change is found out now.
    fn default(&self, ordinal: usize) -> SqlResult<Cell> {
        let column = &self.table.schema.columns[ordinal];
        match self.table.constraints.default_of(ordinal) {
            None | Some(ColumnDefault::Generated(_)) => self.same(None, column),
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
                self.same(text.as_deref(), column)
            }
        }
    }
}

/// True if each value of a type is one of a column's type in the same form.
fn is_part_of(ty: LogicalType, column: LogicalType) -> bool {
    use LogicalType as T;
    let is_narrower =
        matches!((ty, column), (T::Int16, T::Int32 | T::Int64) | (T::Int32, T::Int64));
    is_narrower || ty == column && !ty.has_limit()
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
