//! `lag` and `lead` over rows that come in pieces: the distance is the same for all rows.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_select::concat::concat;
use types::{SqlError, SqlResult};

use super::{Piece, WindowExpr, cut};
use crate::error::from_arrow;

/// `lag` (of sign -1) or `lead` in the middle of a partition.
pub(super) struct Shift {
    sign: i64,
    /// Rows from a row to the one that has its value; `None` before the first row.
    distance: Option<Distance>,
    /// Of `lag` the last values, of `lead` the last defaults: as many as the distance.
    last: Option<ArrayRef>,
    /// Rows so far.
    seen: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Distance {
    /// To a row before.
    Back(usize),
    /// To a row behind.
    Ahead(usize),
    /// Unknown: the value is null, and so is the default.
    Null,
}

impl Shift {
    pub(super) fn new(sign: i64) -> Shift {
        Shift { sign, distance: None, last: None, seen: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.last.as_ref().map_or(0, |values| values.get_array_memory_size())
    }

    pub(super) fn push(
        &mut self,
        function: &WindowExpr,
        rows: &RecordBatch,
    ) -> SqlResult<Vec<Piece>> {
        let distance = self.distance(function, rows)?;
        let values = function.args()[0].evaluate(rows)?;
        let defaults = match function.args().get(2) {
            Some(default) => default.evaluate(rows)?,
            None => new_null_array(values.data_type(), values.len()),
        };
        let before = self.seen;
        self.seen += values.len();
        match distance {
            Distance::Null => {
                Ok(vec![Piece::Same(new_null_array(values.data_type(), 1), values.len())])
            }
            Distance::Back(distance) => self.back(distance, before, &values, &defaults),
            Distance::Ahead(distance) => {
                // The first values belong to no row.
                let skipped = distance.saturating_sub(before).min(values.len());
                let given = cut(&values, skipped..values.len())?;
                self.keep(distance, &defaults)?;
                Ok(vec![Piece::Each(given)])
            }
        }
    }

    fn back(
        &mut self,
        distance: usize,
        before: usize,
        values: &ArrayRef,
        defaults: &ArrayRef,
    ) -> SqlResult<Vec<Piece>> {
        let row_count = values.len();
        // The first rows of the partition have nothing before them.
        let without = distance.saturating_sub(before).min(row_count);
        let earlier = match &self.last {
            Some(last) => concat(&[last.as_ref(), values.as_ref()]).map_err(from_arrow)?,
            None => values.clone(),
        };
        let shifted = cut(&earlier, 0..row_count - without)?;
        self.keep(distance, values)?;
        Ok(vec![Piece::Each(cut(defaults, 0..without)?), Piece::Each(shifted)])
    }

    /// Adds to what is kept; the last `count` stay.
    fn keep(&mut self, count: usize, new: &ArrayRef) -> SqlResult<()> {
        let all = match &self.last {
            Some(last) => concat(&[last.as_ref(), new.as_ref()]).map_err(from_arrow)?,
            None => new.clone(),
        };
        self.last = Some(cut(&all, all.len().saturating_sub(count)..all.len())?);
        Ok(())
    }

    pub(super) fn end(&mut self) -> Vec<Piece> {
        match (self.distance, self.last.take()) {
            (Some(Distance::Ahead(_)), Some(defaults)) => vec![Piece::Each(defaults)],
            _ => vec![],
        }
    }

    fn distance(&mut self, function: &WindowExpr, rows: &RecordBatch) -> SqlResult<Distance> {
        let sign = self.sign;
        let of = |n: Option<i64>| match n.map(|n| n.saturating_mul(sign)) {
            None => Distance::Null,
            Some(n) if n < 0 => Distance::Back(n.unsigned_abs() as usize),
            Some(n) => Distance::Ahead(n as usize),
        };
        let Some(arg) = function.args().get(1) else {
            let distance = of(Some(1));
            self.distance = Some(distance);
            return Ok(distance);
        };
        let given = arg.evaluate(rows)?;
        let given = given.as_primitive::<Int64Type>();
        let first = *self.distance.get_or_insert(of(given.is_valid(0).then(|| given.value(0))));
        match given.iter().all(|n| of(n) == first) {
            true => Ok(first),
            false => Err(SqlError::unsupported(
                "lag and lead with a distance that changes within a partition beyond work_mem",
            )
            .with_hint("Raise work_mem.")),
        }
    }
}
