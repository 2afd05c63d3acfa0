//! The query that is bound while types of parameters are found: whole numbers that columns are made of are integers,
//! and queries of `WITH` that nothing names are named.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, VisitMut, VisitorMut};

use crate::parse::{identifier, parsed_query, say_integers};
use crate::quote::quote_ident;

/// Says of outputs that are integers in PostgreSQL that they are.
pub(super) fn say_types(query: &mut Query) {
    // The visit itself never stops.
    let _ = query.visit(&mut Columns);
}

struct Columns;

impl VisitorMut for Columns {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        say_integers(&mut query.body);
        ControlFlow::Continue(())
    }
}

/// The query with each of its `WITH`, and of those inside, in a condition of the select behind it; `None` where
/// there is none. There they see the columns of the queries around. It finds the types of parameters, and is not run.
pub(super) fn all_named(query: &Query) -> Option<Query> {
    let mut named = query.clone();
    let mut naming = Naming { has_named: false };
    let is_whole = named.visit(&mut naming).is_continue();
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
