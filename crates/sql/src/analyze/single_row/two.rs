//! The rows of a subquery whose value may not be asked for: the first two are kept, as a list, and who
//! asks for the value of the list refuses two.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::take::take;
use datafusion_common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::analyze::single_row::two_rows;

static TWO_VALUES: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::from(TwoValues { signature }))
});

static ONLY_VALUE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::from(OnlyValue { signature }))
});

/// `two_values(x)`: a list of x of the first two rows.
pub(crate) fn two_values() -> Arc<AggregateUDF> {
    Arc::clone(&TWO_VALUES)
}

/// The value of such a list: null if it is empty, an error if there are two.
pub(crate) fn only_value(list: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&ONLY_VALUE), vec![list]))
}

fn list_of(element: &DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element.clone(), true)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TwoValues {
    signature: Signature,
}

impl AggregateUDFImpl for TwoValues {
    fn name(&self) -> &str {
        "two_values"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(list_of(&types[0]))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.return_field.data_type() {
            DataType::List(element) => {
                Ok(Box::new(Two { ty: element.data_type().clone(), values: vec![] }))
            }
            other => exec_err!("two_values gives {other}"),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new("values", args.return_field.data_type().clone(), true))])
    }
}

#[derive(Debug)]
struct Two {
    ty: DataType,
    values: Vec<ScalarValue>,
}

impl Accumulator for Two {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for row in 0..values[0].len().min(2 - self.values.len()) {
            self.values.push(ScalarValue::try_from_array(&values[0], row)?);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::List(ScalarValue::new_list_nullable(&self.values, &self.ty)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + ScalarValue::size_of_vec(&self.values)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let lists = states[0].as_list::<i32>();
        (0..lists.len()).try_for_each(|row| self.update_batch(&[lists.value(row)]))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OnlyValue {
    signature: Signature,
}

impl ScalarUDFImpl for OnlyValue {
    fn name(&self) -> &str {
        "only_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match &types[0] {
            DataType::List(element) => Ok(element.data_type().clone()),
            other => exec_err!("only_value of {other}"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let lists = arrays[0].as_list::<i32>();
        let place = |row: usize| match lists.is_valid(row).then(|| lists.value_length(row)) {
            None | Some(0) => Ok(None),
            Some(1) => Ok(Some(lists.value_offsets()[row] as u32)),
            Some(_) => Err(DataFusionError::External(Box::new(two_rows()))),
        };
        let places = (0..lists.len()).map(place).collect::<Result<UInt32Array>>()?;
        Ok(ColumnarValue::Array(take(lists.values(), &places, None)?))
    }
}
