//! Three-valued logic on vectors of truths.

use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};

/// Rows that are true, and rows that are false; all others are null.
struct Known {
    yes: BooleanBuffer,
    no: BooleanBuffer,
}

fn known(truths: &BooleanArray) -> Known {
    match truths.nulls() {
        None => Known { yes: truths.values().clone(), no: !truths.values() },
        Some(nulls) => {
            let valid = nulls.inner();
            Known { yes: truths.values() & valid, no: &!truths.values() & valid }
        }
    }
}

fn truths(Known { yes, no }: Known) -> BooleanArray {
    let valid = &yes | &no;
    let nulls = NullBuffer::new(valid);
    BooleanArray::new(yes, Some(nulls).filter(|nulls| nulls.null_count() > 0))
}

pub(crate) fn and(left: &BooleanArray, right: &BooleanArray) -> BooleanArray {
    if left.nulls().is_none() && right.nulls().is_none() {
        return BooleanArray::new(left.values() & right.values(), None);
    }
    let (l, r) = (known(left), known(right));
    truths(Known { yes: &l.yes & &r.yes, no: &l.no | &r.no })
}

pub(crate) fn or(left: &BooleanArray, right: &BooleanArray) -> BooleanArray {
    if left.nulls().is_none() && right.nulls().is_none() {
        return BooleanArray::new(left.values() | right.values(), None);
    }
    let (l, r) = (known(left), known(right));
    truths(Known { yes: &l.yes | &r.yes, no: &l.no & &r.no })
}

pub(crate) fn not(value: &BooleanArray) -> BooleanArray {
    BooleanArray::new(!value.values(), value.nulls().cloned())
}

/// Whether each row is null.
pub(crate) fn is_null(nulls: Option<&NullBuffer>, rows: usize) -> BooleanArray {
    let values = match nulls {
        Some(nulls) => !nulls.inner(),
        None => BooleanBuffer::new_unset(rows),
    };
    BooleanArray::new(values, None)
}

/// Rows in which the truth is known and true.
pub(crate) fn is_true(value: &BooleanArray) -> BooleanBuffer {
    match value.nulls() {
        Some(nulls) => value.values() & nulls.inner(),
        None => value.values().clone(),
    }
}
