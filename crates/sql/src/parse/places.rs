//! The places of parameters in syntax trees.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, LimitClause, Query, Select, Value, ValueWithSpan, VisitorMut,
};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::balance::QUERY_DEPTH;
use crate::parse::dml::{Insert, InsertSource};
use crate::parse::expressions::index;
use crate::parse::normalise::read_condition;
use crate::parse::statement::Statement;
use crate::parse::statement::cursor::CursorStatement;
use crate::parse::statement::query::Query as ParsedQuery;
use crate::parse::tokens::position;
use crate::walk::WalkMut;

/// The filling for the place of a parameter: of its number from 0, of the word that stands there,
/// and of whether a number of rows begins with it.
type Put<'a> = &'a dyn Fn(usize, ValueWithSpan, bool) -> SqlResult<Expr>;

/// Puts something into the places of parameters.
pub(super) struct Places<'a> {
    put: Put<'a>,
}

impl<'a> Places<'a> {
    pub(super) fn new(put: Put<'a>) -> Places<'a> {
        Places { put }
    }

    /// Fills all places of a statement.
    ///
    /// # Errors
    /// The first error of filling one.
    pub(super) fn fill(&mut self, statement: &mut Statement) -> SqlResult<()> {
        walked(statement, self).1
    }

    fn one(&self, expr: &mut Expr, is_counted: bool) -> ControlFlow<SqlError> {
        let Expr::Value(place) = &*expr else { return ControlFlow::Continue(()) };
        let Value::Placeholder(name) = &place.value else { return ControlFlow::Continue(()) };
        let Some(number) = index(name) else { return ControlFlow::Continue(()) };
        match (self.put)(number, place.clone(), is_counted) {
            Ok(put) => {
                *expr = put;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl VisitorMut for Places<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause {
            let offset = offset.as_mut().map(|offset| &mut offset.value);
            for number in limit.iter_mut().chain(offset) {
                self.one(first(number), true)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        self.one(expr, false)
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        select.selection.iter_mut().chain(&mut select.having).for_each(read_condition);
        ControlFlow::Continue(())
    }
}

/// Properties of a statement.
pub(super) struct Seen {
    pub takes_parameters: bool,
    /// Its deepest expression, as `balance` counts it.
    pub depth: usize,
}

/// Looks for parameters where none may be.
///
/// # Errors
/// 42601 for one where only a literal may stand.
pub(super) fn check(statement: &mut Statement, text: &str) -> SqlResult<Seen> {
    let mut check = Check { text, is_expression: false, level: 0, depth: 0 };
    let (takes_parameters, checked) = walked(statement, &mut check);
    checked.map(|()| Seen { takes_parameters, depth: check.depth })
}

struct Check<'a> {
    text: &'a str,
    level: usize,
    depth: usize,
    /// The value that comes next is an expression.
    is_expression: bool,
}

impl Check<'_> {
    fn enter(&mut self, levels: usize) -> ControlFlow<SqlError> {
        self.level += levels;
        self.depth = self.depth.max(self.level);
        ControlFlow::Continue(())
    }
}

impl VisitorMut for Check<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.enter(QUERY_DEPTH)
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.level -= QUERY_DEPTH;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        self.is_expression = matches!(expr, Expr::Value(_));
        self.enter(1)
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<SqlError> {
        self.level -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<SqlError> {
        match &value.value {
            Value::Placeholder(name) if !std::mem::take(&mut self.is_expression) => {
                let message = format!("syntax error at or near \"{name}\"");
                let (line, column) = (value.span.start.line, value.span.start.column);
                let error = SqlError::new(SqlState::SYNTAX_ERROR, message);
                ControlFlow::Break(error.at(position(self.text, line, column)))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The operand that an expression begins with.
pub(super) fn first(expr: &mut Expr) -> &mut Expr {
    let mut at = expr;
    // A loop: a chain of operators is as deep as it is long.
    while matches!(at, Expr::BinaryOp { .. } | Expr::Cast { .. }) {
        at = match at {
            Expr::BinaryOp { left: inner, .. } | Expr::Cast { expr: inner, .. } => inner,
            whole => whole,
        };
    }
    at
}

/// Leads a visitor through the expressions of a statement. Whether it is one that takes parameters,
/// and what the visitor has broken off with.
fn walked<V: VisitorMut<Break = SqlError>>(
    statement: &mut Statement,
    visitor: &mut V,
) -> (bool, SqlResult<()>) {
    match walk(statement, visitor) {
        ControlFlow::Continue(takes) => (takes, Ok(())),
        ControlFlow::Break(error) => (true, Err(error)),
    }
}

fn walk<V: VisitorMut>(statement: &mut Statement, visitor: &mut V) -> ControlFlow<V::Break, bool> {
    match statement {
        Statement::Query(query) => of_query(query, visitor)?,
        Statement::Explain(explain) => of_query(&mut explain.query, visitor)?,
        Statement::ExplainWrite(explain) => return walk(&mut explain.statement, visitor),
        Statement::Cursor(CursorStatement::Declare(cursor)) => {
            of_query(&mut cursor.query, visitor)?;
        }
        Statement::CreateTable(create) => match &mut create.query {
            Some(query) => of_query(query, visitor)?,
            None => return ControlFlow::Continue(false),
        },
        Statement::WithWrites(with) => {
            for part in with.parts.iter_mut().chain([with.body.as_mut()]) {
                walk(part, visitor)?;
            }
        }
        Statement::Insert(insert) => of_insert(insert, visitor)?,
        Statement::Update(update) => {
            update.with.walk_mut(visitor)?;
            for assignment in &mut update.assignments {
                assignment.value.walk_mut(visitor)?;
            }
            update.from.walk_mut(visitor)?;
            update.selection.walk_mut(visitor)?;
            update.returning.walk_mut(visitor)?;
        }
        Statement::Delete(delete) => {
            delete.with.walk_mut(visitor)?;
            delete.using.walk_mut(visitor)?;
            delete.selection.walk_mut(visitor)?;
            delete.returning.walk_mut(visitor)?;
        }
        _ => return ControlFlow::Continue(false),
    }
    ControlFlow::Continue(true)
}

fn of_query<V: VisitorMut>(query: &mut ParsedQuery, visitor: &mut V) -> ControlFlow<V::Break> {
    query.ast_mut().walk_mut(visitor)
}

fn of_insert<V: VisitorMut>(insert: &mut Insert, visitor: &mut V) -> ControlFlow<V::Break> {
    match &mut insert.source {
        InsertSource::Values(rows) => rows.walk_mut(visitor)?,
        InsertSource::Query(query) => of_query(query, visitor)?,
        InsertSource::Defaults => {}
    }
    if let Some((assignments, condition)) =
        insert.conflict.as_mut().and_then(|conflict| conflict.update.as_mut())
    {
        for assignment in assignments {
            assignment.value.walk_mut(visitor)?;
        }
        condition.walk_mut(visitor)?;
    }
    insert.returning.walk_mut(visitor)
}
