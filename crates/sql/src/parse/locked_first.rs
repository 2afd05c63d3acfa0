//! `UPDATE .. WHERE id = (SELECT .. FOR UPDATE SKIP LOCKED LIMIT 1)`, as queues take their next
//! job: the query that locks rows runs first, and what it gives is a relation for the change, as
//! the queries of a `WITH` are.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{self, Expr, SetExpr, TableFactor, TableWithJoins};
use types::SqlResult;

use crate::parse::object_name::identifier;
use crate::parse::statement::{Statement, WithWrites};
use crate::parse::text::query_or_change;
use crate::parse::with_writes::given;
use crate::walk::{visit_expressions, visit_expressions_mut};

/// Takes the queries that lock rows out of an `UPDATE`.
pub(super) fn of_update(update: &mut ast::Update) -> SqlResult<Vec<Statement>> {
    let mut taken = Taken::default();
    taken.take_of_expressions(&mut update.selection)?;
    taken.take_of_expressions(&mut update.assignments)?;
    if let Some(ast::UpdateTableFromKind::AfterSet(from)) = &mut update.from {
        taken.take_of_relations(from)?;
    }
    taken.statements()
}

/// Takes the queries that lock rows out of a `DELETE`.
pub(super) fn of_delete(delete: &mut ast::Delete) -> SqlResult<Vec<Statement>> {
    let mut taken = Taken::default();
    taken.take_of_expressions(&mut delete.selection)?;
    taken.take_of_relations(delete.using.as_deref_mut().unwrap_or_default())?;
    taken.statements()
}

/// The change behind what it reads.
pub(super) fn behind(parts: Vec<Statement>, body: Statement) -> Statement {
    match parts.is_empty() {
        true => body,
        false => Statement::WithWrites(WithWrites { parts, body: Box::new(body) }),
    }
}

#[derive(Default)]
struct Taken(Vec<ast::Query>);

impl Taken {
    fn take_of_expressions(&mut self, tree: &mut impl ast::VisitMut) -> SqlResult<()> {
        let broken = visit_expressions_mut(tree, |expr| {
            let query = match expr {
                Expr::Subquery(query)
                | Expr::InSubquery { subquery: query, .. }
                | Expr::Exists { subquery: query, .. } => query,
                _ => return ControlFlow::Continue(()),
            };
            match self.take(query) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(Box::new(error)),
            }
        });
        match broken {
            ControlFlow::Break(error) => Err(*error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn take_of_relations(&mut self, relations: &mut [TableWithJoins]) -> SqlResult<()> {
        for TableWithJoins { relation, joins } in relations {
            let joined = joins.iter_mut().map(|join| &mut join.relation);
            for factor in [relation].into_iter().chain(joined) {
                if let TableFactor::Derived { lateral: false, subquery, .. } = factor {
                    self.take(subquery)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, query: &mut Box<ast::Query>) -> SqlResult<()> {
        if !query.locks.is_empty() && is_alone(query) {
            let given = given(self.0.len())?;
            self.0.push(*std::mem::replace(query, given));
        }
        Ok(())
    }

    fn statements(self) -> SqlResult<Vec<Statement>> {
        self.0.into_iter().map(query_or_change).collect()
    }
}

/// True if a query names columns of its own relation only, as far as names say.
fn is_alone(query: &ast::Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let [TableWithJoins { relation: TableFactor::Table { name, alias, .. }, joins }] =
        select.from.as_slice()
    else {
        return false;
    };
    let known = match alias {
        Some(alias) => identifier(&alias.name),
        None => crate::parse::object_name::last_name(name),
    };
    let other = visit_expressions(query, |expr| match expr {
        Expr::CompoundIdentifier(parts) if parts.len() > 1 => {
            let qualifier = identifier(&parts[parts.len() - 2]);
            match qualifier == known {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    joins.is_empty() && query.with.is_none() && other.is_continue()
}
