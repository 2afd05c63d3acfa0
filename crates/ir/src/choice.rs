//! The choice of one of two words in each row.

use arrow_buffer::{BooleanBuffer, NullBuffer};

use crate::words::{Side, Words};

/// One of the two: its words and which of them are null; `None` is null in each row.
pub(crate) type Branch<'a> = Option<(Side<'a>, Option<&'a NullBuffer>)>;

/// Where `condition` the first, otherwise the second.
pub(crate) fn choose(condition: &BooleanBuffer, then: Branch<'_>, otherwise: Branch<'_>) -> Words {
    let word = |branch: Branch<'_>, row: usize| match branch {
        Some((Side::Vector(words), _)) => words[row],
        Some((Side::Constant(word), _)) => word,
        None => 0,
    };
    let pick = |(row, first): (usize, bool)| word(if first { then } else { otherwise }, row);
    let values: Vec<i64> = condition.iter().enumerate().map(pick).collect();
    let valid = &(condition & &validity(then, condition.len()))
        | &(&!condition & &validity(otherwise, condition.len()));
    let nulls = NullBuffer::new(valid);
    Words { values: values.into(), nulls: Some(nulls).filter(|nulls| nulls.null_count() > 0) }
}

fn validity(branch: Branch<'_>, rows: usize) -> BooleanBuffer {
    match branch {
        None => BooleanBuffer::new_unset(rows),
        Some((_, None)) => BooleanBuffer::new_set(rows),
        Some((_, Some(nulls))) => nulls.inner().clone(),
    }
}
