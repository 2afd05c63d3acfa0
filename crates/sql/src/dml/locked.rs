//! Queries that lock the rows of tables (`FOR UPDATE` and its kin): which rows these are is known from the
//! keys that the query gives besides.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    self, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, LimitClause, NonBlock, Select,
    SelectItem, SetExpr, TableFactor, Value, Visitor,
};
use plan::catalog::TableDef;
use types::SqlResult;

use super::target::target_name;
use crate::catalog::Catalog;
use crate::dml::target::TargetCatalog;
use crate::parse::lock::{RowLockMode, mode_of};
use crate::parse::object_name::name;
use crate::parse::statement::query::Query;
use crate::quote::unspelled::apart;
use crate::walk::Walk;

/// Rows that are looked at first for each that is wanted, where locked ones are skipped.
pub const ROWS_PER_WANTED: u64 = 4;

/// A query that locks rows of tables, to be planned in a [`TargetCatalog`] of these. Behind its own columns
/// it has those of their keys, one table after the other: the primary key, or the row id.
pub struct LockedQuery {
    /// The tables.
    pub tables: Vec<LockedTable>,
    /// `SKIP LOCKED`, with the numbers of `LIMIT` and `OFFSET`, which count the rows that are not skipped.
    pub skips: Option<(Option<u64>, u64)>,
    ast: Box<ast::Query>,
}

/// A table whose rows a query locks.
#[derive(Clone, Debug)]
pub struct LockedTable {
    /// Its name.
    pub name: String,
    /// How many columns its key has.
    pub key_count: usize,
    /// In whose way the locks are.
    pub mode: RowLockMode,
}

/// A relation of `FROM`.
struct Relation {
    /// Its table; none for what is no table.
    table: Option<String>,
    /// What it is called in the query; none for a subquery without a name.
    alias: Option<String>,
    /// A row of the query may have none of its rows.
    is_nullable: bool,
    /// In which mode its rows are locked.
    mode: Option<RowLockMode>,
}

impl LockedQuery {
    /// The query as one whose rows are those of tables; `None` for those that group or unite, that lock
    /// rows of what is no table, or where an outer join leaves the locked row out, and for those of several
    /// tables that skip what is locked.
    ///
    /// # Errors
    /// 42501 for a table that may not be read.
    pub fn of(query: &Query, catalog: &dyn Catalog) -> SqlResult<Option<LockedQuery>> {
        let mut ast = Box::new(query.ast.as_ref().clone());
        let Some(relations) = plain(&ast).and_then(|select| relations(select, catalog)) else {
            return Ok(None);
        };
        let locks = std::mem::take(&mut ast.locks);
        if has_locks(&ast) {
            return Ok(None);
        }
        let Some(relations) = locked(relations, &locks) else { return Ok(None) };
        let is_locked = |relation: &&Relation| relation.mode.is_some();
        let names: Vec<&str> =
            relations.iter().filter(is_locked).filter_map(|r| r.table.as_deref()).collect();
        names.iter().try_for_each(|name| {
            catalog.check_read(name, catalog.table(name).map(|table| table.id), None)
        })?;
        let Some(skips) = skips(&mut ast, &locks, names.len()) else { return Ok(None) };
        let targets = TargetCatalog::of_tables(catalog, &names)?;
        if add_keys(&mut ast, &targets, &relations, catalog).is_none() {
            return Ok(None);
        }
        let table = |(relation, target): (&Relation, &std::sync::Arc<TableDef>)| LockedTable {
            name: target.name.clone(),
            key_count: target.primary_key.len(),
            mode: relation.mode.unwrap_or(RowLockMode::Update),
        };
        let tables = relations.iter().filter(is_locked).zip(targets.targets()).map(table).collect();
        Ok(Some(LockedQuery { tables, skips, ast }))
    }

    /// The rows that are wanted at most, those of `OFFSET` among them, where it skips what is
    /// locked.
    pub fn wanted(&self) -> Option<u64> {
        let (limit, offset) = self.skips?;
        Some(limit?.saturating_add(offset))
    }

    /// How many rows are looked at first, at most.
    pub fn looked_at_first(&self) -> Option<u64> {
        self.wanted().map(|wanted| wanted.saturating_mul(ROWS_PER_WANTED).max(1))
    }

