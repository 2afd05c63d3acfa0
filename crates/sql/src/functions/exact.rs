//! Sums of whole numbers and decimals: exact, or 22003.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Decimal256Array, Int64Array};
use arrow_buffer::i256;
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};
use types::{SqlError, SqlState};

/// True if sums of that type are ours.
pub(super) fn is_exact(ty: &DataType) -> bool {
    matches!(ty, DataType::Int64 | DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// A sum and how many values it has.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: i256,
    count: u64,
}

impl Sum {
    fn add(&mut self, value: i256) -> Result<()> {
        self.sum = self.sum.checked_add(value).ok_or_else(overflow)?;
        self.count += 1;
        Ok(())
    }

    fn value(self, ty: &DataType) -> Result<Option<i256>> {
        let is_within = match ty {
            DataType::Decimal128(digits, _) | DataType::Decimal256(digits, _) => {
                let limit = i256::from_i128(10).wrapping_pow(u32::from(*digits));
                self.sum < limit && self.sum > limit.wrapping_neg()
            }
            _ => self.sum.to_i128().is_some_and(|sum| i64::try_from(sum).is_ok()),
        };
        if is_within { Ok((self.count > 0).then_some(self.sum)) } else { Err(overflow()) }
    }
}

fn overflow() -> DataFusionError {
    let error = SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow");
    DataFusionError::External(Box::new(error))
}

/// The values in 256 bits.
fn wide(values: &ArrayRef) -> Result<Decimal256Array> {
    if let Some(values) = values.as_primitive_opt::<Int64Type>() {
        return Ok(values.iter().map(|v| v.map(|v| i256::from_i128(v.into()))).collect());
    }
    let (wide, _) = types::numeric::wide(values.as_ref())
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(wide)
}

/// Sums as an array of that type; each fits it.
fn narrow(sums: Decimal256Array, ty: &DataType) -> ArrayRef {
    let words = || sums.iter().map(|sum| sum.and_then(|sum| sum.to_i128()));
    match ty {
        DataType::Int64 => Arc::new(words().map(|w| w.map(|w| w as i64)).collect::<Int64Array>()),
        DataType::Decimal128(..) => {
            let sums = words().collect::<arrow_array::Decimal128Array>();
            Arc::new(sums.with_data_type(ty.clone()))
        }
        _ => Arc::new(sums.with_data_type(ty.clone())),
    }
}

fn scalar(sum: Sum, ty: &DataType) -> Result<ScalarValue> {
    let sums = Decimal256Array::from_iter([sum.value(ty)?]);
    ScalarValue::try_from_array(&narrow(sums, ty), 0)
}

/// The sum of one group or of a frame that moves.
#[derive(Debug)]
pub(super) struct OneSum {
    ty: DataType,
    sum: Sum,
}

impl OneSum {
    pub(super) fn new(ty: &DataType) -> OneSum {
        OneSum { ty: ty.clone(), sum: Sum::default() }
    }
}

impl Accumulator for OneSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        wide(&values[0])?.iter().flatten().try_for_each(|value| self.sum.add(value))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in wide(&values[0])?.iter().flatten() {
            self.sum.sum = self.sum.sum.checked_sub(value).ok_or_else(overflow)?;
            self.sum.count -= 1;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        scalar(self.sum, &self.ty)
    }

    fn size(&self) -> usize {
        size_of::<OneSum>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// The sums of many groups.
pub(super) struct ManySums {
    ty: DataType,
    sums: Vec<Sum>,
}

impl ManySums {
    pub(super) fn new(ty: &DataType) -> ManySums {
        ManySums { ty: ty.clone(), sums: vec![] }
    }
}

impl GroupsAccumulator for ManySums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.sums.resize(total, Sum::default());
        let values = wide(&values[0])?;
        let is_kept = |row: usize| filter.is_none_or(|f| f.is_valid(row) && f.value(row));
        for (row, group) in groups.iter().enumerate() {
            if values.is_valid(row) && is_kept(row) {
                self.sums[*group].add(values.value(row))?;
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.update_batch(values, groups, None, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums).into_iter();
        let sums = sums.map(|sum| sum.value(&self.ty)).collect::<Result<Decimal256Array>>()?;
        Ok(narrow(sums, &self.ty))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut sums = ManySums::new(&self.ty);
        let groups: Vec<usize> = (0..values[0].len()).collect();
        sums.update_batch(values, &groups, filter, groups.len())?;
        sums.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Sum>()
    }
}

/// The sum of the distinct values of one group.
#[derive(Debug)]
pub(super) struct DistinctSum {
    ty: DataType,
    values: HashSet<i256>,
}

impl DistinctSum {
    pub(super) fn new(ty: &DataType) -> DistinctSum {
        DistinctSum { ty: ty.clone(), values: HashSet::new() }
    }
}

impl Accumulator for DistinctSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.extend(wide(&values[0])?.iter().flatten());
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sum = Sum::default();
        self.values.iter().try_for_each(|value| sum.add(*value))?;
        scalar(sum, &self.ty)
    }

    fn size(&self) -> usize {
        size_of::<DistinctSum>() + self.values.capacity() * size_of::<i256>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = narrow(self.values.iter().map(|v| Some(*v)).collect(), &self.ty);
        let values = (0..values.len()).map(|row| ScalarValue::try_from_array(&values, row));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(vec![ScalarValue::List(ScalarValue::new_list(&values, &self.ty, true))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        states[0].as_list::<i32>().iter().flatten().try_for_each(|v| self.update_batch(&[v]))
    }
}
