//! Statements that change few rows, bound and compiled once for all values of their parameters:
//! `UPDATE` and `DELETE` by a key or the first columns of one, `INSERT .. VALUES`.
//!
//! A parameter is a column of one row beside the table's own, so nothing of a value is in what was
//! compiled; where a value stands alone for a column it goes there as text. What is compiled is what
//! the planned road would compute, and no more than what is known to be the same on both: the list of
//! expressions is short ([`admitted`]), and what depends on the moment or on the catalog is none of
//! them. Wherever there is doubt, and for each error, the caller takes the planned road, which
//! reports it.

mod admitted;
mod inserted;
mod key;
mod rules;
mod values;

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_sql::sqlparser::ast::{self, SelectItem};
use types::zone::{self, Zone};
use types::{SqlError, SqlResult};

use super::expressions::{compiled, qualified, returning_items};
use super::target::assigned;
use super::{Conflict, RowExprs, assign, or_null, refuse_nulls};
use crate::catalog::{Catalog, TableDef, TableStorage};
use crate::error::{from_arrow, from_library};
use crate::expr::Expr;
use crate::parse::{Assignment, Delete, Insert, Parameter, Statement, Template, Update};
use crate::plan::IndexRef;
use admitted::Scope;
use inserted::Inserted;
use key::Key;
use values::Values;

pub use rules::RowRules;

/// What is the same for all executions of a statement.
pub struct Compiled {
    template: Template,
    /// Its parameters are where they were.
    statement: Statement,
    table: Arc<TableDef>,
    zone: Zone,
    values: Values,
    /// The columns of the table, then those of the values.
    inputs: SchemaRef,
    rules: RowRules,
    returning: Option<RowExprs>,
    work: Work,
}

/// What is done with the rows.
enum Work {
    Update { key: Key, condition: Option<Expr>, assignments: Vec<(usize, Expr)> },
    Delete { key: Key, condition: Option<Expr> },
    Insert { rows: Inserted, conflict: Option<Conflict> },
}

/// A statement that is compiled, with the values of its parameters.
#[derive(Clone, Debug)]
pub struct Execution {
    compiled: Arc<Compiled>,
    values: Arc<[Parameter]>,
    /// As it came, where the values were taken out of a text.
    text: Option<Arc<str>>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("table", &self.table.name).finish_non_exhaustive()
    }
}

impl Compiled {
    /// Compiles a statement for all values of these types; `None` where it has to be planned each time.
    ///
    /// # Errors
    /// What parsing and binding say.
    pub fn of(
        template: &Template,
        parameters: &[Parameter],
        catalog: &dyn Catalog,
    ) -> SqlResult<Option<Compiled>> {
        if parameters.len() != template.parameter_count() {
            return Ok(None);
        }
        let Some(values) = Values::of(parameters) else { return Ok(None) };
        let statement = template.unbound()?;
        let Some((name, alias, returning)) = parts(&statement) else { return Ok(None) };
        let Some(table) = catalog.table(name) else { return Ok(None) };
        let draft = Draft { table: &table, alias, catalog, values };
        let Some((work, values)) = draft.work(&statement)? else { return Ok(None) };
        let Some(rules) = rules::stable(&table, catalog)? else { return Ok(None) };
        let names = [alias];
        let scope = Scope::of_row(&table, &names);
        if !returning.iter().all(|item| scope.admits_item(item)) {
            return Ok(None);
        }
        let returning = match returning {
            [] => None,
            items => Some(returning_items(items, &table, alias, catalog)?),
        };
        let inputs = Arc::new(inputs(&table, alias, &values)?.as_arrow().clone());
        let (template, zone) = (template.clone(), zone::current().zone);
        let (statement, table) = (statement.clone(), table.clone());
        Ok(Some(Compiled {
            template,
            statement,
            table,
            zone,
            values,
            inputs,
            rules,
            returning,
            work,
        }))
    }

    /// Whether it is right for this version of its table, for values of these types, and for the zone
    /// that is entered.
    pub fn fits(&self, table: &Arc<TableDef>, parameters: &[Parameter]) -> bool {
        self.values.fits(parameters)
            && zone::current().zone == self.zone
            && is_same(table, &self.table)
    }

    /// The name of the table.
    pub fn table_name(&self) -> &str {
        &self.table.name
    }

    /// The statement with values; `text` is where they were taken from, if they were.
    pub fn statement(self: &Arc<Self>, values: &[Parameter], text: Option<&str>) -> Statement {
        let (compiled, text) = (self.clone(), text.map(Arc::from));
        let execution = Some(Execution { compiled, values: values.into(), text });
        let mut statement = self.statement.clone();
        match &mut statement {
            Statement::Update(update) => update.execution = execution,
            Statement::Delete(delete) => delete.execution = execution,
            Statement::Insert(insert) => insert.execution = execution,
            _ => {}
        }
        statement
    }
}

