//! Names that the catalog does not know.

use types::{SqlError, SqlState};

use crate::catalog::Catalog;

/// 42P01, with the nearest name as a hint.
pub(crate) fn table_not_found(catalog: &dyn Catalog, name: &str) -> SqlError {
    let error =
        SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"));
    let tables = catalog.tables();
    let names: Vec<&str> = tables.iter().map(|t| t.name.as_str()).collect();
    match stdx::nearest(name, names) {
        Some(near) => error.with_hint(format!("perhaps you meant the table \"{near}\"")),
        None => error,
    }
}
