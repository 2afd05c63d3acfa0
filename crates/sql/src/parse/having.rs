//! `HAVING` of a query without groups and aggregates: all of its rows are one group.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Query, Select, Value, Visit, Visitor,
};
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;

use super::rewrite::{binary, last_name};
use crate::library::is_aggregate;

/// Has such a query count its rows, for the library knows queries with groups by their aggregates.
pub(super) fn without_groups(select: &mut Select) {
    let is_ungrouped =
        matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let Some(having) = select.having.take_if(|_| is_ungrouped) else { return };
    let has_aggregates = has_aggregate(&having) || select.projection.iter().any(has_aggregate);
    select.having = Some(match has_aggregates {
        true => having,
        false => binary(having, BinaryOperator::And, any_number_of_rows()),
    });
}

/// `count(*) >= 0`.
fn any_number_of_rows() -> Expr {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql("count(*) >= 0");
    let always = || Expr::value(Value::Boolean(true));
    parser.and_then(|mut parser| parser.parse_expr()).unwrap_or_else(|_| always())
}

fn has_aggregate(part: &impl Visit) -> bool {
    part.visit(&mut Aggregates { depth: 0 }).is_break()
}

/// Stops at an aggregate of this query.
struct Aggregates {
    /// Queries around the expression at hand.
    depth: usize,
}

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function)
                if self.depth == 0
                    && function.over.is_none()
                    && is_aggregate(&last_name(&function.name)) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