/// Whether two versions of a table differ in nothing but their rows.
fn is_same(now: &Arc<TableDef>, then: &Arc<TableDef>) -> bool {
    let indexes = || now.indexes.iter().zip(&then.indexes).all(|(a, b)| Arc::ptr_eq(a, b));
    Arc::ptr_eq(now, then)
        || now.id == then.id
            && now.name == then.name
            && now.schema == then.schema
            && now.storage == then.storage
            && now.primary_key == then.primary_key
            && now.indexes.len() == then.indexes.len()
            && indexes()
            && (Arc::ptr_eq(&now.constraints, &then.constraints)
                || now.constraints == then.constraints)
}

/// The table of a statement that changes rows, the name it goes by there, what is returned.
fn parts(statement: &Statement) -> Option<(&str, &str, &[SelectItem])> {
    use super::expressions::Returning;
    match statement {
        Statement::Update(update) => Some(update.parts()),
        Statement::Delete(delete) => Some(delete.parts()),
        Statement::Insert(insert) => Some(insert.parts()),
        _ => None,
    }
}

/// The columns that expressions see.
fn inputs(table: &TableDef, alias: &str, values: &Values) -> SqlResult<DFSchema> {
    qualified(table, alias)?.join(&values.schema()?).map_err(from_library)
}

/// A statement while it is compiled.
struct Draft<'a> {
    table: &'a Arc<TableDef>,
    alias: &'a str,
    catalog: &'a dyn Catalog,
    values: Values,
}

type Drafted = SqlResult<Option<(Work, Values)>>;

impl Draft<'_> {
    fn work(self, statement: &Statement) -> Drafted {
        match statement {
            Statement::Update(update) if update.from.is_empty() && update.with.is_none() => {
                self.update(update)
            }
            Statement::Delete(delete) if delete.using.is_empty() && delete.with.is_none() => {
                self.delete(delete)
            }
            Statement::Insert(insert) => self.insert(insert),
            _ => Ok(None),
        }
    }

    fn update(mut self, update: &Update) -> Drafted {
        let mut assignments = vec![];
        for Assignment { column, value } in &update.assignments {
            let (ordinal, value) = assigned(self.table, column, value)?;
            self.values.settle(&value, self.table.schema.columns[ordinal].ty);
            assignments.push((ordinal, value));
        }
        let Some((key, condition)) = self.found_by(update.selection.as_ref())? else {
            return Ok(None);
        };
        let mut compiled = vec![];
        for (ordinal, value) in assignments {
            let Some(value) = self.expression(value)? else { return Ok(None) };
            compiled.push((ordinal, value));
        }
        Ok(Some((Work::Update { key, condition, assignments: compiled }, self.values)))
    }

    fn delete(self, delete: &Delete) -> Drafted {
        let Some((key, condition)) = self.found_by(delete.selection.as_ref())? else {
            return Ok(None);
        };
        Ok(Some((Work::Delete { key, condition }, self.values)))
    }

    fn insert(self, insert: &Insert) -> Drafted {
        let names = [self.alias, "excluded"];
        let scope = Scope::of_row(self.table, &names);
        if !insert.conflict.as_ref().is_none_or(|conflict| scope.admits_conflict(conflict)) {
            return Ok(None);
        }
        let conflict = Conflict::of(insert, self.catalog)?;
        let Some(rows) = Inserted::of(insert, self.table, &self.values, self.catalog)? else {
            return Ok(None);
        };
        Ok(Some((Work::Insert { rows, conflict }, self.values)))
    }

    /// The key of the rows that a condition is about, and what else it asks of them.
    fn found_by(&self, condition: Option<&ast::Expr>) -> SqlResult<Option<(Key, Option<Expr>)>> {
        // Rows of the others have ids, which such a row has none of.
        if self.table.storage != TableStorage::Row || self.table.primary_key.is_empty() {
            return Ok(None);
        }
        let names = [self.alias];
        let scope = Scope { values: Some(&self.values), ..Scope::of_row(self.table, &names) };
        let Some((key, rest)) = condition.and_then(|condition| Key::of(condition, &scope)) else {
            return Ok(None);
        };
        let Some(rest) = rest else { return Ok(Some((key, None))) };
        Ok(self.expression(rest)?.map(|condition| (key, Some(condition))))
    }

    /// An expression over a row and the values, if it is one that may be compiled.
    fn expression(&self, expr: ast::Expr) -> SqlResult<Option<Expr>> {
        let names = [self.alias];
        let scope = Scope {
            values: Some(&self.values),
            may_be_constant: false,
            ..Scope::of_row(self.table, &names)
        };
        if !scope.admits(&expr) {
            return Ok(None);
        }
        let schema = inputs(self.table, self.alias, &self.values)?;
        compiled(values::placed(expr), &schema, self.catalog).map(Some)
    }
}

