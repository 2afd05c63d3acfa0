//! Groups of the rows of a program, and their aggregates.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray, new_null_array};
use plan::Code;
use plan::expr::{Accumulator, AggregateExpr, Expr, GroupRows};
use types::SqlResult;
use types::cells::{Cells, value_of};

use super::keys::RowKey;
use super::{Run, Stopped};
use crate::batch::mask;

/// Rows by the values that tell their groups apart.
struct Grouped {
    /// The number of each row's group.
    of: Vec<usize>,
    /// The first row of each group.
    firsts: Vec<usize>,
}

impl Run<'_> {
    /// A row for each group, in the order of their first rows: its values, then its aggregates.
    /// Without values there is one group, even of no rows. The code has the values, then those that
    /// each aggregate is of, with its filter behind its arguments.
    pub(super) fn grouped(
        &self,
        rows: &Cells,
        (group_by, aggregates): (&[Expr], &[AggregateExpr]),
        code: &Code,
    ) -> Result<Cells, Stopped> {
        let values = self.computed(&code.exprs, rows)?;
        let keys = group_by.len();
        let groups = Grouped::new(&values, 0..keys);
        let count = if keys == 0 { 1 } else { groups.firsts.len() };
        if count == 0 {
            return Ok(Cells::new(keys + aggregates.len()));
        }
        let rows = GroupRows::new(&groups.of, count);
        let (mut results, mut at) = (vec![], keys);
        for aggregate in aggregates {
            results.push(self.within_limits(|| result(aggregate, &values, at, &rows))?);
            at += aggregate.args.len() + usize::from(aggregate.filter.is_some());
        }
        let mut all = Cells::new(keys + results.len());
        for group in 0..count {
            (0..keys).for_each(|key| all.push(values.value(groups.firsts[group], key)));
            for result in &results {
                all.push(value_of(result.as_ref(), group)?);
            }
            all.end_row();
        }
        Ok(all)
    }
}

impl Grouped {
    fn new(values: &Cells, keys: Range<usize>) -> Grouped {
        let mut grouped = Grouped { of: vec![0; values.len()], firsts: vec![] };
        if keys.is_empty() {
            return grouped;
        }
        let (mut known, mut key) = (HashMap::new(), RowKey::default());
        for row in 0..values.len() {
            key.read(values, row, keys.clone());
            grouped.of[row] = match known.get(key.bytes()) {
                Some(group) => *group,
                None => {
                    let group = grouped.firsts.len();
                    known.insert(key.bytes().to_vec(), group);
                    grouped.firsts.push(row);
                    group
                }
            };
        }
        grouped
    }
}

/// The values of an aggregate for all groups, of the columns from `at` on.
fn result(
    aggregate: &AggregateExpr,
    values: &Cells,
    at: usize,
    rows: &GroupRows<'_>,
) -> SqlResult<ArrayRef> {
    let args = aggregate.args.iter().chain(&aggregate.filter);
    let args = args.enumerate().map(|(n, arg)| values.vector(at + n, arg.data_type()));
    let mut args = args.collect::<SqlResult<Vec<_>>>()?;
    let filter = if aggregate.filter.is_some() { args.pop() } else { None };
    let filter = filter.as_ref().map(mask).transpose()?;
    let mut accumulator = aggregate.accumulator()?;
    match values.is_empty() {
        true => add_dropped_row(aggregate, &mut accumulator)?,
        false => accumulator.update(&args, rows, filter)?,
    }
    accumulator.evaluate()
}

/// Makes the group of no rows known by a row that a filter drops: otherwise it would be one whose
/// values have all been seen.
fn add_dropped_row(aggregate: &AggregateExpr, accumulator: &mut Accumulator) -> SqlResult<()> {
    let args = aggregate.args.iter().map(|arg| new_null_array(arg.data_type(), 1));
    let dropped = BooleanArray::from(vec![false]);
    accumulator.update(&args.collect::<Vec<_>>(), &GroupRows::new(&[0], 1), Some(&dropped))
}
