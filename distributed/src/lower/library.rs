//! The library's aggregate functions as functions of a plan: for values that the plan's own totals
//! are not of (floats, texts). The operator that groups and calls them is ours.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, new_empty_array};
use arrow_schema::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::Column;
use engine::{SqlError, SqlResult, SqlState};
use plan::expr::{AggregateFunction, Groups, Single};

use super::expr::from_library;
use crate::fragment::{Function, Scalar};

/// A function of the library over one column.
pub struct OfLibrary(AggregateFunctionExpr);

impl OfLibrary {
    /// The function over values of a type.
    ///
    /// # Errors
    /// 0A000 where the library has none of groups for them.
    pub fn new(function: Function, arg: &DataType) -> SqlResult<OfLibrary> {
        let function = match function {
            Function::Rows | Function::Count => count_udaf(),
            Function::Sum => sum_udaf(),
            Function::Min => min_udaf(),
            Function::Max => max_udaf(),
        };
        let schema = Schema::new(vec![Field::new("value", arg.clone(), true)]);
        let args = vec![Arc::new(Column::new("value", 0)) as Scalar];
        let built = AggregateExprBuilder::new(function, args)
            .schema(Arc::new(schema))
            .alias("state")
            .build()
            .map_err(from_library)?;
        if !built.groups_accumulator_supported() {
            let message = format!("{} of {arg} is not computed in fragments", built.fun().name());
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(OfLibrary(built))
    }

    /// The type of the result.
    pub fn data_type(&self) -> DataType {
        self.0.field().data_type().clone()
    }
}

impl AggregateFunction for OfLibrary {
    fn state_types(&self) -> SqlResult<Vec<DataType>> {
        let fields = self.0.state_fields().map_err(from_library)?;
        Ok(fields.iter().map(|field| field.data_type().clone()).collect())
    }

    fn forgets(&self) -> bool {
        false
    }

    fn groups(&self) -> SqlResult<Box<dyn Groups>> {
        let inner = self.0.create_groups_accumulator().map_err(from_library)?;
        let (ty, state_types) = (self.data_type(), self.state_types()?);
        Ok(Box::new(OfGroups { inner, ty, state_types, total: 0 }))
    }

    fn single(&self) -> SqlResult<Box<dyn Single>> {
        Ok(Box::new(OfOne(self.0.create_accumulator().map_err(from_library)?)))
    }
}

/// The state of many groups.
struct OfGroups {
    inner: Box<dyn GroupsAccumulator>,
    /// Of results and states without groups: some of the library's cannot make empty ones.
    ty: DataType,
    state_types: Vec<DataType>,
    total: usize,
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
        self.inner.update_batch(args, groups, filter, total).map_err(from_library)
    }

    fn merge(&mut self, state: &[ArrayRef], groups: &[usize], total: usize) -> SqlResult<()> {
        self.total = total;
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
        self.inner.size()
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
