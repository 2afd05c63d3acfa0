//! The order of the rows of a program.

use std::cmp::Ordering;

use plan::Code;
use plan::expr::{Computed, RowExpr, SortKey};
use types::cells::{Cells, Value};

use super::{Run, Stopped};

impl Run<'_> {
    /// The rows in the order of these keys. Those of one range of an index mostly are.
    pub(super) fn sorted(
        &self,
        rows: Cells,
        keys: &[SortKey],
        code: &Code,
    ) -> Result<Cells, Stopped> {
        let is_column = |key: &Computed| matches!(key.row, Some(RowExpr::Column(_)));
        // A key that is computed may be an error, also of the one row.
        if rows.len() < 2 && code.exprs.iter().all(is_column) {
            return Ok(rows);
        }
        let values = self.computed(&code.exprs, &rows)?;
        let order = |one: u32, other: u32| compared(&values, keys, one as usize, other as usize);
        let count = rows.len() as u32;
        if (1..count).all(|at| order(at - 1, at).is_le()) {
            return Ok(rows);
        }
        let mut places: Vec<u32> = (0..count).collect();
        places.sort_by(|one, other| order(*one, *other));
        Ok(rows.take(&places))
    }
}

fn compared(values: &Cells, keys: &[SortKey], one: usize, other: usize) -> Ordering {
    let of_key = |(at, key): (usize, &SortKey)| {
        of_values(values.value(one, at), values.value(other, at), key)
    };
    keys.iter().enumerate().map(of_key).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn of_values(one: Value<'_>, other: Value<'_>, key: &SortKey) -> Ordering {
    let order = match (one, other) {
        (Value::Word(one), Value::Word(other)) => one.cmp(&other),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (one, other) => {
            let nulls_last = one.is_null().cmp(&other.is_null());
            return if key.nulls_first { nulls_last.reverse() } else { nulls_last };
        }
    };
    if key.descending { order.reverse() } else { order }
}
