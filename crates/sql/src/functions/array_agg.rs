//! `array_agg`: the library's, but for distinct values of which equal ones look different. The
//! first of these is shown, and they are in order.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::{DataType, Field, FieldRef, SortOptions};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::AggregateOrderSensitivity;
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature};
use datafusion_functions_aggregate::array_agg::array_agg_udaf;
use types::equality::{canonical, has_lookalikes};

use crate::functions::order::comparator;

/// `array_agg`.
pub(crate) fn function() -> AggregateUDF {
    AggregateUDF::from(ArrayAgg { library: array_agg_udaf() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayAgg {
    library: Arc<AggregateUDF>,
}

/// True if the call is ours, which gives such arrays.
fn is_ours(is_distinct: bool, result: &DataType) -> bool {
    is_distinct && has_lookalikes(result)
}

impl AggregateUDFImpl for ArrayAgg {
    fn name(&self) -> &str {
        self.library.name()
    }

    fn signature(&self) -> &Signature {
        self.library.signature()
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        self.library.return_type(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match is_ours(args.is_distinct, args.return_field.data_type()) {
            true => {
                let ty = args.return_field.data_type().clone();
                Ok(vec![Arc::new(Field::new("distinct", ty, true))])
            }
            false => self.library.state_fields(args),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.return_field.data_type() {
            ty @ DataType::List(element) if is_ours(args.is_distinct, ty) => {
                let first = args.order_bys.first();
                Ok(Box::new(Distinct {
                    ty: element.data_type().clone(),
                    order: first.map(|sort| sort.options),
                    drops_nulls: args.ignore_nulls,
                    seen: HashSet::new(),
                    firsts: vec![],
                }))
            }
            _ => self.library.accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !is_ours(args.is_distinct, args.return_field.data_type())
            && self.library.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.library.create_groups_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.library.order_sensitivity()
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.library.supports_null_handling_clause()
    }
}

/// The distinct values of one group.
#[derive(Debug)]
struct Distinct {
    ty: DataType,
    /// Ascending with nulls last where none is given.
    order: Option<SortOptions>,
    drops_nulls: bool,
    /// The forms of the values.
    seen: HashSet<ScalarValue>,
    /// The first value of each form.
    firsts: Vec<ScalarValue>,
}

impl Distinct {
    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let forms = canonical(values);
        for row in 0..values.len() {
            let is_left_out = self.drops_nulls && values.is_null(row);
            if !is_left_out && self.seen.insert(ScalarValue::try_from_array(&forms, row)?) {
                let mut first = ScalarValue::try_from_array(values, row)?;
                first.compact();
                self.firsts.push(first);
            }
        }
        Ok(())
    }
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.firsts.is_empty() {
            return Ok(ScalarValue::new_null_list(self.ty.clone(), true, 1));
        }
        let firsts = ScalarValue::iter_to_array(self.firsts.iter().cloned())?;
        let compare = comparator(&firsts, &firsts)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let order = self.order.unwrap_or(SortOptions { descending: false, nulls_first: false });
        let mut rows: Vec<u32> = (0..firsts.len() as u32).collect();
        rows.sort_by(|a, b| {
            let (a, b) = (*a as usize, *b as usize);
            let by_value = compare(a, b);
            match (firsts.is_null(a), firsts.is_null(b)) {
                (false, false) if order.descending => by_value.reverse(),
                (true, false) | (false, true) if order.nulls_first => by_value.reverse(),
                _ => by_value,
            }
        });
        let sorted = arrow_select::take::take(&firsts, &UInt32Array::from(rows), None)?;
        let sorted = (0..sorted.len()).map(|row| ScalarValue::try_from_array(&sorted, row));
        let sorted = sorted.collect::<Result<Vec<_>>>()?;
        Ok(ScalarValue::List(ScalarValue::new_list(&sorted, &self.ty, true)))
    }

    fn size(&self) -> usize {
        size_of::<Distinct>() + 2 * ScalarValue::size_of_vec(&self.firsts)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::List(ScalarValue::new_list(&self.firsts, &self.ty, true))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        states[0].as_list::<i32>().iter().flatten().try_for_each(|values| self.add(&values))
    }
}
