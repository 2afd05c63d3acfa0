//! `INSERT`, `UPDATE`, `DELETE` and `TRUNCATE`, as far as syntax goes.

use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{
    self, AssignmentTarget, ConflictTarget, FromTable, OnConflictAction, OnInsert, SelectItem,
    TableFactor, TableWithJoins, UpdateTableFromKind,
};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::expressions::select_of;
use crate::parse::object_name::{RelationName, identifier, name, relation};
use crate::parse::statement::bound::Bound;
use crate::parse::statement::kept::Kept;
use crate::parse::statement::overriding::Overriding;
use crate::parse::statement::query::{Query, query};

/// `INSERT`.
#[derive(Clone, Debug)]
pub struct Insert {
    /// The table.
    pub table: RelationName,
    /// Column names; empty means all in order.
    pub columns: Vec<String>,
    /// What becomes of values for identity columns.
    pub overriding: Overriding,
    pub(crate) alias: Option<String>,
    pub(crate) source: InsertSource,
    pub(crate) conflict: Option<OnConflict>,
    pub(crate) returning: Vec<SelectItem>,
    /// How it is run if it is compiled: its own values are still parameters then.
    pub(crate) execution: Option<Kept>,
    /// The statement that it is, where that may run again with other values.
    pub bound: Option<Arc<Bound>>,
}

impl Insert {
    /// The values that stand in the statement itself.
    pub fn value_count(&self) -> usize {
        match &self.source {
            InsertSource::Values(rows) => rows.iter().map(Vec::len).sum(),
            InsertSource::Query(_) | InsertSource::Defaults => 0,
        }
    }
}

/// Where new rows come from.
#[derive(Clone, Debug)]
pub(crate) enum InsertSource {
    /// `VALUES`, without any clause that only a query has.
    Values(Vec<Vec<ast::Expr>>),
    Query(Query),
    /// `DEFAULT VALUES`.
    Defaults,
}

/// `ON CONFLICT`.
#[derive(Clone, Debug)]
pub(crate) struct OnConflict {
    pub target: Arbiter,
    /// `None` is `DO NOTHING`.
    pub update: Option<(Vec<Assignment>, Option<ast::Expr>)>,
}

/// Which constraint a conflict must be about.
#[derive(Clone, Debug)]
pub(crate) enum Arbiter {
    Any,
    Columns(Vec<String>),
    Constraint(String),
}

/// `column = expression`.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub column: String,
    pub value: ast::Expr,
}

/// `UPDATE`.
#[derive(Clone, Debug)]
pub struct Update {
    /// The table.
    pub table: RelationName,
    pub(crate) alias: Option<String>,
    pub(crate) with: Option<ast::With>,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) from: Vec<TableWithJoins>,
    pub(crate) selection: Option<ast::Expr>,
    pub(crate) returning: Vec<SelectItem>,
    /// How it is run if it is compiled: its own values are still parameters then.
    pub(crate) execution: Option<Kept>,
    /// The statement that it is, where that may run again with other values.
    pub bound: Option<Arc<Bound>>,
}

/// `DELETE`.
#[derive(Clone, Debug)]
pub struct Delete {
    /// The table.
    pub table: RelationName,
    pub(crate) alias: Option<String>,
    pub(crate) with: Option<ast::With>,
    pub(crate) using: Vec<TableWithJoins>,
    pub(crate) selection: Option<ast::Expr>,
    pub(crate) returning: Vec<SelectItem>,
    /// How it is run if it is compiled: its own values are still parameters then.
    pub(crate) execution: Option<Kept>,
    /// The statement that it is, where that may run again with other values.
    pub bound: Option<Arc<Bound>>,
}

/// `TRUNCATE`.
#[derive(Clone, Debug)]
pub struct Truncate {
    /// The tables.
    pub tables: Vec<RelationName>,
    /// Identity columns begin anew.
    pub restart_identity: bool,
    /// Tables that refer to these are emptied too.
    pub cascade: bool,
}

impl Insert {
    /// Whether rows come back.
    pub fn returns_rows(&self) -> bool {
        !self.returning.is_empty()
    }
}

impl Update {
    /// Whether rows come back.
    pub fn returns_rows(&self) -> bool {
        !self.returning.is_empty()
    }

    /// Whether its query finds no row of the table twice, since no other is joined with it.
    pub fn finds_rows_once(&self) -> bool {
        self.from.is_empty()
    }
}

impl Delete {
    /// Whether rows come back.
    pub fn returns_rows(&self) -> bool {
        !self.returning.is_empty()
    }

