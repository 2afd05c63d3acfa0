//! What `EXPLAIN` says.

use datafusion_sql::sqlparser::ast;
use types::SqlResult;

use crate::parse::object_name;
use crate::parse::statement::prepare::Execute;
use crate::parse::statement::query::Query;

/// The options of an `EXPLAIN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explaining {
    /// Run the statement and show what happened.
    pub analyze: bool,
    /// Show more.
    pub verbose: bool,
    /// Show it as JSON.
    pub json: bool,
    /// Show what the planner expects.
    pub costs: bool,
}

impl Explaining {
    /// `EXPLAIN EXECUTE`.
    pub(crate) fn execute(
        self,
        name: &ast::ObjectName,
        arguments: Vec<ast::Expr>,
    ) -> SqlResult<Execute> {
        Ok(Execute { name: object_name::name(name)?, arguments, explain: Some(self) })
    }
}

/// `EXPLAIN` with its options.
#[derive(Clone, Debug)]
pub struct Explain {
    /// Run the query and show what happened.
    pub analyze: bool,
    /// Show more.
    pub verbose: bool,
    /// Show it as JSON.
    pub json: bool,
    /// Show what the planner expects.
    pub costs: bool,
    /// The query.
    pub query: Query,
}
