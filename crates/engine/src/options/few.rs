//! The few functions that tests inside of this crate call: no relations, and none of PostgreSQL's catalogs.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use plan::catalog::{TableDef, TableId};
use sql::{SystemFunction, SystemValue, ViewDef};
use types::{LogicalType, SqlError, SqlResult};

use crate::catalog::sequence::SequenceKey;
use crate::options::Options;
use crate::system::schemas::SystemSchemas;
use crate::system::view::SessionView;

#[derive(Debug)]
struct Few;

impl Options {
    /// The defaults, with the few functions.
    pub(crate) fn few() -> Options {
        Options::new(Arc::new(Few))
    }
}

type Body = fn(&SessionView, &SystemValue) -> SqlResult<SystemValue>;

/// Of sequences that `CREATE SEQUENCE` has made.
fn nextval(view: &SessionView, name: &SystemValue) -> SqlResult<SystemValue> {
    let def =
        name.text().and_then(|name| view.made_sequence(name)).expect("there is such a sequence");
    let number = def.sequence.next(&def.name, def.ty())?;
    view.note_number(SequenceKey(def.id, 0), &def.sequence, number);
    Ok(number.into())
}

fn pg_sleep(view: &SessionView, seconds: &SystemValue) -> SqlResult<SystemValue> {
    view.sleep(Duration::from_secs(seconds.int().unwrap_or_default().unsigned_abs()));
    Ok("".into())
}

impl SystemSchemas for Few {
    fn relation(&self, _schema: &str, _name: &str) -> Option<Arc<TableDef>> {
        None
    }

    fn is_for_superusers(&self, _name: &str) -> bool {
        false
    }

    fn rows(
        &self,
        _view: &Arc<SessionView>,
        _id: TableId,
        _ordinals: &[usize],
    ) -> SqlResult<RecordBatch> {
        Err(SqlError::internal("there are no system relations"))
    }

    fn told_type(&self, _id: TableId, _column: usize) -> Option<u32> {
        None
    }

    fn function(&self, view: &Arc<SessionView>, name: &str) -> Option<SystemFunction> {
        let (name, returns, body): (_, _, Body) = match name {
            "nextval" => ("nextval", LogicalType::Int64, nextval),
            "pg_sleep" => ("pg_sleep", LogicalType::Text, pg_sleep),
            _ => return None,
        };
        let view = view.clone();
        let body = Arc::new(move |arguments: &[SystemValue]| body(&view, &arguments[0]));
        Some(SystemFunction { name, returns, arguments: 1..=1, strict: true, volatile: true, body })
    }

    fn object_as_view(&self, _view: &Arc<SessionView>, _name: &str) -> Option<Arc<ViewDef>> {
        None
    }

    fn view_oid(&self, _view: &Arc<SessionView>, _name: &str) -> Option<u32> {
        None
    }
}
