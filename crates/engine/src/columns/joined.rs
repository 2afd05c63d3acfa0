//! Filters of joins on the columns of a scan: bounds leave out chunks and vectors, and what is left of the
//! keys' column says which rows of the other columns are wanted at all.

use std::sync::Arc;

use columnar::Mask;
use exec::{JoinFilter, ScanFilter};
use plan::Scan;
use types::{Schema, SqlResult};

use super::restricted::Restricted;

/// What a join demands of one column.
pub(crate) struct Joined {
    /// Its ordinal.
    pub(crate) column: usize,
    /// The bounds of the keys; they are for the bounds of chunks and vectors.
    pub(crate) bounds: Restricted,
    pub(crate) filter: Arc<JoinFilter>,
}

impl Joined {
    /// A filter on a column that a scan reads; `None` for one that is no column of the table.
    ///
    /// # Errors
    /// XX000 for keys that are not of the column's type.
    pub(crate) fn new(
        schema: &Schema,
        scan: &Scan,
        ScanFilter { column, filter }: &ScanFilter,
    ) -> SqlResult<Option<Joined>> {
        let column = scan.columns[*column];
        let Some(ty) = schema.columns.get(column).map(|column| column.ty) else { return Ok(None) };
        let bounds = match filter.bounds() {
            Some((least, greatest)) => Restricted::between((column, ty), (&*least, &*greatest))?,
            None => Restricted::never(column, ty)?,
        };
        Ok(Some(Joined { column, bounds, filter: Arc::clone(filter) }))
    }

    /// The rows of `among` that the filter leaves; `values` are the column's for these rows.
    pub(crate) fn select(&self, values: &arrow_array::ArrayRef, among: &Mask) -> Mask {
        among.kept(&self.filter.keep(values))
    }
}
