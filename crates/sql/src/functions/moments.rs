//! Sums, averages and variances of floating numbers, by the steps that PostgreSQL takes (`float8_accum`:
//! Youngs and Cramer, 1971), so that the same rows in the same order have the same last digit.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature,
};
use datafusion_functions_aggregate::stddev::{stddev_pop_udaf, stddev_udaf};
use datafusion_functions_aggregate::variance::{var_pop_udaf, var_samp_udaf};
use types::{SqlError, SqlState};

/// What is made of the moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Statistic {
    Sum,
    Average,
    VariancePopulation,
    VarianceSample,
    DeviationPopulation,
    DeviationSample,
}

/// The variances and deviations of the registry.
pub(crate) fn all() -> [AggregateUDF; 4] {
    let variance = |library, statistic| AggregateUDF::from(Variance { library, statistic });
    [
        variance(var_samp_udaf(), Statistic::VarianceSample),
        variance(var_pop_udaf(), Statistic::VariancePopulation),
        variance(stddev_udaf(), Statistic::DeviationSample),
        variance(stddev_pop_udaf(), Statistic::DeviationPopulation),
    ]
}

/// Whether a sum or an average is one of floats, and of all values.
pub(crate) fn is_of_floats(result: &FieldRef, is_distinct: bool) -> bool {
    result.data_type() == &DataType::Float64 && !is_distinct
}

/// The accumulator for single groups and frames. It forgets no rows: what floats lose in a sum does not
/// come back when a value is subtracted.
pub(crate) fn accumulator(statistic: Statistic) -> Box<dyn Accumulator> {
    Box::new(One { statistic, moments: Moments::default() })
}

/// The accumulator for many groups.
pub(crate) fn groups_accumulator(statistic: Statistic) -> Box<dyn GroupsAccumulator> {
    Box::new(Many { statistic, groups: vec![] })
}

/// The columns of the partial state.
pub(crate) fn state_fields() -> Vec<FieldRef> {
    let field = |name| Arc::new(Field::new(name, DataType::Float64, true));
    ["count", "sum", "squares"].map(field).to_vec()
}

/// A variance of the library, but for the way it is computed; of distinct values by the library.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Variance {
    library: Arc<AggregateUDF>,
    statistic: Statistic,
}

impl AggregateUDFImpl for Variance {
    fn name(&self) -> &str {
        self.library.name()
    }

    fn aliases(&self) -> &[String] {
        self.library.aliases()
    }

    fn signature(&self) -> &Signature {
        self.library.signature()
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        self.library.return_type(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.is_distinct {
            true => self.library.accumulator(args),
            false => Ok(accumulator(self.statistic)),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if args.is_distinct { self.library.state_fields(args) } else { Ok(state_fields()) }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        _args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(groups_accumulator(self.statistic))
    }
}

/// The number of values, their sum, and the sum of their squared distances from the average.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64, statistic: Statistic) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.sum = if before.count > 0.0 { before.sum + value } else { value };
        if statistic == Statistic::Sum {
            return checked(self.sum, &[before.sum, value]);
        }
        if before.count == 0.0 {
            self.squares = if value.is_finite() { 0.0 } else { f64::NAN };
            return Ok(());
        }
        let distance = value * self.count - self.sum;
        self.squares += distance * distance / (self.count * before.count);
        if self.sum.is_infinite() || self.squares.is_infinite() {
            if !before.sum.is_infinite() && !value.is_infinite() {
                return Err(overflow());
            }
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn merge(&mut self, other: Moments, statistic: Statistic) -> Result<()> {
        if other.count == 0.0 {
            return Ok(());
        }
        if self.count == 0.0 {
            *self = other;
            return Ok(());
        }
        let before = *self;
        self.count += other.count;
        self.sum += other.sum;
        checked(self.sum, &[before.sum, other.sum])?;
        if statistic == Statistic::Sum {
            return Ok(());
        }
        let distance = before.sum / before.count - other.sum / other.count;
        let between = before.count * other.count * distance * distance / self.count;
        self.squares = before.squares + other.squares + between;
        checked(self.squares, &[before.squares, other.squares, before.sum, other.sum])
    }

    fn value(&self, statistic: Statistic) -> Option<f64> {
        let least = match statistic {
            Statistic::VarianceSample | Statistic::DeviationSample => 2.0,
            _ => 1.0,
        };
        (self.count >= least).then(|| match statistic {
            Statistic::Sum => self.sum,
            Statistic::Average => self.sum / self.count,
            Statistic::VariancePopulation => self.squares / self.count,
            Statistic::VarianceSample => self.squares / (self.count - 1.0),
            Statistic::DeviationPopulation => (self.squares / self.count).sqrt(),
            Statistic::DeviationSample => (self.squares / (self.count - 1.0)).sqrt(),
        })
    }
}

/// 22003 for what is infinite though nothing that it was made of is.
fn checked(value: f64, from: &[f64]) -> Result<()> {
    match value.is_infinite() && from.iter().all(|v| !v.is_infinite()) {
        true => Err(overflow()),
        false => Ok(()),
    }
}

fn overflow() -> DataFusionError {
    let state = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    DataFusionError::External(Box::new(SqlError::new(state, "value out of range: overflow")))
}

fn states(arrays: &[ArrayRef]) -> impl Iterator<Item = Moments> + '_ {
    let column = |i: usize| arrays[i].as_primitive::<Float64Type>();
    let (counts, sums, squares) = (column(0), column(1), column(2));
    (0..counts.len()).map(move |row| Moments {
        count: counts.value(row),
        sum: sums.value(row),
        squares: squares.value(row),
    })
}

#[derive(Debug)]
struct One {
    statistic: Statistic,
    moments: Moments,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<Float64Type>();
        values.iter().flatten().try_for_each(|value| self.moments.add(value, self.statistic))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.moments.value(self.statistic)))
    }

    fn size(&self) -> usize {
        size_of::<One>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let Moments { count, sum, squares } = self.moments;
        Ok([count, sum, squares].map(|v| ScalarValue::Float64(Some(v))).to_vec())
    }

    fn merge_batch(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        states(arrays).try_for_each(|state| self.moments.merge(state, self.statistic))
    }
}

struct Many {
    statistic: Statistic,
    groups: Vec<Moments>,
}

impl GroupsAccumulator for Many {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, Moments::default());
        let values = values[0].as_primitive::<Float64Type>();
        let kept = |row: usize| filter.is_none_or(|f| f.is_valid(row) && f.value(row));
        for (row, &group) in group_indices.iter().enumerate() {
            if values.is_valid(row) && kept(row) {
                self.groups[group].add(values.value(row), self.statistic)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        let values = groups.iter().map(|moments| moments.value(self.statistic));
        Ok(Arc::new(values.collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit_to.take_needed(&mut self.groups);
        let column = |of: fn(&Moments) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(groups.iter().map(of)))
        };
        Ok(vec![column(|m| m.count), column(|m| m.sum), column(|m| m.squares)])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, Moments::default());
        for (state, &group) in states(values).zip(group_indices) {
            self.groups[group].merge(state, self.statistic)?;
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut each = Many { statistic: self.statistic, groups: vec![] };
        let rows: Vec<usize> = (0..values[0].len()).collect();
        each.update_batch(values, &rows, filter, rows.len())?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Moments>()
    }
}
