//! Questions of the planner to the database.

pub(crate) mod empty;
pub(crate) mod function;
pub mod missing;
pub(crate) mod value;
pub(crate) mod view;

use std::any::Any;
use std::sync::Arc;

use plan::catalog::{TableDef, TableId};
use types::SqlResult;

use view::ViewDef;

/// Gives the next number of a sequence. Errors: 2200H when there is none.
pub type NextNumber = Box<dyn FnMut() -> SqlResult<i64> + Send>;

/// A view of the catalog, stable while one statement is planned.
pub trait Catalog: Send + Sync {
    /// The table named `name` that a statement changes or defines.
    fn table(&self, name: &str) -> Option<Arc<TableDef>>;
    /// The table that a query reads by this name: in `public`, in `pg_temp`, or where the search
    /// path finds it.
    fn read_table(&self, schema: Option<&str>, name: &str) -> Option<Arc<TableDef>> {
        self.table(name).filter(|_| matches!(schema, None | Some("public")))
    }
    /// True if a query that names no schema finds a temporary table, or nothing that is in
    /// `public`.
    fn hides_public(&self, _name: &str) -> bool {
        false
    }
    /// The parts from which all answers follow that a plan may depend on, but for numbers of rows;
    /// `None` where they follow from others, too.
    fn definitions(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }
    /// True if its answers follow from these parts.
    fn is_defined_by(&self, _definitions: &(dyn Any + Send + Sync)) -> bool {
        false
    }
    /// The rows of a table now.
    fn row_count(&self, _table: TableId) -> Option<u64> {
        None
    }
    /// The name of the database, where names may have it.
    fn database(&self) -> Option<String> {
        None
    }
    /// The view named `name`.
    fn view(&self, _name: &str) -> Option<Arc<ViewDef>> {
        None
    }
    /// The number that clients know the view by.
    fn view_oid(&self, _name: &str) -> Option<u32> {
        None
    }
    /// The type that a column of a system relation has to clients, where it is not that of its
    /// vector.
    fn system_type(&self, _table: &TableDef, _column: usize) -> Option<u32> {
        None
    }
    /// All tables, ordered by name.
    fn tables(&self) -> Vec<Arc<TableDef>>;
    /// The relation `name` of a system schema.
    fn system_table(&self, _schema: &str, _name: &str) -> Option<Arc<TableDef>> {
        None
    }
    /// When the statement began, in microseconds since 1970 (UTC); `None` without a clock.
    fn now_us(&self) -> Option<i64> {
        None
    }
    /// True if a query may read a table by its id, or a view; `within` is the view whose query
    /// names it. Errors: 42501.
    fn check_read(
        &self,
        _name: &str,
        _table: Option<TableId>,
        _within: Option<&str>,
    ) -> SqlResult<()> {
        Ok(())
    }
    /// The numbers of an identity column or a `serial`.
    fn numbers_of(&self, table: &TableDef, ordinal: usize) -> Option<NextNumber> {
        let sequence = table.constraints.identity_of(ordinal)?.sequence.clone();
        let (name, ty) = (table.sequence_name(ordinal), table.schema.columns[ordinal].ty);
        Some(Box::new(move || sequence.next(&name, ty)))
    }
    /// The function `name` of the session or the catalog.
    fn system_function(&self, _name: &str) -> Option<function::SystemFunction> {
        None
    }
}
