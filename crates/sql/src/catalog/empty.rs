//! A catalog without tables.

use std::sync::Arc;

use plan::catalog::TableDef;

use crate::catalog::Catalog;

/// A catalog without tables.
pub(crate) struct NoTables;

impl Catalog for NoTables {
    fn table(&self, _name: &str) -> Option<Arc<TableDef>> {
        None
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        Vec::new()
    }
}
