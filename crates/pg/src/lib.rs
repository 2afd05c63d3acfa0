//! The system catalogs of PostgreSQL: the relations of `pg_catalog` and `information_schema`, and the
//! functions that ask about the session, the catalog and what runs. Read only; rows are made up when a query
//! asks for them.
//!
//! Names, columns, types and oids of relations are PostgreSQL 15's (`data/relations.txt`), and so are
//! the rows about what is built in. What the engine does not have is a relation without rows.
//!
//! ```no_run
//! use engine::Database;
//! let db = Database::open("shop.dovetail".as_ref(), pg::options())?;
//! # Ok::<(), engine::SqlError>(())
//! ```

mod builtin;
mod constraints;
mod functions;
mod information_schema;
mod objects;
mod owners;
mod pg_catalog;
mod relation;
mod rows;
mod schemas;
mod sequences;
#[cfg(test)]
mod tests;
mod type_names;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::Options;
use engine::system::SystemSchemas;

/// The default options for a database with these relations and functions.
pub fn options() -> Options {
    Options::new(schemas())
}

/// The relations and functions, for [`Options::new`].
pub fn schemas() -> Arc<dyn SystemSchemas> {
    Arc::new(schemas::Schemas)
}

/// The names of all functions, aggregates and window functions that statements may call, the engine's own
/// among them.
pub fn function_names() -> BTreeSet<String> {
    let mut names = sql::function_names();
    names.extend(functions::names().map(str::to_owned));
    names
}
