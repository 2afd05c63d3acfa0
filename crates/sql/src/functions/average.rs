//! `avg`: of decimals with as many digits as PostgreSQL gives, of floats by the library.

use arrow_schema::{DataType, FieldRef};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use datafusion_functions_aggregate::average::Avg;
use types::numeric::QUOTIENT;
use types::{SqlError, SqlState};

use crate::functions::moments;
use crate::functions::moments::{Statistic, is_of_floats};

/// The library's average, with another type for decimals and whole numbers.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Average {
    library: Avg,
    signature: Signature,
}

impl Default for Average {
    fn default() -> Average {
        let signature = Signature::user_defined(Volatility::Immutable);
        Average { library: Avg::new(), signature }
    }
}

impl AggregateUDFImpl for Average {
    fn name(&self) -> &str {
        "avg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        let coerced = |ty: &DataType| {
            Ok(match ty {
                DataType::Decimal128(..) | DataType::Decimal256(..) => ty.clone(),
                DataType::Int16 => DataType::Decimal128(5, 0),
                DataType::Int32 => DataType::Decimal128(10, 0),
                DataType::Int64 | DataType::UInt64 => DataType::Decimal128(20, 0),
                DataType::Float32 | DataType::Float64 | DataType::Null => DataType::Float64,
                other => {
                    let name = crate::render::type_name(other);
                    let message = format!("function avg({name}) does not exist");
                    let error = SqlError::new(SqlState::UNDEFINED_FUNCTION, message);
                    return Err(DataFusionError::External(Box::new(error)));
                }
            })
        };
        args.iter().map(coerced).collect()
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match args {
            [DataType::Decimal128(..) | DataType::Decimal256(..)] => Ok(QUOTIENT),
            [ty] if ty.is_integer() => Ok(QUOTIENT),
            _ => self.library.return_type(args),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match is_of_floats(&args.return_field, args.is_distinct) {
            true => Ok(moments::accumulator(Statistic::Average)),
            false => self.library.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match is_of_floats(&args.return_field, args.is_distinct) {
            true => Ok(moments::state_fields()),
            false => self.library.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.library.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match is_of_floats(&args.return_field, args.is_distinct) {
            true => Ok(moments::groups_accumulator(Statistic::Average)),
            false => self.library.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match is_of_floats(&args.return_field, args.is_distinct) {
            true => Ok(moments::accumulator(Statistic::Average)),
            false => self.library.create_sliding_accumulator(args),
        }
    }
}
