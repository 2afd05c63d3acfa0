//! The relations and functions that the system has.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use plan::catalog::{TableDef, TableId};
use sql::{SystemFunction, ViewDef};
use types::SqlResult;

use super::view::SessionView;

/// The system's relations and functions. One value serves all sessions, from any thread.
pub trait SystemSchemas: fmt::Debug + Send + Sync {
    /// The relation `name` of the schema `schema`, as the planner knows it. Its id is at least
    /// [`TableId::SYSTEM`], and the same at each call; ids from 2³⁰ above that are the engine's own.
    fn relation(&self, schema: &str, name: &str) -> Option<Arc<TableDef>>;

    /// Whether only superusers may read the relation of this name.
    fn is_for_superusers(&self, name: &str) -> bool;

    /// The rows of a relation by its id, the columns at `ordinals`.
    ///
    /// # Errors
    /// XX000 when there is no such relation.
    fn rows(
        &self,
        view: &Arc<SessionView>,
        id: TableId,
        ordinals: &[usize],
    ) -> SqlResult<RecordBatch>;

    /// The number of the type that clients are told for a column, where it is not that of the engine's
    /// type.
    fn told_type(&self, id: TableId, column: usize) -> Option<u32>;

    /// The function `name`, for this session.
    fn function(&self, view: &Arc<SessionView>, name: &str) -> Option<SystemFunction>;

    /// What stands for an object of users that is no relation for the engine, such as a sequence, where a
    /// query reads it by its name.
    fn object_as_view(&self, view: &Arc<SessionView>, name: &str) -> Option<Arc<ViewDef>>;

    /// The number by which clients know a view of users.
    fn view_oid(&self, view: &Arc<SessionView>, name: &str) -> Option<u32>;
}

/// Whether the schema that is found first has a relation of this name.
pub(crate) fn is_system_relation(system: &dyn SystemSchemas, name: &str) -> bool {
    is_relation_of(system, "pg_catalog", name)
}

/// Whether one of the system's own schemas has a relation of this name.
pub(crate) fn is_relation_of(system: &dyn SystemSchemas, schema: &str, name: &str) -> bool {
    system.relation(schema, name).is_some()
}
