//! `min` and `max` of values that the library orders by their bits or in parts: floats, intervals,
//! arrays. Of all others they are the library's. Of equal values the last one is the result, as in
//! PostgreSQL.

mod lists;
mod primitives;

use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type, IntervalMonthDayNanoType};
use arrow_schema::{DataType, FieldRef};
use datafusion_common::Result;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::AggregateOrderSensitivity;
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature,
};
use datafusion_functions_aggregate::min_max::{max_udaf, min_udaf};

use lists::OfLists;
use primitives::{Many, One};

/// The value that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Side {
    Least,
    Greatest,
}

/// `min` and `max`.
pub(crate) fn all() -> [AggregateUDF; 2] {
    let extreme = |library, side| AggregateUDF::from(Extreme { library, side });
    [extreme(min_udaf(), Side::Least), extreme(max_udaf(), Side::Greatest)]
}

/// The library's function, but for the types that are ours.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    library: Arc<AggregateUDF>,
    side: Side,
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.library.name()
    }

    fn signature(&self) -> &Signature {
        self.library.signature()
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        self.library.coerce_types(args)
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        self.library.return_type(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.library.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(match args.return_field.data_type() {
            DataType::Float32 => Box::new(One::<Float32Type>::new(self.side, false)),
            DataType::Float64 => Box::new(One::<Float64Type>::new(self.side, false)),
            DataType::Interval(_) => {
                Box::new(One::<IntervalMonthDayNanoType>::new(self.side, false))
            }
            ty @ DataType::List(_) => Box::new(OfLists::new(self.side, ty.clone())),
            _ => return self.library.accumulator(args),
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(match args.return_field.data_type() {
            DataType::Float32 => Box::new(One::<Float32Type>::new(self.side, true)),
            DataType::Float64 => Box::new(One::<Float64Type>::new(self.side, true)),
            DataType::Interval(_) => {
                Box::new(One::<IntervalMonthDayNanoType>::new(self.side, true))
            }
            ty @ DataType::List(_) => Box::new(OfLists::new(self.side, ty.clone())),
            _ => return self.library.create_sliding_accumulator(args),
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        match args.return_field.data_type() {
            DataType::Interval(_) => true,
            _ => self.library.groups_accumulator_supported(args),
        }
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(match args.return_field.data_type() {
            DataType::Float32 => Box::new(Many::<Float32Type>::new(self.side)),
            DataType::Float64 => Box::new(Many::<Float64Type>::new(self.side)),
            DataType::Interval(_) => Box::new(Many::<IntervalMonthDayNanoType>::new(self.side)),
            _ => return self.library.create_groups_accumulator(args),
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}
