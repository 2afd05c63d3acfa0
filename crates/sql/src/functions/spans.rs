//! Sums of intervals: exact, or 22008.

use arrow_array::cast::AsArray;
use arrow_array::types::{IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::Accumulator;
use types::{SqlError, SqlState};

/// The sum of one group or of a frame that moves.
#[derive(Debug, Default)]
pub(super) struct SpanSum {
    months: i64,
    days: i64,
    nanoseconds: i128,
    count: u64,
}

impl SpanSum {
    fn add(&mut self, values: &ArrayRef, sign: i64) {
        for span in values.as_primitive::<IntervalMonthDayNanoType>().iter().flatten() {
            self.months += sign * i64::from(span.months);
            self.days += sign * i64::from(span.days);
            self.nanoseconds += i128::from(sign) * i128::from(span.nanoseconds);
        }
    }

    fn value(&self) -> Option<IntervalMonthDayNano> {
        let (months, days) = (self.months.try_into().ok()?, self.days.try_into().ok()?);
        Some(IntervalMonthDayNano::new(months, days, self.nanoseconds.try_into().ok()?))
    }
}

impl Accumulator for SpanSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], 1);
        self.count += (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], -1);
        self.count -= (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.value() {
            _ if self.count == 0 => Ok(ScalarValue::IntervalMonthDayNano(None)),
            Some(sum) => Ok(ScalarValue::IntervalMonthDayNano(Some(sum))),
            None => {
                let error = SqlError::new(SqlState("22008"), "interval out of range");
                Err(DataFusionError::External(Box::new(error)))
            }
        }
    }

    fn size(&self) -> usize {
        size_of::<SpanSum>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
