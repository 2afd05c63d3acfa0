//! What the engine asks for, answered from the lists of relations and functions.

use std::sync::{Arc, LazyLock};

use arrow_array::RecordBatch;
use engine::system::{SessionView, SystemSchemas};
use plan::catalog::{TableDef, TableId, TableStatistics, TableStorage};
use sql::{SystemFunction, ViewDef};
use stdx::HashMap;
use types::{SqlError, SqlResult};

use crate::relation::{self, Relation};
use crate::rows::{self, Row, Rows};
use crate::view::View;
use crate::{functions, information_schema, pg_catalog, type_names};

/// Relations with rows are planned as if they had this many: hash joins, no look-ups.
const ROWS_GUESSED: u64 = 1000;

/// The relations as the planner sees them, by oid.
static DEFINITIONS: LazyLock<HashMap<i64, Arc<TableDef>>> = LazyLock::new(|| {
    relation::every().map(|relation| (relation.oid, Arc::new(definition(relation)))).collect()
});

/// `pg_catalog` and `information_schema`.
#[derive(Debug)]
pub(crate) struct Schemas;

impl SystemSchemas for Schemas {
    fn relation(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        relation::find(schema, name).map(|relation| DEFINITIONS[&relation.oid].clone())
    }

    fn is_for_superusers(&self, name: &str) -> bool {
        relation::SUPERUSERS_ONLY.contains(&name)
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
        type_names::told_oid(relation::by_id(id)?.columns.get(column)?.type_name)
    }

    fn function(&self, view: &Arc<SessionView>, name: &str) -> Option<SystemFunction> {
        functions::find(name, view)
    }

    fn object_as_view(&self, view: &Arc<SessionView>, name: &str) -> Option<Arc<ViewDef>> {
        View::new(view).sequence_as_view(name)
    }

    fn view_oid(&self, view: &Arc<SessionView>, name: &str) -> Option<u32> {
        u32::try_from(View::new(view).view_oid(name)?).ok()
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

fn definition(relation: &Relation) -> TableDef {
    let has_rows = match relation.schema {
        "information_schema" => information_schema::has_rows(relation.name),
        _ => pg_catalog::has_rows(relation.name),
    };
    let row_count = if has_rows { ROWS_GUESSED } else { 0 };
    let oid = u32::try_from(relation.oid).expect("the list has oids");
    TableDef {
        storage: TableStorage::Row,
        constraints: Arc::default(),
        id: TableId(TableId::SYSTEM + oid),
        name: relation.name.to_owned(),
        schema: relation.row_type.clone(),
        primary_key: vec![],
        indexes: vec![],
        statistics: Arc::new(TableStatistics { row_count, ..TableStatistics::default() }),
    }
}
