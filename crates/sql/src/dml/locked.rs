//! Queries that lock the rows of one table (`FOR UPDATE` and its kin): which rows these are is known from
//! the keys that the query gives besides.

use datafusion_sql::sqlparser::ast::{
    self, Expr, GroupByExpr, Ident, LimitClause, NonBlock, Select, SelectItem, SetExpr,
    TableFactor, Value,
};
use types::SqlResult;

use super::TargetCatalog;
use super::target::TARGET;
use crate::catalog::Catalog;
use crate::parse::{Query, RowLockMode, mode_of, name};

/// A query that locks rows of one table, to be planned in a [`TargetCatalog`]. Behind its own columns it
/// has those of the table's key: the primary key, or the row id.
pub struct LockedQuery {
    /// The table.
    pub table: String,
    /// How many columns the key has.
    pub key_count: usize,
    /// In whose way its locks are.
    pub mode: RowLockMode,
    /// `SKIP LOCKED`, with the numbers of `LIMIT` and `OFFSET`, which count the rows that are not skipped.
    pub skips: Option<(Option<u64>, u64)>,
    ast: Box<ast::Query>,
}

impl LockedQuery {
    /// The query as one whose rows are those of one table; `None` for those that join, group or unite,
    /// and for names that are no table's.
    ///
    /// # Errors
    /// 42501 for a table that may not be read.
    pub fn of(query: &Query, catalog: &dyn Catalog) -> SqlResult<Option<LockedQuery>> {
        let mut ast = query.ast.clone();
        let Some((table, alias)) = plain(&ast).and_then(only_table) else { return Ok(None) };
        let lock = ast.locks.remove(0);
        let (mode, of) = mode_of(&lock);
        let is_other = |of: ast::ObjectName| name(&of).is_ok_and(|of| of != alias.value);
        if of.is_some_and(is_other) || catalog.table(&table).is_none() {
            return Ok(None);
        }
        catalog.check_read(&table, false, None)?;
        let skips = match lock.nonblock {
            Some(NonBlock::SkipLocked) => match counts(ast.limit_clause.as_ref()) {
                None => return Ok(None),
                counts => {
                    ast.limit_clause = None;
                    counts
                }
            },
            _ => None,
        };
        let target = TargetCatalog::new(catalog, &table)?;
        let key_count = add_key(&mut ast, &target, &alias);
        Ok(Some(LockedQuery { table, key_count, mode, skips, ast }))
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
        && ast.locks.len() == 1
        && select.distinct.is_none()
        && select.into.is_none()
        && select.having.is_none()
        && select.named_window.is_empty()
        && !groups;
    is_plain.then_some(select)
}

/// The one table of a select, and what it is called there.
fn only_table(select: &Select) -> Option<(String, Ident)> {
    let [from] = select.from.as_slice() else { return None };
    let TableFactor::Table { name: table, alias, args: None, sample: None, .. } = &from.relation
    else {
        return None;
    };
    if !from.joins.is_empty() || alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
        return None;
    }
    let table = name(table).ok()?;
    let alias = match alias {
        Some(alias) => name(&alias.name.clone().into()).ok()?,
        None => table.clone(),
    };
    Some((table, Ident::with_quote('"', alias)))
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

/// Reads the target in place of the table, and adds its key behind the columns; how many columns that is.
fn add_key(ast: &mut ast::Query, catalog: &TargetCatalog<'_>, alias: &Ident) -> usize {
    let SetExpr::Select(select) = ast.body.as_mut() else { return 0 };
    let target = catalog.target();
    let column = |ordinal: usize| {
        let column = Ident::with_quote('"', &target.schema.columns[ordinal].name);
        Expr::CompoundIdentifier(vec![alias.clone(), column])
    };
    let own = 0..catalog.own_column_count();
    let shown = |item: SelectItem| match item {
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
            own.clone().map(|ordinal| SelectItem::UnnamedExpr(column(ordinal))).collect()
        }
        other => vec![other],
    };
    let mut items: Vec<SelectItem> =
        std::mem::take(&mut select.projection).into_iter().flat_map(shown).collect();
    let key = target.primary_key.iter().map(|ordinal| SelectItem::ExprWithAlias {
        expr: column(*ordinal),
        alias: Ident::with_quote('"', format!("{TARGET} key {ordinal}")),
    });
    items.extend(key);
    select.projection = items;
    if let TableFactor::Table { name, alias: called, .. } = &mut select.from[0].relation {
        *name = Ident::with_quote('"', TARGET).into();
        let (name, columns) = (alias.clone(), vec![]);
        *called = Some(ast::TableAlias { explicit: true, name, columns, at: None });
    }
    target.primary_key.len()
}
