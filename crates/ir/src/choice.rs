//! The choice of one of two words in each row.

use arrow_buffer::{BooleanBuffer, NullBuffer};

use crate::side::Side;

/// One of the two: its values and which of them are null; `None` is null in each row.
pub(crate) type Branch<'a, T> = Option<(Side<'a, T>, Option<&'a NullBuffer>)>;

/// Where `condition` the first, otherwise the second: values, and which of them are null.
pub(crate) fn choose<T: Copy + Default>(
    condition: &BooleanBuffer,
    then: Branch<'_, T>,
    otherwise: Branch<'_, T>,
) -> (Vec<T>, Option<NullBuffer>) {
    let value = |branch: Branch<'_, T>, row| match branch {
        Some((side, _)) => side.at(row),
        None => T::default(),
    };
    let pick = |(row, first): (usize, bool)| value(if first { then } else { otherwise }, row);
    let values = condition.iter().enumerate().map(pick).collect();
    let valid = &(condition & &validity(then, condition.len()))
        | &(&!condition & &validity(otherwise, condition.len()));
    let nulls = NullBuffer::new(valid);
    (values, Some(nulls).filter(|nulls| nulls.null_count() > 0))
}

fn validity<T>(branch: Branch<'_, T>, rows: usize) -> BooleanBuffer {
    match branch {
        None => BooleanBuffer::new_unset(rows),
        Some((_, None)) => BooleanBuffer::new_set(rows),
        Some((_, Some(nulls))) => nulls.inner().clone(),
    }
}
