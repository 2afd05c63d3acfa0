//! A statement while it is compiled.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast;
use plan::catalog::{TableDef, TableStorage};
use types::SqlResult;

use super::admitted::Scope;
use super::inserted::Inserted;
use super::key::Key;
use super::values::{Values, placed};
use super::{FoundBy, Work};
use crate::catalog::Catalog;
use crate::dml::conflict::{Conflict, Given};
use crate::dml::expressions::{compiled, qualified};
use crate::dml::formula::Formula;
use crate::dml::target::assigned;
use crate::error::from_library;
use crate::parse::dml::{Assignment, Delete, Insert, Update};
use crate::parse::statement::Statement;

/// The columns that expressions see.
pub(super) fn inputs(table: &TableDef, alias: &str, values: &Values) -> SqlResult<DFSchema> {
    qualified(table, alias)?.join(&values.schema()?).map_err(from_library)
}

/// A statement while it is compiled.
pub(super) struct Draft<'a> {
    pub(super) table: &'a Arc<TableDef>,
    /// The name that the table goes by.
    pub(super) alias: &'a str,
    pub(super) catalog: &'a dyn Catalog,
    pub(super) values: Values,
    /// What is computed of no column.
    pub(super) constants: &'a RefCell<Vec<ast::Expr>>,
}

/// What is done, and the values with the types that their places gave them; `None` where the statement has
/// to be planned.
type Drafted = SqlResult<Option<(Work, Values)>>;

impl Draft<'_> {
    pub(super) fn work(self, statement: &Statement) -> Drafted {
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
        let Some(found_by) = self.found_by(update.selection.as_ref())? else { return Ok(None) };
        let mut compiled = vec![];
        for (ordinal, value) in assignments {
            let Some(value) = self.expression(value)? else { return Ok(None) };
            compiled.push((ordinal, value));
        }
        Ok(Some((Work::Update { found_by, assignments: compiled }, self.values)))
    }

    fn delete(self, delete: &Delete) -> Drafted {
        let found_by = self.found_by(delete.selection.as_ref())?;
        Ok(found_by.map(|found_by| (Work::Delete { found_by }, self.values)))
    }

    fn insert(mut self, insert: &Insert) -> Drafted {
        let update = insert.conflict.as_ref().and_then(|conflict| conflict.update.as_ref());
        for Assignment { column, value } in update.iter().flat_map(|(assignments, _)| assignments) {
            if let Some(ordinal) = self.table.schema.ordinal(column) {
                self.values.settle(value, self.table.schema.columns[ordinal].ty);
            }
        }
        let names = [self.alias, "excluded"];
        let scope = Scope {
            values: Some(&self.values),
            constants: Some(self.constants),
            ..Scope::of_row(self.table, &names)
        };
        if !insert.conflict.as_ref().is_none_or(|conflict| scope.admits_conflict(conflict)) {
            return Ok(None);
        }
        let Some(rows) = Inserted::of(insert, self.table, &self.values, self.catalog)? else {
            return Ok(None);
        };
        let conflict = self.conflict(insert)?;
        Ok(Some((Work::Insert { rows: Box::new(rows), conflict }, self.values)))
    }

    /// The treatment of conflicts, with columns in the places of parameters.
    fn conflict(&self, insert: &Insert) -> SqlResult<Option<Conflict>> {
        let mut over = insert.clone();
        let mut places = BTreeSet::new();
        if let Some((assignments, condition)) =
            over.conflict.as_mut().and_then(|conflict| conflict.update.as_mut())
        {
            let values = assignments.iter_mut().map(|assignment| &mut assignment.value);
            for expr in values.chain(condition) {
                places.extend(self.values.places(expr));
                *expr = placed(expr.clone());
            }
        }
        let places: Vec<usize> = places.into_iter().collect();
        let given = Given { schema: self.values.schema_of(&places)?, places };
        Conflict::with_values(&over, self.catalog, given)
    }

    /// The key of the rows that a condition is about, and what else it asks of them.
    fn found_by(&self, condition: Option<&ast::Expr>) -> SqlResult<Option<FoundBy>> {
        // Without a primary key rows are known by ids, which are no columns.
        if self.table.storage != TableStorage::Row || self.table.primary_key.is_empty() {
            return Ok(None);
        }
        let names = [self.alias];
        let scope = Scope { values: Some(&self.values), ..Scope::of_row(self.table, &names) };
        let Some((key, rest)) = condition.and_then(|condition| Key::of(condition, &scope)) else {
            return Ok(None);
        };
        let mut conditions = vec![];
        for condition in rest {
            match self.expression(condition)? {
                Some(condition) if condition.is_truth() => {
                    conditions.push(condition);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(FoundBy { key, conditions }))
    }

    /// An expression over a row and the values, if it is one that may be compiled.
    fn expression(&self, expr: ast::Expr) -> SqlResult<Option<Formula>> {
        let names = [self.alias];
        let scope = Scope {
            values: Some(&self.values),
            constants: Some(self.constants),
            ..Scope::of_row(self.table, &names)
        };
        if !scope.admits(&expr) {
            return Ok(None);
        }
        let schema = inputs(self.table, self.alias, &self.values)?;
        let expr = compiled(placed(expr), &schema, self.catalog)?;
        Ok(Some(Formula::new(expr, &Arc::new(schema.as_arrow().clone()))))
    }
}
