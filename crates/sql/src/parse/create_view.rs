//! `CREATE VIEW`.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast;
use types::{SqlError, SqlResult};

use crate::catalog::view::ViewDef;
use crate::parse::statement::create::CreateView;
use crate::parse::{file_call, object_name, stored};
use crate::walk::visit_relations;

/// The statement with its query as text.
pub(crate) fn create_view(create: ast::CreateView) -> SqlResult<CreateView> {
    if create.materialized || create.temporary || create.to.is_some() || create.if_not_exists {
        return Err(SqlError::unsupported("this form of CREATE VIEW"));
    }
    if file_call::reads_files(&create.query) {
        return Err(SqlError::unsupported("a view of files")
            .with_hint("Copy the files into a table, and make a view of that."));
    }
    let columns = create.columns.iter().map(|c| object_name::identifier(&c.name)).collect();
    let name = object_name::relation(&create.name)?;
    let mut relations = Vec::new();
    // The visit itself never stops.
    let _ = visit_relations(&create.query, |relation| {
        relations.extend(object_name::name(relation).ok());
        ControlFlow::<()>::Continue(())
    });
    let query = stored::printed(&create.query);
    let view = ViewDef { name: name.name.clone(), columns, query, relations };
    Ok(CreateView { name, view, or_replace: create.or_replace })
}
