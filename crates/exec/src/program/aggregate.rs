//! Aggregates of all rows of a program.

use arrow_array::{BooleanArray, new_null_array};
use plan::Code;
use plan::expr::{Accumulator, AggregateExpr, GroupRows};
use types::SqlResult;
use types::cells::{Cells, value_of};

use super::{Run, Stopped};
use crate::batch::mask;

impl Run<'_> {
    /// The one row of aggregates over all rows. The values that these are of stand in the code one
    /// after the other, the filter of each behind its arguments.
    pub(super) fn aggregated(
        &self,
        rows: &Cells,
        aggregates: &[AggregateExpr],
        code: &Code,
    ) -> Result<Cells, Stopped> {
        let values = self.computed(&code.exprs, rows)?;
        let groups = vec![0; rows.len()];
        let rows = GroupRows::new(&groups, 1);
        let (mut result, mut at) = (Cells::new(aggregates.len()), 0);
        for aggregate in aggregates {
            let args = aggregate.args.iter().chain(&aggregate.filter);
            let args = args.enumerate().map(|(n, arg)| values.vector(at + n, arg.data_type()));
            let mut args = args.collect::<SqlResult<Vec<_>>>()?;
            at += args.len();
            let filter = if aggregate.filter.is_some() { args.pop() } else { None };
            let filter = filter.as_ref().map(mask).transpose()?;
            let mut accumulator = aggregate.accumulator()?;
            match groups.is_empty() {
                true => add_dropped_row(aggregate, &mut accumulator)?,
                false => accumulator.update(&args, &rows, filter)?,
            }
            result.push(value_of(accumulator.evaluate()?.as_ref(), 0)?);
        }
        result.end_row();
        Ok(result)
    }
}

/// Makes the group of no rows known by a row that a filter drops: otherwise it would be one whose
/// values have all been seen.
fn add_dropped_row(aggregate: &AggregateExpr, accumulator: &mut Accumulator) -> SqlResult<()> {
    let args = aggregate.args.iter().map(|arg| new_null_array(arg.data_type(), 1));
    let dropped = BooleanArray::from(vec![false]);
    accumulator.update(&args.collect::<Vec<_>>(), &GroupRows::new(&[0], 1), Some(&dropped))
}
