//! Names that the catalog does not know.

use types::{SqlError, SqlState};

use crate::catalog::Catalog;

const BEFORE: &str = "relation \"";
const BEHIND: &str = "\" does not exist";

/// 42P01 without a hint: who says it may learn yet that the name is a query's of a `WITH`.
pub(crate) fn unknown_table(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_TABLE, format!("{BEFORE}{name}{BEHIND}"))
}

/// 0A000 for a name with another database.
pub fn other_database(name: &str) -> SqlError {
    SqlError::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!("cross-database references are not implemented: \"{name}\""),
    )
}

/// 42P01, with the nearest name as a hint.
pub(crate) fn table_not_found(catalog: &dyn Catalog, name: &str) -> SqlError {
    with_nearest(catalog, unknown_table(name))
}

/// The error with the nearest name as a hint, if it is about a table that is unknown.
pub(crate) fn with_nearest(catalog: &dyn Catalog, error: SqlError) -> SqlError {
    if error.state != SqlState::UNDEFINED_TABLE || error.hint.is_some() {
        return error;
    }
    let behind = error.message.strip_prefix(BEFORE);
    let Some(name) = behind.and_then(|text| text.strip_suffix(BEHIND)) else { return error };
    let tables = catalog.tables();
    let names: Vec<&str> = tables.iter().map(|t| t.name.as_str()).collect();
    let nearest = stdx::nearest(name, names);
    match nearest.map(|near| format!("perhaps you meant the table \"{near}\"")) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
