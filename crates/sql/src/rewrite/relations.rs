//! What is known of the relations of a query before it is bound: the names of their columns.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    self, Cte, GroupByExpr, Join, JoinConstraint, JoinOperator, ObjectName, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, TableWithJoins,
    Visitor,
};
use stdx::HashMap;

use crate::catalog::Catalog;
use crate::parse::object_name::{identifier, last_name};
use crate::rewrite::names::item_name;
use crate::walk::Walk;

/// The relations that a query may name.
pub(crate) struct Relations<'a> {
    catalog: &'a dyn Catalog,
    /// The queries of all `WITH` by their names, which may stand before those of tables; `None` where
    /// several have the name.
    queries: HashMap<String, Option<Cte>>,
    /// The columns of those that were asked for: each may name the one before it twice.
    known: RefCell<HashMap<String, Option<Vec<String>>>>,
    /// Queries of `WITH` that are being looked at, one for the sake of the other.
    depth: Cell<usize>,
}

/// Queries that are looked at one for the sake of the other: the stack is finite.
const DEPTH_MAX: usize = 64;

/// Columns that are counted: PostgreSQL's limit of a select list. A chain of queries may have far more.
const COLUMNS_MAX: usize = 1_664;

impl<'a> Relations<'a> {
    pub(crate) fn of(query: &Query, catalog: &'a dyn Catalog) -> Relations<'a> {
        let mut named = Named::default();
        // The visit itself never stops.
        let _ = query.walk(&mut named);
        Relations { catalog, queries: named.0, known: RefCell::default(), depth: Cell::new(0) }
    }

    /// The columns of a relation, in order; `None` where it is not known which.
    pub(crate) fn columns(&self, relation: &TableFactor) -> Option<Vec<String>> {
        match relation {
            TableFactor::Table { name, args: None, alias, .. } => {
                under(alias.as_ref(), self.of_name(name)?)
            }
            TableFactor::Table { name, args: Some(_), alias, with_ordinality: false, .. }
            | TableFactor::Function { name, alias, with_ordinality: false, .. } => {
                of_function(&last_name(name), alias.as_ref())
            }
            TableFactor::UNNEST { alias, array_exprs, with_ordinality: false, .. }
                if array_exprs.len() == 1 =>
            {
                of_function("unnest", alias.as_ref())
            }
            TableFactor::Derived { subquery, alias, .. } => {
                under(alias.as_ref(), self.outputs(&subquery.body)?)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => under(
                alias.as_ref(),
                self.joined(&table_with_joins.relation, &table_with_joins.joins)?,
            ),
            _ => None,
        }
    }

    fn of_name(&self, name: &ObjectName) -> Option<Vec<String>> {
        let [name] = name.0.as_slice() else { return None };
        let name = identifier(name.as_ident()?);
        let table = self.catalog.read_table(None, &name);
        match self.queries.get(&name) {
            None => {
                let table = table?;
                Some(table.schema.columns.iter().map(|column| column.name.clone()).collect())
            }
            // Where the query cannot be named, another relation is.
            Some(Some(cte)) if table.is_none() && !self.is_other(&name) => {
                self.of_query(&name, cte)
            }
            Some(_) => None,
        }
    }

    /// Whether a name stands for a view or a relation of the system.
    fn is_other(&self, name: &str) -> bool {
        self.catalog.view(name).is_some() || self.catalog.system_table("pg_catalog", name).is_some()
    }

    /// The columns of a query of `WITH`; of one that names itself first, none are known.
    fn of_query(&self, name: &str, cte: &Cte) -> Option<Vec<String>> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        if self.depth.get() == DEPTH_MAX {
            return None;
        }
        self.known.borrow_mut().insert(name.to_owned(), None);
        self.depth.set(self.depth.get() + 1);
        let own = self.outputs(&cte.query.body);
        self.depth.set(self.depth.get() - 1);
        let columns = own.and_then(|own| under(Some(&cte.alias), own));
        self.known.borrow_mut().insert(name.to_owned(), columns.clone());
        columns
    }

    /// The columns that `*` means over a relation and its joins, in order.
    pub(crate) fn joined(&self, first: &TableFactor, joins: &[Join]) -> Option<Vec<String>> {
        let mut all = self.columns(first)?;
        for join in joins {
            let theirs = self.columns(&join.relation)?;
            let mut merged: Vec<String> = match constraint(&join.join_operator)? {
                JoinConstraint::Using(names) => names.iter().map(last_name).collect(),
                JoinConstraint::Natural => shared(&all, &theirs),
                JoinConstraint::On(_) | JoinConstraint::None => vec![],
            };
            let rest = all.into_iter().chain(theirs).filter(|name| !merged.contains(name));
            let rest: Vec<String> = rest.collect();
            merged.extend(rest);
            all = merged;
        }
        Some(all).filter(|all| all.len() <= COLUMNS_MAX)
    }

    /// The outputs of a query.
    fn outputs(&self, body: &SetExpr) -> Option<Vec<String>> {
        match body {
            SetExpr::Select(select) => self.outputs_of_select(select),
            SetExpr::Query(query) => self.outputs(&query.body),
            SetExpr::SetOperation { left, .. } => self.outputs(left),
            SetExpr::Values(values) => {
                let width = values.rows.first()?.len();
                Some((1..=width).map(|number| format!("column{number}")).collect())
            }
            _ => None,
        }
    }

    fn outputs_of_select(&self, select: &Select) -> Option<Vec<String>> {
        let mut outputs = vec![];
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(_) => {
                    for from in &select.from {
                        outputs.extend(self.joined(&from.relation, &from.joins)?);
                    }
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let name = last_name(name);
                    let mut factors = select.from.iter().flat_map(factors);
                    let is_it =
                        |factor: &&TableFactor| Relations::name(factor) == Some(name.clone());
                    outputs.extend(self.columns(factors.find(is_it)?)?);
                }
                SelectItem::QualifiedWildcard(..) => return None,
                item => outputs.push(item_name(item)),
            }
        }
        Some(outputs).filter(|outputs| outputs.len() <= COLUMNS_MAX)
    }

    /// The name that columns of a relation are known by.
    fn name(factor: &TableFactor) -> Option<String> {
        match factor {
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. } => Some(identifier(&alias.name)),
            TableFactor::Table { name, .. } => Some(last_name(name)),
            _ => None,
        }
    }

    /// The names that expressions of a select can use without a relation's: columns, and those outputs that are
    /// keys of its groups or of `DISTINCT ON`; `None` unless the columns of all its relations are known.
    pub(crate) fn names_within(&self, select: &Select) -> Option<Vec<String>> {
        let groups = match &select.group_by {
            GroupByExpr::Expressions(keys, _) => keys.as_slice(),
            GroupByExpr::All(_) => &[],
        };
        let on = match &select.distinct {
            Some(ast::Distinct::On(keys)) => keys.as_slice(),
            _ => &[],
        };
        let is_key = |output: &String| {
            let mut keys = groups.iter().chain(on);
            keys.any(
                |key| matches!(key, ast::Expr::Identifier(name) if identifier(name) == *output),
            )
        };
        Some(outputs_of(select).filter(is_key).chain(self.read_by(select)?).collect())
    }

    /// The same for what stands behind the selects of a query: it can name all outputs.
    pub(crate) fn names_behind(&self, body: &SetExpr) -> Option<Vec<String>> {
        match body {
            SetExpr::Select(select) => {
                Some(outputs_of(select).chain(self.read_by(select)?).collect())
            }
            SetExpr::Query(query) => self.names_behind(&query.body),
            SetExpr::SetOperation { left, right, .. } => {
                let mut names = self.names_behind(left)?;
                names.extend(self.names_behind(right)?);
                Some(names)
            }
            SetExpr::Values(_) => Some(vec![]),
            _ => None,
        }
    }

    /// The columns of all relations of a select.
    fn read_by(&self, select: &Select) -> Option<Vec<String>> {
        let mut names = vec![];
        for factor in select.from.iter().flat_map(factors) {
            names.extend(self.columns(factor)?);
        }
        Some(names)
    }
}

