//! The query that is bound while types of parameters are found: whole numbers that columns are made of are integers,
//! queries of `WITH` that nothing names are named, and `VALUES` are queries where that is needed.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Visit,
    VisitMut, Visitor, VisitorMut,
};

use crate::parse::balance::balanced;
use crate::parse::expressions::parsed_query;
use crate::parse::expressions::select_of;
use crate::parse::object_name::identifier;
use crate::quote::quote_ident;
use crate::rewrite::query::say_integers;

/// Says of outputs that are integers in PostgreSQL that they are.
pub(super) fn say_types(query: &mut Query) {
    // The visit itself never stops.
    let _ = VisitMut::visit(query, &mut Columns);
}

struct Columns;

impl VisitorMut for Columns {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        say_integers(&mut query.body);
        ControlFlow::Continue(())
    }
}

/// The query with `SELECT .. UNION ALL SELECT ..` in the place of `VALUES` of several rows; `None` without these. The
/// library takes no `VALUES` in which something is noted of a row's type, of a `numeric` say, and not of another's.
pub(super) fn values_as_selects(query: &Query) -> Option<Query> {
    // Most queries have none, and need no copy.
    if Visit::visit(query, &mut HasRows).is_continue() {
        return None;
    }
    let mut selects = query.clone();
    // The visit itself never stops.
    let _ = VisitMut::visit(&mut selects, &mut RowsAsSelects);
    Some(selects)
}

/// More of them are no matter of types.
const ROWS_MAX: usize = 32;

fn has_several(body: &SetExpr) -> bool {
    matches!(body, SetExpr::Values(values) if (2..=ROWS_MAX).contains(&values.rows.len()))
}

/// Stops at `VALUES` of several rows.
struct HasRows;

impl Visitor for HasRows {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        match has_several(&query.body) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

struct RowsAsSelects;

impl VisitorMut for RowsAsSelects {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if has_several(&query.body)
            && let SetExpr::Values(values) = query.body.as_mut()
        {
            let selects: Option<Vec<SetExpr>> =
                values.rows.iter().map(|row| selected(row)).collect();
            let all = |left, right| SetExpr::SetOperation {
                left: Box::new(left),
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                right: Box::new(right),
            };
            if let Some(mut body) = selects.and_then(|selects| balanced(selects, all)) {
                say_integers(&mut body);
                *query.body = body;
            }
        }
        ControlFlow::Continue(())
    }
}

/// A query of one row, with the names that the columns of `VALUES` have.
fn selected(row: &[Expr]) -> Option<SetExpr> {
    let output = |(at, expr): (usize, &Expr)| SelectItem::ExprWithAlias {
        expr: expr.clone(),
        alias: Ident::new(format!("column{}", at + 1)),
    };
    Some(*select_of(row.iter().enumerate().map(output).collect()).ok()?.body)
}

/// The query with each of its `WITH`, and of those inside, in a condition of the select behind it; `None` where
/// there is none. There they see the columns of the queries around. It finds the types of parameters, and is not run.
pub(super) fn all_named(query: &Query) -> Option<Query> {
    let mut named = query.clone();
    let mut naming = Naming { has_named: false };
    let is_whole = VisitMut::visit(&mut named, &mut naming).is_continue();
    (is_whole && naming.has_named).then_some(named)
}

struct Naming {
    has_named: bool,
}

impl VisitorMut for Naming {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let (Some(with), SetExpr::Select(select)) = (&query.with, query.body.as_mut()) else {
            return ControlFlow::Continue(());
        };
        for cte in &with.cte_tables {
            let name = quote_ident(&identifier(&cte.alias.name));
            let Ok(rows) = parsed_query(&format!("select 1 from {name}")) else {
                return ControlFlow::Break(());
            };
            let exists = Expr::Exists { subquery: Box::new(rows), negated: false };
            select.selection = Some(match select.selection.take() {
                None => exists,
                Some(condition) => Expr::BinaryOp {
                    left: Box::new(Expr::Nested(Box::new(condition))),
                    op: BinaryOperator::And,
                    right: Box::new(exists),
                },
            });
            self.has_named = true;
        }
        ControlFlow::Continue(())
    }
}
