//! Queries whose rows are one group without a key or an aggregate that says so: those with `HAVING`, and
//! `GROUP BY ()`.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Query, Select, Value, Visitor,
};
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;

use crate::functions::library::is_aggregate;
use crate::parse::expressions::binary;
use crate::parse::object_name::last_name;
use crate::walk::Walk;

/// Has such a query count its rows, for the library knows queries with groups by their aggregates.
pub(crate) fn without_groups(select: &mut Select) {
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else { return };
    let written = keys.len();
    // `()` is the group of all rows; beside keys it says nothing.
    keys.retain(|key| !matches!(key, Expr::Tuple(parts) if parts.is_empty()));
    let is_one_group = keys.len() < written || select.having.is_some();
    if !keys.is_empty() || !is_one_group {
        return;
    }
    let has_aggregates = select.having.as_ref().is_some_and(has_aggregate)
        || select.projection.iter().any(has_aggregate);
    if !has_aggregates {
        let all = any_number_of_rows();
        select.having = Some(match select.having.take() {
            Some(having) => binary(having, BinaryOperator::And, all),
            None => all,
        });
    }
}

/// `count(*) >= 0`.
fn any_number_of_rows() -> Expr {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql("count(*) >= 0");
    let always = || Expr::value(Value::Boolean(true));
    parser.and_then(|mut parser| parser.parse_expr()).unwrap_or_else(|_| always())
}

fn has_aggregate(part: &impl Walk) -> bool {
    part.walk(&mut Aggregates { depth: 0, or_windows: false }).is_break()
}

/// Whether an expression has an aggregate or a window function of its query.
pub(crate) fn is_of_many_rows(expr: &Expr) -> bool {
    expr.walk(&mut Aggregates { depth: 0, or_windows: true }).is_break()
}

/// Stops at an aggregate of this query, or a window function, too.
struct Aggregates {
    or_windows: bool,
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
                    && match function.over {
                        Some(_) => self.or_windows,
                        None => is_aggregate(&last_name(&function.name)),
                    } =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
