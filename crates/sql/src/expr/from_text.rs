//! Expressions from text over a given schema: for tests, tools and `INSERT`.

use arrow_schema::Schema;
use datafusion_common::DFSchema;
use datafusion_expr::simplify::SimplifyContext;
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use datafusion_sql::planner::{PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast;
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;
use types::{SqlError, SqlResult, SqlState};

use super::{AggregateExpr, Expr};
use crate::bind::{Names, NoTables};
use crate::error::from_library;
use crate::library::LIBRARY;

impl Expr {
    /// Parses and binds a scalar expression over the columns of `schema`, e.g. `a + 1 > b`.
    pub fn parse(text: &str, schema: &Schema) -> SqlResult<Expr> {
        let (bound, schema) = bind(text, schema)?;
        Expr::compile(&bound, &schema)
    }
}

impl AggregateExpr {
    /// Parses and binds an aggregate over the columns of `schema`, e.g. `sum(distinct a)`.
    pub fn parse(text: &str, schema: &Schema) -> SqlResult<AggregateExpr> {
        let (bound, schema) = bind(text, schema)?;
        AggregateExpr::compile(&bound, &schema)
    }
}

fn bind(text: &str, schema: &Schema) -> SqlResult<(datafusion_expr::Expr, DFSchema)> {
    let syntax = |e: datafusion_sql::sqlparser::parser::ParserError| {
        SqlError::new(SqlState::SYNTAX_ERROR, e.to_string())
    };
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text);
    let parsed = parser.and_then(|mut p| p.parse_expr()).map_err(syntax)?;
    let schema = DFSchema::try_from(schema.clone()).map_err(from_library)?;
    Ok((bind_scalar(parsed, &schema)?, schema))
}

/// Binds and coerces one expression over rows of `schema`; tables are out of reach.
pub(crate) fn bind_scalar(expr: ast::Expr, schema: &DFSchema) -> SqlResult<datafusion_expr::Expr> {
    let names = Names(&NoTables, vec![]);
    let planner = SqlToRel::new_with_options(&names, LIBRARY.parser);
    let bound =
        planner.sql_to_expr(expr, schema, &mut PlannerContext::new()).map_err(from_library)?;
    let typed = crate::library::typed(bound, schema).map_err(from_library)?;
    let widened = crate::library::widen_sums(typed, schema).map_err(from_library)?;
    ExprSimplifier::new(SimplifyContext::default()).coerce(widened, schema).map_err(from_library)
}
