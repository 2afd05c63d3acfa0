//! What column tables cannot be, refused where it is asked for.

use columnar::encode;
use plan::catalog::{TableDef, TableStorage};
use types::{SqlError, SqlResult};

use crate::fault::block as block_error;

/// Refuses definitions that a column table cannot have.
///
/// # Errors
/// 0A000 for tables without columns, and for columns of types that are not stored in blocks.
pub(crate) fn check_definition(def: &TableDef) -> SqlResult<()> {
    if def.storage == TableStorage::Row {
        return Ok(());
    }
    // Rows of chunks are counted by their columns.
    if def.schema.columns.is_empty() {
        let refused = format!("the column table \"{}\" without columns", def.name);
        return Err(SqlError::unsupported(refused)
            .with_hint("Tables that are created WITH (storage = row) need none."));
    }
    let types: Vec<_> = def.schema.columns.iter().map(|column| column.ty).collect();
    let schema = def.schema.arrow();
    let none = schema.fields().iter().map(|f| arrow_array::new_empty_array(f.data_type()));
    encode(&types, &none.collect::<Vec<_>>()).map(drop).map_err(block_error)
}
