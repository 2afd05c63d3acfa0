//! The order of values of one type, by which all that compares them goes.

use arrow_array::ArrayRef;
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::SortOptions;
use types::SqlResult;
use types::equality::canonical;

use crate::error::from_arrow;

/// Compares values of one array with those of another, both of one type: PostgreSQL's order. Nulls,
/// which may be elements of arrays, are equal to each other and greater than all else.
pub(crate) fn comparator(left: &ArrayRef, right: &ArrayRef) -> SqlResult<DynComparator> {
    let nulls_last = SortOptions { descending: false, nulls_first: false };
    make_comparator(&canonical(left), &canonical(right), nulls_last).map_err(from_arrow)
}
