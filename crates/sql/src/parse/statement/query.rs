//! A query as it was parsed.

use std::sync::{Arc, OnceLock};

use datafusion_sql::sqlparser::ast;
use types::SqlResult;

use crate::parse::refuse::unsupported;
use crate::parse::statement::bound::Bound;
use crate::parse::statement::kept::Kept;

/// A parsed query.
#[derive(Clone, Debug)]
pub struct Query {
    pub(crate) ast: Arc<ast::Query>,
    /// The relations whose rows it locks, once somebody has asked.
    pub(crate) locks: Arc<OnceLock<Kept>>,
    /// The statement that it is, where that may run again with other values.
    pub bound: Option<Arc<Bound>>,
}

pub(crate) fn query(ast: Box<ast::Query>) -> SqlResult<Query> {
    match ast.body.as_ref() {
        ast::SetExpr::Insert(s)
        | ast::SetExpr::Update(s)
        | ast::SetExpr::Delete(s)
        | ast::SetExpr::Merge(s) => Err(unsupported(s)),
        _ => Ok(Query::new(ast)),
    }
}

impl Query {
    pub(crate) fn new(ast: Box<ast::Query>) -> Query {
        Query { ast: ast.into(), locks: Arc::default(), bound: None }
    }

    /// The syntax tree, to be changed.
    pub(crate) fn ast_mut(&mut self) -> &mut ast::Query {
        self.locks = Arc::default();
        Arc::make_mut(&mut self.ast)
    }

    /// The query with the queries of a `WITH` at hand.
    pub(crate) fn below(mut self, with: Option<ast::With>) -> Query {
        self.ast_mut().with = with;
        self
    }
}
