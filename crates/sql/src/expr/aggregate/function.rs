//! The library's aggregate functions as functions of a plan.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, new_empty_array};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::GroupsAccumulatorAdapter;
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use plan::expr::{AggregateFunction, Groups, Single, value_bytes};
use types::SqlResult;

use crate::error::from_library;

/// A function of the library.
pub(super) struct Function(pub(super) Arc<AggregateFunctionExpr>);

impl AggregateFunction for Function {
    fn state_types(&self) -> SqlResult<Vec<DataType>> {
        let fields = self.0.state_fields().map_err(from_library)?;
        Ok(fields.iter().map(|f| f.data_type().clone()).collect())
    }

    fn forgets(&self) -> bool {
        // Digits that a sum of floats has lost do not come back by a subtraction.
        let is_extreme = matches!(self.0.fun().name(), "min" | "max");
        is_extreme || !self.0.field().data_type().is_floating()
    }

    fn groups(&self) -> SqlResult<Box<dyn Groups>> {
        Ok(Box::new(OfGroups {
            inner: groups(&self.0)?,
            ty: self.0.field().data_type().clone(),
            state_types: self.state_types()?,
            total: 0,
            kept: (self.0.fun().name() == "array_agg").then_some(0),
        }))
    }

    fn single(&self) -> SqlResult<Box<dyn Single>> {
        // The library refuses those that cannot forget rows.
        let sliding = self.0.create_sliding_accumulator();
        let state = sliding.or_else(|_| self.0.create_accumulator()).map_err(from_library)?;
        Ok(Box::new(OfOne(state)))
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

/// The state of many groups.
struct OfGroups {
    inner: Box<dyn GroupsAccumulator>,
    /// Type of the result: some of the library's cannot make an empty one.
    ty: DataType,
    state_types: Vec<DataType>,
    total: usize,
    /// Bytes of the texts that the state keeps, where the library does not count them.
    kept: Option<usize>,
}

impl OfGroups {
    /// Counts values that are kept.
    fn keep(&mut self, values: &[ArrayRef]) {
        if let Some(kept) = &mut self.kept {
            *kept += values.iter().map(value_bytes).sum::<usize>();
        }
    }
}

impl Groups for OfGroups {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> SqlResult<()> {
        self.total = total;
        self.keep(args);
        self.inner.update_batch(args, groups, filter, total).map_err(from_library)
    }

    fn merge(&mut self, state: &[ArrayRef], groups: &[usize], total: usize) -> SqlResult<()> {
        self.total = total;
        self.keep(state);
        self.inner.merge_batch(state, groups, total).map_err(from_library)
    }

    fn state(&mut self) -> SqlResult<Vec<ArrayRef>> {
        match self.total {
            0 => Ok(self.state_types.iter().map(new_empty_array).collect()),
            _ => self.inner.state(EmitTo::All).map_err(from_library),
        }
    }

    fn evaluate(&mut self) -> SqlResult<ArrayRef> {
        match self.total {
            0 => Ok(new_empty_array(&self.ty)),
            _ => self.inner.evaluate(EmitTo::All).map_err(from_library),
        }
    }

    fn size(&self) -> usize {
        self.inner.size() + self.kept.unwrap_or_default()
    }
}

/// The state of one group.
struct OfOne(Box<dyn Accumulator>);

impl Single for OfOne {
    fn update(&mut self, args: &[ArrayRef]) -> SqlResult<()> {
        self.0.update_batch(args).map_err(from_library)
    }

    fn retracts(&self) -> bool {
        self.0.supports_retract_batch()
    }

    fn retract(&mut self, args: &[ArrayRef]) -> SqlResult<()> {
        self.0.retract_batch(args).map_err(from_library)
    }

    fn merge(&mut self, state: &[ArrayRef]) -> SqlResult<()> {
        self.0.merge_batch(state).map_err(from_library)
    }

    fn state(&mut self) -> SqlResult<Vec<ArrayRef>> {
        let values = self.0.state().map_err(from_library)?;
        values.iter().map(|value| value.to_array().map_err(from_library)).collect()
    }

    fn evaluate(&mut self) -> SqlResult<ScalarValue> {
        self.0.evaluate().map_err(from_library)
    }
}
