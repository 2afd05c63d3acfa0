//! The running state of one aggregate for many groups.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, new_empty_array};
use arrow_schema::DataType;
use datafusion_expr::{EmitTo, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::GroupsAccumulatorAdapter;
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use ir::Words;
use types::{SqlError, SqlResult};

use super::average;
use crate::error::from_library;
use crate::expr::aggregate::kind::Kind;
use crate::expr::footprint::value_bytes;
use rows::{Kept, count_rows};
use totals::Totals;

pub use rows::GroupRows;

mod rows;
#[cfg(test)]
mod tests;
mod totals;

/// The state of one aggregate for groups `0..group_count`.
pub struct Accumulator {
    state: State,
}

enum State {
    Rows(Vec<i64>),
    /// Ours, over words and decimals.
    Totals(Totals),
    Library {
        inner: Box<dyn GroupsAccumulator>,
        /// Type of the result: some of the library's cannot make an empty one.
        ty: DataType,
        state_types: Vec<DataType>,
        total_groups: usize,
        /// Bytes of the texts that the state keeps, where the library does not count them.
        kept: Option<usize>,
    },
    Average {
        sum: Box<dyn GroupsAccumulator>,
        count: Box<dyn GroupsAccumulator>,
        sum_columns: usize,
    },
}

impl Accumulator {
    /// The state for arguments of these types: of ours where we have one.
    pub(super) fn new(kind: &Kind, args: &[DataType]) -> SqlResult<Accumulator> {
        let totals = match (kind, args) {
            (Kind::Library(function), [arg]) => Totals::of(function, arg),
            (Kind::Average { sum, .. }, [arg]) => Totals::average_of(sum, arg),
            _ => None,
        };
        match totals {
            Some(totals) => Ok(Accumulator { state: State::Totals(totals) }),
            None => Accumulator::of_library(kind),
        }
    }

    /// The state as the library has it.
    fn of_library(kind: &Kind) -> SqlResult<Accumulator> {
        let state = match kind {
            Kind::Rows => State::Rows(Vec::new()),
            Kind::Library(function) => {
                let fields = function.state_fields().map_err(from_library)?;
                State::Library {
                    inner: groups(function)?,
                    ty: function.field().data_type().clone(),
                    state_types: fields.iter().map(|f| f.data_type().clone()).collect(),
                    total_groups: 0,
                    kept: (function.fun().name() == "array_agg").then_some(0),
                }
            }
            Kind::Average { sum, count } => State::Average {
                sum: groups(sum)?,
                count: groups(count)?,
                sum_columns: sum.state_fields().map_err(from_library)?.len(),
            },
        };
        Ok(Accumulator { state })
    }

    /// Whether the argument is best given by [`Accumulator::update_words`].
    pub fn takes_words(&self) -> bool {
        matches!(&self.state, State::Totals(totals) if totals.takes_words())
    }

    /// Whether its results are the sums that the averages of the other are made of, when both are given
    /// the same values.
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
            State::Library { inner, total_groups: known, kept, .. } => {
                *known = total_groups;
                keep(kept, args);
                inner.update_batch(args, group_indices, filter, total_groups).map_err(from_library)
            }
            State::Average { sum, count, .. } => sum
                .update_batch(args, group_indices, filter, total_groups)
                .and_then(|()| count.update_batch(args, group_indices, filter, total_groups))
                .map_err(from_library),
        }
    }

    /// Adds the `state` of another accumulator of the same aggregate; `group_indices` says which group
    /// of this one each of its groups is.
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
            State::Library { inner, total_groups: known, kept, .. } => {
                *known = total_groups;
                keep(kept, state);
                inner.merge_batch(state, group_indices, total_groups).map_err(from_library)
            }
            State::Average { sum, count, sum_columns } => {
                let (sums, counts) = state.split_at(*sum_columns);
                sum.merge_batch(sums, group_indices, total_groups)
                    .and_then(|()| count.merge_batch(counts, group_indices, total_groups))
                    .map_err(from_library)
            }
        }
    }

    /// Takes the partial state of all groups, to be merged into another accumulator.
    pub fn state(&mut self) -> SqlResult<Vec<ArrayRef>> {
        match &mut self.state {
            State::Rows(counts) => Ok(vec![Arc::new(Int64Array::from(std::mem::take(counts)))]),
            State::Totals(totals) => totals.state(),
            State::Library { state_types, total_groups: 0, .. } => {
                Ok(state_types.iter().map(new_empty_array).collect())
            }
            State::Library { inner, .. } => inner.state(EmitTo::All).map_err(from_library),
            State::Average { sum, count, .. } => {
                let mut columns = sum.state(EmitTo::All).map_err(from_library)?;
                columns.extend(count.state(EmitTo::All).map_err(from_library)?);
                Ok(columns)
            }
        }
    }

    /// Takes the result for each group, in the order of groups.
    pub fn evaluate(&mut self) -> SqlResult<ArrayRef> {
        match &mut self.state {
            State::Rows(counts) => Ok(Arc::new(Int64Array::from(std::mem::take(counts)))),
            State::Totals(totals) => totals.evaluate(),
            State::Library { ty, total_groups: 0, .. } => Ok(new_empty_array(ty)),
            State::Library { inner, .. } => inner.evaluate(EmitTo::All).map_err(from_library),
            State::Average { sum, count, .. } => {
                let sums = sum.evaluate(EmitTo::All).map_err(from_library)?;
                let counts = count.evaluate(EmitTo::All).map_err(from_library)?;
                average::divide(&sums, &counts).map_err(from_library)
            }
        }
    }

    /// As [`Accumulator::evaluate`], of an average that another one [is the sum of](Self::is_sum_of): its
    /// results and those of the other.
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
            State::Library { inner, kept, .. } => inner.size() + kept.unwrap_or_default(),
            State::Average { sum, count, .. } => sum.size() + count.size(),
        }
    }
}

/// Counts values that are kept.
fn keep(kept: &mut Option<usize>, values: &[ArrayRef]) {
    if let Some(kept) = kept {
        *kept += values.iter().map(value_bytes).sum::<usize>();
    }
}

/// The library's vectorised accumulator, or one row accumulator per group where it has none.
fn groups(function: &Arc<AggregateFunctionExpr>) -> SqlResult<Box<dyn GroupsAccumulator>> {
    if function.groups_accumulator_supported() {
        return function.create_groups_accumulator().map_err(from_library);
    }
    let function = Arc::clone(function);
    Ok(Box::new(GroupsAccumulatorAdapter::new(move || function.create_accumulator())))
}
