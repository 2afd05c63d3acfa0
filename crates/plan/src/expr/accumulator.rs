//! The running state of one aggregate for many groups.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use ir::Words;
use types::{SqlError, SqlResult};

use super::aggregate::AggregateKind;
use super::average;
use super::function::Groups;
use rows::{Kept, count_rows};
use totals::Totals;

pub use rows::GroupRows;
pub use totals::Total;

mod rows;
mod totals;

/// The state of one aggregate for groups `0..group_count`.
pub struct Accumulator {
    state: State,
}

enum State {
    Rows(Vec<i64>),
    /// Ours, over words and decimals.
    Totals(Totals),
    Foreign(Box<dyn Groups>),
    Average {
        sum: Box<dyn Groups>,
        count: Box<dyn Groups>,
        /// Columns of the state of the sum.
        sum_columns: usize,
    },
}

impl Accumulator {
    /// No groups; by a function of ours where it is one.
    pub(super) fn new(kind: &AggregateKind) -> SqlResult<Accumulator> {
        let state = match kind {
            AggregateKind::Rows => State::Rows(Vec::new()),
            AggregateKind::Foreign { total: Some(total), .. }
            | AggregateKind::Average { total: Some(total), .. } => {
                State::Totals(Totals::new(total.clone()))
            }
            AggregateKind::Foreign { function, .. } => State::Foreign(function.groups()?),
            AggregateKind::Average { sum, count, .. } => State::Average {
                sum_columns: sum.state_types()?.len(),
                sum: sum.groups()?,
                count: count.groups()?,
            },
        };
        Ok(Accumulator { state })
    }

    /// True if the state is one of ours, and not of a function of the front end.
    pub fn is_ours(&self) -> bool {
        matches!(self.state, State::Totals(_) | State::Rows(_))
    }

    /// True if the argument is best given by [`Accumulator::update_words`].
    pub fn takes_words(&self) -> bool {
        matches!(&self.state, State::Totals(totals) if totals.takes_words())
    }

    /// True if its results are the sums that the averages of the other are made of, when both are
    /// given the same values.
    pub fn is_sum_of(&self, average: &Accumulator) -> bool {
        match (&self.state, &average.state) {
            (State::Totals(sum), State::Totals(average)) => sum.is_sum_of(average),
            _ => false,
        }
    }

    /// As [`Accumulator::update`], of one that takes words.
    pub fn update_words(
        &mut self,
        words: &Words,
        rows: &GroupRows<'_>,
        filter: Option<&BooleanArray>,
    ) {
        if let State::Totals(totals) = &mut self.state {
            totals.add_words(words, rows, filter);
        }
    }

    /// Adds rows: `args` are the values of `AggregateExpr::args`, `filter` the value of
    /// `AggregateExpr::filter`.
    pub fn update(
        &mut self,
        args: &[ArrayRef],
        rows: &GroupRows<'_>,
        filter: Option<&BooleanArray>,
    ) -> SqlResult<()> {
        let (group_indices, total_groups) = (rows.groups(), rows.total());
        match &mut self.state {
            State::Rows(counts) => {
                count_rows(counts, rows, &Kept::of(None, filter));
                Ok(())
            }
            State::Totals(totals) => {
                let [arg] = args else {
                    return Err(SqlError::internal("an aggregate of one argument has others"));
                };
                totals.add(arg, rows, filter)
            }
            State::Foreign(groups) => groups.update(args, group_indices, filter, total_groups),
            State::Average { sum, count, .. } => {
                sum.update(args, group_indices, filter, total_groups)?;
                count.update(args, group_indices, filter, total_groups)
            }
        }
    }

    /// Adds the `state` of another accumulator of the same aggregate; `group_indices` says which
    /// group of this one each of its groups is.
    pub fn merge(
        &mut self,
        state: &[ArrayRef],
        group_indices: &[usize],
        total_groups: usize,
    ) -> SqlResult<()> {
        match &mut self.state {
            State::Rows(counts) => {
                counts.resize(total_groups, 0);
                let [partial] = state else {
                    return Err(SqlError::internal("a row count has one state column"));
                };
                for (&group, &n) in
                    group_indices.iter().zip(partial.as_primitive::<Int64Type>().values())
                {
                    counts[group] += n;
                }
                Ok(())
            }
            State::Totals(totals) => totals.merge(state, group_indices, total_groups),
            State::Foreign(groups) => groups.merge(state, group_indices, total_groups),
            State::Average { sum, count, sum_columns } => {
                let (sums, counts) = state.split_at(*sum_columns);
                sum.merge(sums, group_indices, total_groups)?;
                count.merge(counts, group_indices, total_groups)
            }
        }
    }

    /// Takes the partial state of all groups, to be merged into another accumulator.
    pub fn state(&mut self) -> SqlResult<Vec<ArrayRef>> {
        match &mut self.state {
            State::Rows(counts) => Ok(vec![Arc::new(Int64Array::from(std::mem::take(counts)))]),
            State::Totals(totals) => totals.state(),
            State::Foreign(groups) => groups.state(),
            State::Average { sum, count, .. } => {
                let mut columns = sum.state()?;
                columns.extend(count.state()?);
                Ok(columns)
            }
        }
    }

    /// Takes the result for each group, in the order of groups.
    pub fn evaluate(&mut self) -> SqlResult<ArrayRef> {
        match &mut self.state {
            State::Rows(counts) => Ok(Arc::new(Int64Array::from(std::mem::take(counts)))),
            State::Totals(totals) => totals.evaluate(),
            State::Foreign(groups) => groups.evaluate(),
            State::Average { sum, count, .. } => {
                let sums = sum.evaluate()?;
                average::divide(&sums, &count.evaluate()?)
            }
        }
    }

    /// As [`Accumulator::evaluate`], of an average that another one [is the sum
    /// of](Self::is_sum_of): its results and those of the other.
    pub fn averages_and_sums(&mut self) -> SqlResult<(ArrayRef, ArrayRef)> {
        match &mut self.state {
            State::Totals(totals) => totals.averages_and_sums(),
            _ => Err(SqlError::internal("the sums of an aggregate that is no average")),
        }
    }

    /// Memory held by the state, in bytes.
    pub fn size(&self) -> usize {
        match &self.state {
            State::Rows(counts) => counts.capacity() * size_of::<i64>(),
            State::Totals(totals) => totals.size(),
            State::Foreign(groups) => groups.size(),
            State::Average { sum, count, .. } => sum.size() + count.size(),
        }
    }
}
