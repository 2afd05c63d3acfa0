//! Extremes of floats and intervals, with a number for each value by which it has its place.

use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};
use types::equality::interval_length;

use super::Side;

/// A type whose values have places.
pub(super) trait Placed: ArrowPrimitiveType {
    /// The same for equal values, and greater for greater ones.
    fn place(value: Self::Native) -> i128;
}

impl Placed for Float64Type {
    fn place(value: f64) -> i128 {
        let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
        let bits = value.to_bits().cast_signed();
        i128::from(if bits < 0 { bits ^ i64::MAX } else { bits })
    }
}

impl Placed for Float32Type {
    fn place(value: f32) -> i128 {
        Float64Type::place(value.into())
    }
}

impl Placed for IntervalMonthDayNanoType {
    fn place(value: Self::Native) -> i128 {
        interval_length(value)
    }
}

impl Side {
    /// True if the value at one place takes the place of that at the other.
    fn prefers(self, new: i128, old: i128) -> bool {
        match self {
            Side::Least => new <= old,
            Side::Greatest => new >= old,
        }
    }
}

/// The extremes of many groups: the place of each, and the value.
pub(super) struct Many<T: Placed> {
    side: Side,
    best: Vec<Option<(i128, T::Native)>>,
}

impl<T: Placed> Many<T> {
    pub(super) fn new(side: Side) -> Many<T> {
        Many { side, best: vec![] }
    }
}

impl<T: Placed + Debug> GroupsAccumulator for Many<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.best.resize(total, None);
        let values = values[0].as_primitive::<T>();
        let is_kept = |row: usize| filter.is_none_or(|f| f.is_valid(row) && f.value(row));
        for (row, group) in groups.iter().enumerate() {
            if values.is_null(row) || !is_kept(row) {
                continue;
            }
            let value = values.value(row);
            let (place, best) = (T::place(value), &mut self.best[*group]);
            if best.is_none_or(|(old, _)| self.side.prefers(place, old)) {
                *best = Some((place, value));
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.update_batch(values, groups, None, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let best = emit_to.take_needed(&mut self.best);
        let values = best.into_iter().map(|best| best.map(|(_, value)| value));
        Ok(Arc::new(PrimitiveArray::<T>::from_iter(values)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut each = Many::<T>::new(self.side);
        let groups: Vec<usize> = (0..values[0].len()).collect();
        each.update_batch(values, &groups, filter, groups.len())?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<(i128, T::Native)>>()
    }
}

/// The extreme of one group or of a frame that moves.
pub(super) struct One<T: Placed> {
    side: Side,
    /// True if values may be taken out again, in the order in which they came.
    forgets: bool,
    /// The values that are the extreme now or when those before them are gone, each with its
    /// number.
    candidates: VecDeque<(u64, i128, T::Native)>,
    /// How many values have come, and how many have gone.
    come: u64,
    gone: u64,
}

impl<T: Placed> One<T> {
    pub(super) fn new(side: Side, forgets: bool) -> One<T> {
        One { side, forgets, candidates: VecDeque::new(), come: 0, gone: 0 }
    }
}

impl<T: Placed> Debug for One<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} values", self.side, self.come)
    }
}

impl<T: Placed + Debug> Accumulator for One<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let side = self.side;
        for value in values[0].as_primitive::<T>().iter().flatten() {
            let place = T::place(value);
            while self.candidates.back().is_some_and(|(_, old, _)| side.prefers(place, *old)) {
                self.candidates.pop_back();
            }
            if self.forgets || self.candidates.is_empty() {
                self.candidates.push_back((self.come, place, value));
            }
            self.come += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.gone += (values[0].len() - values[0].null_count()) as u64;
        while self.candidates.front().is_some_and(|(number, ..)| *number < self.gone) {
            self.candidates.pop_front();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.forgets
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.candidates.front().map(|(.., value)| *value);
        ScalarValue::try_from_array(&PrimitiveArray::<T>::from_iter([value]), 0)
    }

    fn size(&self) -> usize {
        size_of::<One<T>>() + self.candidates.capacity() * size_of::<(u64, i128, T::Native)>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