    /// The query, for so many rows at most.
    pub fn query(&self, count_max: Option<u64>) -> Query {
        let mut ast = self.ast.clone();
        if let Some(count) = count_max {
            let limit = Some(Expr::Value(Value::Number(count.to_string(), false).into()));
            let (offset, limit_by) = (None, vec![]);
            ast.limit_clause = Some(LimitClause::LimitOffset { limit, offset, limit_by });
        }
        Query::new(ast)
    }

    /// The catalog that it is planned in.
    ///
    /// # Errors
    /// 42P01 for a table that is gone.
    pub fn targets<'a>(&self, catalog: &'a dyn Catalog) -> SqlResult<TargetCatalog<'a>> {
        let names: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
        TargetCatalog::of_tables(catalog, &names)
    }

    /// How many columns the keys have.
    pub fn key_count(&self) -> usize {
        self.tables.iter().map(|table| table.key_count).sum()
    }
}

/// Whether a query inside of this one locks rows, which are not those of this one.
fn has_locks(ast: &ast::Query) -> bool {
    struct Inside;
    impl Visitor for Inside {
        type Break = ();

        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
            match query.locks.is_empty() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
    }
    ast.walk(&mut Inside).is_break()
}

/// The relations with the modes of the clauses; `None` where not all that is locked is a table whose rows
/// the query has.
fn locked(mut relations: Vec<Relation>, locks: &[ast::LockClause]) -> Option<Vec<Relation>> {
    for lock in locks {
        let (mode, of) = mode_of(lock);
        let of = of.map(|of| name(&of)).transpose().ok()?;
        let is_meant =
            |r: &&mut Relation| of.as_ref().is_none_or(|of| r.alias.as_ref() == Some(of));
        for relation in relations.iter_mut().filter(is_meant) {
            let strength = |mode: RowLockMode| mode as u8;
            let is_stronger = relation.mode.is_none_or(|now| strength(now) < strength(mode));
            relation.mode = if is_stronger { Some(mode) } else { relation.mode };
        }
    }
    let is_row = |r: &Relation| r.mode.is_none() || (r.table.is_some() && !r.is_nullable);
    let are_rows = relations.iter().any(|r| r.mode.is_some()) && relations.iter().all(is_row);
    are_rows.then_some(relations)
}

/// Whether what is locked is skipped, and the counts that are taken out of the query then; `None` where
/// that cannot be done.
fn skips(
    ast: &mut ast::Query,
    locks: &[ast::LockClause],
    table_count: usize,
) -> Option<Option<(Option<u64>, u64)>> {
    let nonblock = locks.first()?.nonblock;
    if locks.iter().any(|lock| lock.nonblock != nonblock) {
        return None;
    }
    if nonblock != Some(NonBlock::SkipLocked) {
        return Some(None);
    }
    let counts = counts(ast.limit_clause.as_ref()).filter(|_| table_count == 1)?;
    ast.limit_clause = None;
    Some(Some(counts))
}

/// The select of a query that is nothing but one.
fn plain(ast: &ast::Query) -> Option<&Select> {
    let SetExpr::Select(select) = ast.body.as_ref() else { return None };
    let groups = match &select.group_by {
        GroupByExpr::Expressions(keys, sets) => !keys.is_empty() || !sets.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let is_plain = ast.with.is_none()
        && ast.fetch.is_none()
        && !ast.locks.is_empty()
        && select.distinct.is_none()
        && select.into.is_none()
        && select.having.is_none()
        && select.named_window.is_empty()
        && !groups;
    is_plain.then_some(select)
}

/// The relations of a select; `None` where joins make columns of their own, or rows without any of some.
fn relations(select: &Select, catalog: &dyn Catalog) -> Option<Vec<Relation>> {
    let mut relations = vec![];
    for from in &select.from {
        relations.push(relation(&from.relation, false, catalog)?);
        for join in &from.joins {
            let (constraint, is_nullable) = match &join.join_operator {
                JoinOperator::Join(on) | JoinOperator::Inner(on) | JoinOperator::CrossJoin(on) => {
                    (on, false)
                }
                JoinOperator::Left(on) | JoinOperator::LeftOuter(on) => (on, true),
                _ => return None,
            };
            if matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural) {
                return None;
            }
            relations.push(relation(&join.relation, is_nullable, catalog)?);
        }
    }
    Some(relations)
}

