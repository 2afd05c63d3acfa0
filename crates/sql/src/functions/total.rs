//! `sum`: of numbers without a precision another such number; exact, or an error.

use arrow_schema::{DataType, FieldRef};
use datafusion_common::Result;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::AggregateOrderSensitivity;
use datafusion_expr::{Accumulator, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature};
use datafusion_functions_aggregate::sum::Sum;
use types::numeric::FREE;

use crate::functions::exact::{DistinctSum, ManySums, OneSum, is_exact};
use crate::functions::moments;
use crate::functions::moments::{Statistic, is_of_floats};
use crate::functions::spans::SpanSum;

/// The library's sum, with another type for numbers without a precision.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Total(Sum);

impl AggregateUDFImpl for Total {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        if args == [FREE] { Ok(FREE) } else { self.0.return_type(args) }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.return_field.data_type() {
            ty if is_exact(ty) && args.is_distinct => Ok(Box::new(DistinctSum::new(ty))),
            ty if is_exact(ty) => Ok(Box::new(OneSum::new(ty))),
            _ if is_of_floats(&args.return_field, args.is_distinct) => {
                Ok(moments::accumulator(Statistic::Sum))
            }
            DataType::Interval(_) if !args.is_distinct => Ok(Box::new(SpanSum::default())),
            _ => self.0.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match is_of_floats(&args.return_field, args.is_distinct) {
            true => Ok(moments::state_fields()),
            false => self.0.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        let is_span = matches!(args.return_field.data_type(), DataType::Interval(_));
        !is_span && self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match args.return_field.data_type() {
            ty if is_exact(ty) => Ok(Box::new(ManySums::new(ty))),
            _ if is_of_floats(&args.return_field, args.is_distinct) => {
                Ok(moments::groups_accumulator(Statistic::Sum))
            }
            _ => self.0.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let ty = args.return_field.data_type();
        let is_ours = is_exact(ty) || ty.is_floating() || matches!(ty, DataType::Interval(_));
        match is_ours && !args.is_distinct {
            true => self.accumulator(args),
            false => self.0.create_sliding_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.0.reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }
}
