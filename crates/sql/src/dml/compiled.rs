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
mod draft;
mod execution;
mod inserted;
mod key;
mod rules;
mod values;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_sql::sqlparser::ast::SelectItem;
use plan::catalog::TableDef;
use types::SqlResult;
use types::zone::{self, Zone};

use super::expressions::{Returning, compiled, returning_items};
use crate::catalog::Catalog;
use crate::dml::conflict::Conflict;
use crate::dml::expressions::RowExprs;
use crate::dml::formula::Formula;
use crate::parse::dml::InsertSource;
use crate::parse::parameter::Parameter;
use crate::parse::statement::Statement;
use crate::parse::statement::kept::Kept;
use crate::parse::template::Template;
use admitted::Scope;
use draft::{Draft, inputs};
use inserted::Inserted;
use key::Key;
use values::{Values, placed};

pub use execution::Execution;
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
    /// The columns of the values alone.
    value_schema: SchemaRef,
    rules: RowRules,
    returning: Option<RowExprs>,
    work: Work,
    /// What is computed of the values alone, which planning computes whether a row asks for it or not.
    constants: Vec<Formula>,
}

/// What is done with the rows.
enum Work {
    Update { found_by: FoundBy, assignments: Vec<(usize, Formula)> },
    Delete { found_by: FoundBy },
    Insert { rows: Box<Inserted>, conflict: Option<Conflict> },
}

/// Which rows are changed: those with a key that fulfil all conditions.
struct FoundBy {
    key: Key,
    conditions: Vec<Formula>,
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
        let constants = RefCell::default();
        let draft = Draft { table: &table, alias, catalog, values, constants: &constants };
        let Some((work, values)) = draft.work(&statement)? else { return Ok(None) };
        let value_schema: SchemaRef = Arc::new(values.arrow());
        let constant = |expr| {
            let expr = compiled(placed(expr), &values.schema()?, catalog)?;
            Ok(Formula::new(expr, &value_schema))
        };
        let constants =
            constants.take().into_iter().map(constant).collect::<SqlResult<Vec<_>>>()?;
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
        let (mut statement, table) = (statement.clone(), table.clone());
        if let Statement::Insert(insert) = &mut statement {
            // Each execution copies the statement; its rows are in `work`.
            insert.source = InsertSource::Values(vec![]);
        }
        Ok(Some(Compiled {
            template,
            statement,
            table,
            zone,
            values,
            inputs,
            value_schema,
            rules,
            returning,
            work,
            constants,
        }))
    }

    /// Whether it is right for this version of its table, for values of these types, and for the zone
    /// that is entered.
    pub fn fits(&self, table: &Arc<TableDef>, parameters: &[Parameter]) -> bool {
        self.values.fits(parameters)
            && zone::current().zone == self.zone
            && is_same_table(table, &self.table)
    }

    /// The name of the table.
    pub fn table_name(&self) -> &str {
        &self.table.name
    }

    /// The statement with values; `text` is where they were taken from, if they were.
    pub fn statement(self: &Arc<Self>, values: &[Parameter], text: Option<&str>) -> Statement {
        let execution = Execution::new(self, values, text);
        let execution = Some(Kept::new(Arc::new(execution)));
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
pub(crate) fn is_same_table(now: &Arc<TableDef>, then: &Arc<TableDef>) -> bool {
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
    match statement {
        Statement::Update(update) => Some(update.parts()),
        Statement::Delete(delete) => Some(delete.parts()),
        Statement::Insert(insert) => Some(insert.parts()),
        _ => None,
    }
}