impl Execution {
    /// The name of the table.
    pub fn table_name(&self) -> &str {
        self.compiled.table_name()
    }

    /// Whether it is right for this version of its table.
    pub fn fits(&self, table: &Arc<TableDef>) -> bool {
        self.compiled.fits(table, &self.values)
    }

    /// The statement as it is planned each time.
    ///
    /// # Errors
    /// What parsing says.
    pub fn planned(&self) -> SqlResult<Statement> {
        let Some(text) = &self.text else { return self.compiled.template.bind(&self.values) };
        let mut templates = Template::all(text)?;
        match (templates.pop(), templates.is_empty()) {
            (Some(only), true) => only.bind(&[]),
            _ => Err(SqlError::internal("a statement is none any more")),
        }
    }

    /// The key of the rows that are changed: an index of the table and the values of its first columns;
    /// `None` where only planning tells what the values mean.
    pub fn key(&self) -> Option<(&IndexRef, Vec<ScalarValue>)> {
        match &self.compiled.work {
            Work::Update { key, .. } | Work::Delete { key, .. } => {
                Some((&key.index, key.values(&self.values)?))
            }
            Work::Insert { .. } => None,
        }
    }

    /// What is returned of the rows.
    pub fn returning(&self) -> Option<&RowExprs> {
        self.compiled.returning.as_ref()
    }

    /// What single rows must fulfil.
    pub fn rules(&self) -> &RowRules {
        &self.compiled.rules
    }

    /// What happens to rows that are in the way of those that are inserted.
    pub fn conflict(&self) -> Option<&Conflict> {
        match &self.compiled.work {
            Work::Insert { conflict, .. } => conflict.as_ref(),
            _ => None,
        }
    }

    /// Those of the rows with the key that the statement is about. `rows` have all columns of the table;
    /// `values` are those of [`Execution::values`].
    ///
    /// # Errors
    /// What computing says.
    pub fn meant(&self, rows: &RecordBatch, values: &RecordBatch) -> SqlResult<RecordBatch> {
        let (Work::Update { condition, .. } | Work::Delete { condition, .. }) = &self.compiled.work
        else {
            return Err(SqlError::internal("an INSERT finds no rows"));
        };
        let Some(condition) = condition else { return Ok(rows.clone()) };
        let held = condition.evaluate(&self.inputs(rows, values)?)?;
        let held = held.as_boolean_opt().ok_or_else(|| SqlError::internal("no condition"))?;
        filter_record_batch(rows, held).map_err(from_arrow)
    }

    /// The rows as they become, but for generated columns. Both are as in [`Execution::meant`].
    ///
    /// # Errors
    /// What computing and assigning the values says; 23502.
    pub fn updated(&self, rows: &RecordBatch, values: &RecordBatch) -> SqlResult<RecordBatch> {
        let Work::Update { assignments, .. } = &self.compiled.work else { return Ok(rows.clone()) };
        let (table, inputs) = (&self.compiled.table, self.inputs(rows, values)?);
        let mut columns = rows.columns().to_vec();
        for (ordinal, value) in assignments {
            let column = or_null(&table.schema.columns[*ordinal]);
            columns[*ordinal] = assign(&value.evaluate(&inputs)?, &column)?;
        }
        refuse_nulls(table, &table.schema, &columns)?;
        RecordBatch::try_new(table.schema.arrow(), columns).map_err(from_arrow)
    }

    /// The rows of an `INSERT`, but for generated columns; `None` where the planned road has to say what
    /// is wrong with its values. No number of a sequence is taken then.
    ///
    /// # Errors
    /// What defaults say; 23502.
    pub fn inserted(&self, catalog: &dyn Catalog) -> SqlResult<Option<RecordBatch>> {
        let Work::Insert { rows, .. } = &self.compiled.work else { return Ok(None) };
        let Ok(values) = self.values(catalog) else { return Ok(None) };
        rows.rows(&self.compiled.table, &values, &self.values, catalog)
    }

    /// The values as columns of one row.
    ///
    /// # Errors
    /// 22P02 and 22003 for what is no value of its type.
    pub fn values(&self, catalog: &dyn Catalog) -> SqlResult<RecordBatch> {
        self.compiled.values.row(&self.values, catalog.now_us())
    }

    /// Rows of the table with the values beside each.
    fn inputs(&self, rows: &RecordBatch, values: &RecordBatch) -> SqlResult<RecordBatch> {
        let count = rows.num_rows();
        let of_each = UInt32Array::from(vec![0; count]);
        let beside = |value: &ArrayRef| match count {
            1 => Ok(value.clone()),
            _ => take(value, &of_each, None).map_err(from_arrow),
        };
        let mut columns = rows.columns().to_vec();
        for value in values.columns() {
            columns.push(beside(value)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let inputs = self.compiled.inputs.clone();
        RecordBatch::try_new_with_options(inputs, columns, &options).map_err(from_arrow)
    }
}
