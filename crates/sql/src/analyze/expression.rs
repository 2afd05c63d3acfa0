//! Expressions from text over a given schema: for tests, tools and `INSERT`.

use std::ops::ControlFlow;

use arrow_schema::Schema;
use datafusion_common::DFSchema;
use datafusion_common::tree_node::TransformedResult;
use datafusion_expr::simplify::SimplifyContext;
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use datafusion_sql::planner::{PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast::{self, Visitor};
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;
use plan::expr::{AggregateExpr, Expr};
use types::{SqlError, SqlResult, SqlState};

use crate::analyze::names::Names;
use crate::analyze::{exact_sum, typing};
use crate::catalog::Catalog;
use crate::catalog::empty::NoTables;
use crate::error::from_library;
use crate::expr::{aggregate, scalar};
use crate::functions::as_case::as_case;
use crate::functions::library::LIBRARY;
use crate::parse::expressions::select_of;
use crate::rewrite::steps;
use crate::walk::Walk;
use crate::walk::nodes::Nodes;

/// Parses and binds a scalar expression over the columns of `schema`, e.g. `a + 1 > b`.
///
/// # Errors
/// Those of parsing and binding.
pub fn parse_expr(text: &str, schema: &Schema) -> SqlResult<Expr> {
    let (bound, schema) = bind(text, schema)?;
    scalar::compile(&bound, &schema)
}

/// Parses and binds an aggregate over the columns of `schema`, e.g. `sum(distinct a)`.
///
/// # Errors
/// Those of parsing and binding.
pub fn parse_aggregate(text: &str, schema: &Schema) -> SqlResult<AggregateExpr> {
    let (bound, schema) = bind(text, schema)?;
    aggregate::compile(&bound, &schema)
}

pub(crate) fn bind(text: &str, schema: &Schema) -> SqlResult<(datafusion_expr::Expr, DFSchema)> {
    let syntax = |e: datafusion_sql::sqlparser::parser::ParserError| {
        SqlError::new(SqlState::SYNTAX_ERROR, e.to_string())
    };
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
    let parsed = parser.and_then(|mut p| p.parse_expr()).map_err(syntax)?;
    let schema = DFSchema::try_from(schema.clone()).map_err(from_library)?;
    Ok((bind_scalar(parsed, &schema, &NoTables)?, schema))
}

/// Binds and coerces one expression over rows of `schema`; of the catalog it may use functions only.
pub(crate) fn bind_scalar(
    expr: ast::Expr,
    schema: &DFSchema,
    catalog: &dyn Catalog,
) -> SqlResult<datafusion_expr::Expr> {
    let names = Names::new(catalog);
    let expr = rewritten(expr, catalog)?;
    let planner = SqlToRel::new_with_options(&names, LIBRARY.parser);
    let bound =
        planner.sql_to_expr(expr, schema, &mut PlannerContext::new()).map_err(from_library)?;
    let typed = typing::typed(bound, schema).map_err(from_library)?;
    let widened = exact_sum::widen_sums(typed, schema).map_err(from_library)?;
    let coerced = ExprSimplifier::new(SimplifyContext::default()).coerce(widened, schema);
    coerced.and_then(|expr| expr.transform_up(as_case).data()).map_err(from_library)
}

/// The expression in words that the library knows; queries inside are refused.
fn rewritten(expr: ast::Expr, catalog: &dyn Catalog) -> SqlResult<ast::Expr> {
    let mut query = select_of(vec![ast::SelectItem::UnnamedExpr(expr)])?;
    if query.walk(&mut Nested(0)).is_break() {
        return Err(SqlError::unsupported("a subquery here"));
    }
    steps::of_expression(&mut query, catalog)?;
    match *query.body {
        ast::SetExpr::Select(mut select) => match select.projection.pop() {
            Some(ast::SelectItem::UnnamedExpr(expr)) => Ok(expr),
            _ => Err(SqlError::internal("a rewritten expression is none")),
        },
        _ => Err(SqlError::internal("a rewritten expression is none")),
    }
}

/// Stops at the second query.
struct Nested(usize);

impl Visitor for Nested {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &ast::Query) -> ControlFlow<()> {
        self.0 += 1;
        if self.0 > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
