//! An aggregate that all rows of a partition share.

use std::ops::Range;

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow_select::take::take;
use types::SqlResult;

use super::evaluation::STEPS_AT_ONCE;
use super::sorted::Sorted;
use crate::error::from_arrow;
use crate::expr::accumulator::{Accumulator, GroupRows};
use crate::expr::aggregate::AggregateExpr;

/// The aggregates of partitions, the partitions being their groups.
pub(super) struct Whole {
    accumulator: Accumulator,
    /// Arguments; behind them stands the filter, if there is one.
    arg_count: usize,
    has_filter: bool,
    /// Rows that the aggregates have seen.
    seen: usize,
    /// One for each partition, once all rows were seen.
    values: Option<ArrayRef>,
}

impl Whole {
    pub(super) fn new(call: &AggregateExpr) -> SqlResult<Whole> {
        Ok(Whole {
            accumulator: call.accumulator()?,
            arg_count: call.args.len(),
            has_filter: call.filter.is_some(),
            seen: 0,
            values: None,
        })
    }

    pub(super) fn values(
        &mut self,
        sorted: &Sorted,
        inputs: &[ArrayRef],
        rows: Range<usize>,
    ) -> SqlResult<Option<ArrayRef>> {
        if self.values.is_none() {
            self.see(sorted, inputs)?;
        }
        let Some(values) = &self.values else { return Ok(None) };
        let numbers = numbers(sorted, rows).map(|number| number as u32);
        take(values, &UInt32Array::from_iter_values(numbers), None).map(Some).map_err(from_arrow)
    }

    /// Adds the next rows.
    fn see(&mut self, sorted: &Sorted, inputs: &[ArrayRef]) -> SqlResult<()> {
        let all = sorted.row_count();
        let next = self.seen..all.min(self.seen + STEPS_AT_ONCE);
        let parts: Vec<ArrayRef> =
            inputs.iter().map(|input| input.slice(next.start, next.len())).collect();
        let filter: Option<&BooleanArray> = match self.has_filter {
            true => parts[self.arg_count].as_any().downcast_ref(),
            false => None,
        };
        let groups: Vec<usize> = numbers(sorted, next.clone()).collect();
        let args = &parts[..self.arg_count];
        let rows = GroupRows::new(&groups, sorted.partition_count());
        self.accumulator.update(args, &rows, filter)?;
        self.seen = next.end;
        if self.seen == all {
            self.values = Some(self.accumulator.evaluate()?);
        }
        Ok(())
    }
}

/// The number of each row's partition.
fn numbers(sorted: &Sorted, rows: Range<usize>) -> impl Iterator<Item = usize> {
    let first = sorted.partition_number(rows.start);
    sorted
        .parts(rows)
        .zip(first..)
        .flat_map(|((_, part), number)| std::iter::repeat_n(number, part.len()))
}