fn relation(factor: &TableFactor, is_nullable: bool, catalog: &dyn Catalog) -> Option<Relation> {
    let (table, alias) = match factor {
        TableFactor::Table { name: table, alias, args: None, sample: None, .. } => {
            (Some(name(table).ok()?), alias)
        }
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => (None, alias),
        _ => return None,
    };
    let has_columns = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
    let alias = match alias {
        Some(alias) => Some(name(&alias.name.clone().into()).ok()?),
        None => table.clone(),
    };
    let table = table.filter(|table| !has_columns && catalog.table(table).is_some());
    Some(Relation { table, alias, is_nullable, mode: None })
}

/// The numbers of `LIMIT` and `OFFSET`, if they are numbers.
fn counts(limit: Option<&LimitClause>) -> Option<(Option<u64>, u64)> {
    let number = |expr: &Expr| match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    };
    match limit {
        None => Some((None, 0)),
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            let limit = limit.as_ref().map_or(Some(None), |limit| number(limit).map(Some))?;
            let offset = offset.as_ref().map_or(Some(0), |offset| number(&offset.value))?;
            Some((limit, offset))
        }
        Some(LimitClause::OffsetCommaLimit { .. }) => None,
    }
}

/// Reads the targets in place of their tables, and adds their keys behind the columns; `None` where it
/// cannot be said what `*` is.
fn add_keys(
    ast: &mut ast::Query,
    targets: &TargetCatalog<'_>,
    relations: &[Relation],
    catalog: &dyn Catalog,
) -> Option<()> {
    let SetExpr::Select(select) = ast.body.as_mut() else { return None };
    let mut items = vec![];
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::Wildcard(_) => {
                for relation in relations {
                    items.extend(own_columns(relation, catalog)?);
                }
            }
            SelectItem::QualifiedWildcard(
                ast::SelectItemQualifiedWildcardKind::ObjectName(of),
                _,
            ) => {
                let of = name(&of).ok()?;
                let relation = relations.iter().find(|r| r.alias.as_ref() == Some(&of))?;
                items.extend(own_columns(relation, catalog)?);
            }
            SelectItem::QualifiedWildcard(..) => return None,
            other => items.push(other),
        }
    }
    let locked = relations.iter().filter(|relation| relation.mode.is_some());
    for (number, (relation, target)) in locked.zip(targets.targets()).enumerate() {
        let alias = relation.alias.as_deref()?;
        items.extend(target.primary_key.iter().map(|ordinal| SelectItem::ExprWithAlias {
            expr: column(alias, &target.schema.columns[*ordinal].name),
            alias: Ident::with_quote('"', apart(&format!("key {number}"), *ordinal)),
        }));
    }
    select.projection = items;
    let factors = select.from.iter_mut().flat_map(|from| {
        let joined = from.joins.iter_mut().map(|join| &mut join.relation);
        std::iter::once(&mut from.relation).chain(joined)
    });
    let locked = factors.zip(relations).filter(|(_, relation)| relation.mode.is_some());
    for (number, (factor, relation)) in locked.enumerate() {
        let (TableFactor::Table { name, alias, .. }, Some(called)) = (factor, &relation.alias)
        else {
            return None;
        };
        *name = Ident::with_quote('"', target_name(number)).into();
        let (name, columns) = (Ident::with_quote('"', called), vec![]);
        *alias = Some(ast::TableAlias { explicit: true, name, columns, at: None });
    }
    Some(())
}

fn column(alias: &str, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![Ident::with_quote('"', alias), Ident::with_quote('"', name)])
}

/// The columns of a table; the hidden one is none of those that the catalog says.
fn own_columns(relation: &Relation, catalog: &dyn Catalog) -> Option<Vec<SelectItem>> {
    let table = catalog.table(relation.table.as_deref()?)?;
    let alias = relation.alias.as_deref()?;
    let own = table.schema.columns.iter();
    Some(own.map(|one| SelectItem::UnnamedExpr(column(alias, &one.name))).collect())
}
