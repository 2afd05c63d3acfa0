//! `mode() WITHIN GROUP (ORDER BY x)`: the most frequent value, the smallest of several.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use crate::functions::order::comparator;

/// `mode_of(x)`: null where there is no value but null.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mode {
    signature: Signature,
}

impl Default for Mode {
    fn default() -> Mode {
        Mode { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Mode {
    fn name(&self) -> &str {
        "mode_of"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let ty = args.return_field.data_type().clone();
        Ok(Box::new(Values { ty, values: vec![] }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let element = Field::new_list_field(args.return_field.data_type().clone(), true);
        Ok(vec![Arc::new(Field::new("values", DataType::List(Arc::new(element)), true))])
    }
}

/// The values seen so far.
#[derive(Debug)]
struct Values {
    ty: DataType,
    values: Vec<ScalarValue>,
}

impl Values {
    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        for row in (0..values.len()).filter(|row| values.is_valid(*row)) {
            self.values.push(ScalarValue::try_from_array(values, row)?);
        }
        Ok(())
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.values.is_empty() {
            return ScalarValue::try_new_null(&self.ty);
        }
        let values = ScalarValue::iter_to_array(self.values.iter().cloned())?;
        let compare = comparator(&values, &values)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| compare(*a, *b));
        let groups = order.chunk_by(|a, b| compare(*a, *b).is_eq());
        // The first of those with the most.
        let most = groups.rev().max_by_key(|group| group.len()).and_then(|group| group.first());
        ScalarValue::try_from_array(&values, most.copied().unwrap_or_default())
    }

    fn size(&self) -> usize {
        size_of::<Values>() + ScalarValue::size_of_vec(&self.values)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::List(ScalarValue::new_list(&self.values, &self.ty, true))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        states[0].as_list::<i32>().iter().flatten().try_for_each(|values| self.add(&values))
    }
}
