//! Restrictions of a plan in the words of the block format.

use std::ops::Bound;

use arrow_array::Array;
use columnar::{ColumnHeader, Comparison, Mask, Restriction, Vector, VectorHeader, Verdict};
use plan::{self, RestrictionTest, ScalarValue};
use types::{LogicalType, SqlError, SqlResult};

use crate::fault::block as block_error;

/// What a scan demands of one column.
pub(crate) struct Restricted {
    /// Its ordinal.
    pub(crate) column: usize,
    tests: Vec<Restriction>,
    /// One of the tests has to hold; otherwise all.
    is_any: bool,
}

impl Restricted {
    /// A restriction on a column of this type.
    ///
    /// # Errors
    /// XX000 for one that the planner should not have made.
    pub(crate) fn new(ty: LogicalType, restriction: &plan::Restriction) -> SqlResult<Restricted> {
        let compared = |comparison: Comparison, value: &ScalarValue| {
            let constant = value.to_array().map_err(|e| SqlError::internal(e.to_string()))?;
            Restriction::new(ty, comparison, &*constant).map_err(block_error)
        };
        let bound = |bound: &Bound<ScalarValue>, including, excluding| match bound {
            Bound::Unbounded => None,
            Bound::Included(value) => Some(compared(including, value)),
            Bound::Excluded(value) => Some(compared(excluding, value)),
        };
        let tests: SqlResult<Vec<Restriction>> = match &restriction.test {
            RestrictionTest::OneOf(values) => {
                values.iter().map(|value| compared(Comparison::Equal, value)).collect()
            }
            RestrictionTest::Between(lower, upper) => {
                let lower = bound(lower, Comparison::GreaterOrEqual, Comparison::Greater);
                let upper = bound(upper, Comparison::LessOrEqual, Comparison::Less);
                lower.into_iter().chain(upper).collect()
            }
            RestrictionTest::NotEqual(value) => {
                compared(Comparison::NotEqual, value).map(|test| vec![test])
            }
            RestrictionTest::IsNull => {
                Restriction::is_null(ty).map(|test| vec![test]).map_err(block_error)
            }
            RestrictionTest::IsNotNull => {
                Restriction::is_not_null(ty).map(|test| vec![test]).map_err(block_error)
            }
        };
        let is_any = matches!(restriction.test, RestrictionTest::OneOf(_));
        Ok(Restricted { column: restriction.column, tests: tests?, is_any })
    }

    /// That a column of this type lies between two values, arrays of one row.
    ///
    /// # Errors
    /// XX000 for values of another type.
    pub(crate) fn between(
        (column, ty): (usize, LogicalType),
        (least, greatest): (&dyn Array, &dyn Array),
    ) -> SqlResult<Restricted> {
        let compared = |comparison, value| Restriction::new(ty, comparison, value);
        let lower = compared(Comparison::GreaterOrEqual, least).map_err(block_error)?;
        let upper = compared(Comparison::LessOrEqual, greatest).map_err(block_error)?;
        Ok(Restricted { column, tests: vec![lower, upper], is_any: false })
    }

    /// That nothing qualifies: a column of this type is compared with null.
    ///
    /// # Errors
    /// XX000 for a type without an order.
    pub(crate) fn never(column: usize, ty: LogicalType) -> SqlResult<Restricted> {
        let null = arrow_array::new_null_array(&ty.arrow(), 1);
        let test = Restriction::new(ty, Comparison::Equal, &*null).map_err(block_error)?;
        Ok(Restricted { column, tests: vec![test], is_any: false })
    }

    /// What the bounds of a whole chunk say.
    pub(crate) fn of_chunk(&self, rows: usize, column: &ColumnHeader) -> Verdict {
        self.verdict(|test| test.verdict(rows, column.null_count(), column.zone()))
    }

    /// What the bounds of a vector say.
    pub(crate) fn of_vector(&self, rows: usize, vector: &VectorHeader) -> Verdict {
        self.verdict(|test| test.verdict(rows, vector.null_count, vector.zone))
    }

    fn verdict(&self, ask: impl Fn(&Restriction) -> Verdict) -> Verdict {
        let (strongest, weakest) = match self.is_any {
            true => (Verdict::All, Verdict::None),
            false => (Verdict::None, Verdict::All),
        };
        let mut verdict = weakest;
        for test in &self.tests {
            let one = ask(test);
            if one == strongest {
                return strongest;
            }
            if one == Verdict::Some {
                verdict = Verdict::Some;
            }
        }
        verdict
    }

    /// The rows of `among` that qualify.
    ///
    /// # Errors
    /// XX001 for damage.
    pub(crate) fn select(&self, vector: &Vector<'_>, among: &Mask) -> SqlResult<Mask> {
        let mut selected = if self.is_any { Mask::NONE } else { *among };
        for test in &self.tests {
            selected = match self.is_any {
                true => selected.or(&vector.select(test, among).map_err(block_error)?),
                false => vector.select(test, &selected).map_err(block_error)?,
            };
        }
        Ok(selected)
    }
}
