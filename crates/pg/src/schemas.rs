//! What the engine asks for, answered from the lists of relations and functions.

use std::sync::Arc;

use arrow_array::RecordBatch;
use engine::system::{SessionView, SystemSchemas};
use sql::catalog::{TableDef, TableId};
use sql::{SystemFunction, ViewDef};
use types::{SqlError, SqlResult};

use crate::relation::{self, Relation};
use crate::rows::{self, Row, Rows};
use crate::view::View;
use crate::{functions, information_schema, pg_catalog};

/// Relations with what not everybody should know.
pub(crate) const SUPERUSERS_ONLY: [&str; 2] = ["pg_authid", "pg_shadow"];

/// `pg_catalog` and `information_schema`.
#[derive(Debug)]
pub(crate) struct Schemas;

impl SystemSchemas for Schemas {
    fn relation(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        relation::find(schema, name).map(|relation| relation.def.clone())
    }

    fn is_for_superusers(&self, name: &str) -> bool {
        SUPERUSERS_ONLY.contains(&name)
    }

    fn rows(
        &self,
        view: &Arc<SessionView>,
        id: TableId,
        ordinals: &[usize],
    ) -> SqlResult<RecordBatch> {
        let relation = relation::by_id(id);
        let relation = relation.ok_or_else(|| SqlError::internal("no such system relation"))?;
        rows::batch(relation, &rows_of(relation, &View::new(view))?, ordinals)
    }

    fn told_type(&self, id: TableId, column: usize) -> Option<u32> {
        relation::by_id(id)?.columns.get(column)?.told_oid()
    }

    fn function(&self, view: &Arc<SessionView>, name: &str) -> Option<SystemFunction> {
        functions::find(name, view)
    }

    fn object_as_view(&self, view: &Arc<SessionView>, name: &str) -> Option<Arc<ViewDef>> {
        View::new(view).sequence_as_view(name)
    }

    fn view_oid(&self, view: &Arc<SessionView>, name: &str) -> Option<u32> {
        let view = View::new(view);
        let (oid, _) = view.user_views().into_iter().find(|(_, view)| view.name == name)?;
        u32::try_from(oid).ok()
    }
}

fn rows_of(relation: &'static Relation, view: &View) -> SqlResult<Vec<Row>> {
    let mut rows = Rows::new(relation);
    match relation.schema {
        "information_schema" => information_schema::fill(view, &mut rows)?,
        _ => pg_catalog::fill(view, &mut rows)?,
    }
    Ok(rows.finish())
}