    /// Whether its query finds no row of the table twice, since no other is joined with it.
    pub fn finds_rows_once(&self) -> bool {
        self.using.is_empty()
    }
}

/// A query of one row.
pub(crate) fn row_query(row: Vec<ast::Expr>) -> SqlResult<Query> {
    let outputs = row.into_iter().map(SelectItem::UnnamedExpr).collect();
    Ok(Query::new(Box::new(select_of(outputs)?)))
}

/// The queries of a `WITH` before `INSERT` as those of the query that it inserts.
pub(super) fn with_queries(mut insert: ast::Insert, with: Option<ast::With>) -> ast::Insert {
    if let (Some(mut outer), Some(source)) = (with, &mut insert.source) {
        if let Some(inner) = source.with.take() {
            outer.recursive |= inner.recursive;
            outer.cte_tables.extend(inner.cte_tables);
        }
        source.with = Some(outer);
    }
    insert
}

pub(super) fn insert(insert: ast::Insert) -> SqlResult<Insert> {
    let ast::TableObject::TableName(table) = &insert.table else {
        return Err(SqlError::unsupported("INSERT into a function"));
    };
    if insert.or.is_some() || insert.ignore || insert.replace_into || insert.overwrite {
        let foreign = if insert.or.is_some() { "OR" } else { "INTO" };
        let message = format!("syntax error at or near \"{foreign}\"");
        return Err(
            SqlError::new(SqlState::SYNTAX_ERROR, message).with_hint("Use INSERT .. ON CONFLICT.")
        );
    }
    let conflict = match insert.on {
        None => None,
        Some(OnInsert::OnConflict(conflict)) => Some(on_conflict(conflict)?),
        Some(_) => return Err(SqlError::unsupported("ON DUPLICATE KEY UPDATE")),
    };
    let source = match insert.source {
        None if insert.assignments.is_empty() => InsertSource::Defaults,
        None => return Err(SqlError::unsupported("INSERT .. SET")),
        Some(query) => source(query)?,
    };
    let alias = insert.table_alias.as_ref().map(|a| identifier(&a.alias));
    let columns = insert.columns.iter().map(name).collect::<SqlResult<_>>()?;
    let returning = insert.returning.unwrap_or_default();
    let overriding = Overriding::Nothing;
    let (table, execution, bound) = (relation(table)?, None, None);
    Ok(Insert { table, columns, overriding, alias, source, conflict, returning, execution, bound })
}

fn source(ast: Box<ast::Query>) -> SqlResult<InsertSource> {
    let plain = ast.with.is_none() && ast.order_by.is_none() && ast.limit_clause.is_none();
    match *ast.body {
        ast::SetExpr::Values(values) if plain && ast.fetch.is_none() => {
            Ok(InsertSource::Values(values.rows.into_iter().map(|row| row.content).collect()))
        }
        body => {
            Ok(InsertSource::Query(query(Box::new(ast::Query { body: Box::new(body), ..*ast }))?))
        }
    }
}

fn on_conflict(conflict: ast::OnConflict) -> SqlResult<OnConflict> {
    let target = match conflict.conflict_target {
        None => Arbiter::Any,
        Some(ConflictTarget::Columns(columns)) => {
            Arbiter::Columns(columns.iter().map(identifier).collect())
        }
        Some(ConflictTarget::OnConstraint(constraint)) => Arbiter::Constraint(name(&constraint)?),
    };
    let update = match conflict.action {
        OnConflictAction::DoNothing => None,
        OnConflictAction::DoUpdate(update) => {
            if matches!(target, Arbiter::Any) {
                let message =
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message)
                    .with_hint("For example, ON CONFLICT (column_name)."));
            }
            Some((assignments(update.assignments)?, update.selection))
        }
    };
    Ok(OnConflict { target, update })
}

fn assignments(given: Vec<ast::Assignment>) -> SqlResult<Vec<Assignment>> {
    let mut all: Vec<Assignment> = Vec::new();
    for assignment in given {
        match assignment.target {
            AssignmentTarget::ColumnName(column) => {
                all.push(Assignment { column: plain(&column)?, value: assignment.value });
            }
            AssignmentTarget::Tuple(columns) => {
                let values = several(assignment.value, columns.len())?;
                for (column, value) in columns.iter().zip(values) {
                    all.push(Assignment { column: plain(column)?, value });
                }
            }
        }
    }
    for (i, assignment) in all.iter().enumerate() {
        if all[..i].iter().any(|a| a.column == assignment.column) {
            let message = format!("multiple assignments to same column \"{}\"", assignment.column);
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
    }
    Ok(all)
}

fn plain(column: &ast::ObjectName) -> SqlResult<String> {
    match column.0.as_slice() {
        [part] => match part.as_ident() {
            Some(ident) => Ok(identifier(ident)),
            None => Err(SqlError::unsupported("this assignment")),
        },
        _ => Err(SqlError::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" cannot be assigned to"),
        )
        .with_hint("SET target columns cannot be qualified with the relation name.")),
    }
}