/// The names that a select gives to outputs.
fn outputs_of(select: &Select) -> impl Iterator<Item = String> {
    select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(identifier(alias)),
        _ => None,
    })
}

fn factors(item: &TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    std::iter::once(&item.relation).chain(item.joins.iter().map(|join| &join.relation))
}

/// The columns under an alias, which may rename the first of them.
fn under(alias: Option<&TableAlias>, own: Vec<String>) -> Option<Vec<String>> {
    let Some(alias) = alias else { return Some(own) };
    let given = alias.columns.iter().map(|column| identifier(&column.name));
    (alias.columns.len() <= own.len())
        .then(|| given.chain(own.into_iter().skip(alias.columns.len())).collect())
}

/// The column of a function in `FROM`.
fn of_function(name: &str, alias: Option<&TableAlias>) -> Option<Vec<String>> {
    let own = alias.map_or_else(|| name.to_owned(), |alias| identifier(&alias.name));
    under(alias, vec![own])
}

/// The columns that both sides of a natural join have.
pub(crate) fn shared(left: &[String], right: &[String]) -> Vec<String> {
    left.iter().filter(|name| right.contains(name)).cloned().collect()
}

/// What ties a join's sides; `None` of joins that PostgreSQL does not have.
fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint) => Some(constraint),
        _ => None,
    }
}

#[derive(Default)]
struct Named(HashMap<String, Option<Cte>>);

impl Visitor for Named {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let entry = self.0.entry(identifier(&cte.alias.name));
            entry.and_modify(|found| *found = None).or_insert_with(|| Some(cte.clone()));
        }
        ControlFlow::Continue(())
    }
}
