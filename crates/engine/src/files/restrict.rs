//! Conditions of a scan on single columns: what bounds say of them.

use std::cmp::Ordering;
use std::ops::Bound;

use plan::{Restriction, RestrictionTest, ScalarValue};

/// What is known of the values of a column in some rows.
pub(super) struct Bounds {
    /// No value is smaller.
    pub(super) min: Option<ScalarValue>,
    /// No value is larger.
    pub(super) max: Option<ScalarValue>,
    pub(super) null_count: Option<u64>,
    pub(super) row_count: u64,
}

impl Bounds {
    fn is_below(&self, value: &ScalarValue, or_equal: bool) -> bool {
        let order = self.max.as_ref().and_then(|max| max.partial_cmp(value));
        order == Some(Ordering::Less) || or_equal && order == Some(Ordering::Equal)
    }

    fn is_above(&self, value: &ScalarValue, or_equal: bool) -> bool {
        let order = self.min.as_ref().and_then(|min| min.partial_cmp(value));
        order == Some(Ordering::Greater) || or_equal && order == Some(Ordering::Equal)
    }
}

/// Whether no row with such values fulfils the test.
pub(super) fn excludes(test: &RestrictionTest, bounds: &Bounds) -> bool {
    let has_nulls_only = bounds.null_count.is_some_and(|nulls| nulls >= bounds.row_count);
    match test {
        RestrictionTest::IsNull => bounds.null_count == Some(0),
        _ if has_nulls_only => true,
        RestrictionTest::IsNotNull | RestrictionTest::NotEqual(_) => false,
        RestrictionTest::OneOf(values) => values
            .iter()
            .all(|value| bounds.is_below(value, false) || bounds.is_above(value, false)),
        RestrictionTest::Between(lower, upper) => {
            let below = match lower {
                Bound::Unbounded => false,
                Bound::Included(value) => bounds.is_below(value, false),
                Bound::Excluded(value) => bounds.is_below(value, true),
            };
            let above = match upper {
                Bound::Unbounded => false,
                Bound::Included(value) => bounds.is_above(value, false),
                Bound::Excluded(value) => bounds.is_above(value, true),
            };
            below || above
        }
    }
}

/// A condition, and where its column stands among those that are read.
pub(crate) struct Test {
    pub(crate) place: usize,
    pub(crate) restriction: Restriction,
}