/// The values of `(a, b) = (1, 2)` or `(a, b) = (select ..)`.
fn several(value: ast::Expr, count: usize) -> SqlResult<Vec<ast::Expr>> {
    let differ = || {
        let message = "number of columns does not match number of values";
        SqlError::new(SqlState::SYNTAX_ERROR, message)
    };
    match value {
        ast::Expr::Tuple(values) if values.len() == count => Ok(values),
        ast::Expr::Tuple(_) => Err(differ()),
        ast::Expr::Nested(value) if count == 1 => Ok(vec![*value]),
        ast::Expr::Subquery(query) => {
            let ast::SetExpr::Select(select) = query.body.as_ref() else {
                return Err(SqlError::unsupported("this source of a multiple-column assignment"));
            };
            if select.projection.len() != count {
                return Err(differ());
            }
            let only = |i: usize| {
                let mut one = query.clone();
                if let ast::SetExpr::Select(select) = one.body.as_mut() {
                    select.projection = vec![select.projection[i].clone()];
                }
                ast::Expr::Subquery(one)
            };
            Ok((0..count).map(only).collect())
        }
        _ => Err(SqlError::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
        )),
    }
}

pub(super) fn update(update: ast::Update, with: Option<ast::With>) -> SqlResult<Update> {
    if !update.order_by.is_empty() || update.limit.is_some() {
        return Err(SqlError::unsupported("UPDATE with ORDER BY or LIMIT"));
    }
    let from = match update.from {
        None => vec![],
        Some(UpdateTableFromKind::AfterSet(from)) => from,
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "FROM belongs behind SET"));
        }
    };
    let (table, alias) = target(&update.table)?;
    let returning = update.returning.unwrap_or_default();
    returns_own(&returning, &from)?;
    let assignments = assignments(update.assignments)?;
    let (selection, execution, bound) = (update.selection, None, None);
    Ok(Update { table, alias, with, assignments, from, selection, returning, execution, bound })
}

pub(super) fn delete(delete: ast::Delete, with: Option<ast::With>) -> SqlResult<Delete> {
    if !delete.order_by.is_empty() || delete.limit.is_some() || !delete.tables.is_empty() {
        return Err(SqlError::unsupported("this form of DELETE"));
    }
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = delete.from;
    let [from] = from.as_slice() else {
        return Err(SqlError::unsupported("DELETE from several tables"));
    };
    let (table, alias) = target(from)?;
    let using = delete.using.unwrap_or_default();
    let returning = delete.returning.unwrap_or_default();
    returns_own(&returning, &using)?;
    let (selection, execution, bound) = (delete.selection, None, None);
    Ok(Delete { table, alias, with, using, selection, returning, execution, bound })
}

/// `RETURNING` gives the columns of the table that changes; `*` would be those of other relations too.
fn returns_own(returning: &[SelectItem], others: &[TableWithJoins]) -> SqlResult<()> {
    let all = returning.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    match all && !others.is_empty() {
        true => Err(SqlError::unsupported("RETURNING the columns of other relations")
            .with_hint("Write * behind the name of the table that changes: RETURNING name.*")),
        false => Ok(()),
    }
}

/// The name and the alias of the table that changes.
fn target(table: &TableWithJoins) -> SqlResult<(RelationName, Option<String>)> {
    match &table.relation {
        TableFactor::Table { name: given, alias, .. } if table.joins.is_empty() => {
            Ok((relation(given)?, alias.as_ref().map(|a| identifier(&a.name))))
        }
        _ => Err(SqlError::unsupported("changing what is not a table")),
    }
}

pub(super) fn truncate(truncate: ast::Truncate) -> SqlResult<Truncate> {
    if truncate.partitions.is_some() || truncate.if_exists {
        return Err(SqlError::unsupported("this form of TRUNCATE"));
    }
    let tables =
        truncate.table_names.iter().map(|t| relation(&t.name)).collect::<SqlResult<_>>()?;
    Ok(Truncate {
        tables,
        restart_identity: matches!(truncate.identity, Some(ast::TruncateIdentityOption::Restart)),
        cascade: matches!(truncate.cascade, Some(ast::CascadeOption::Cascade)),
    })
}
