//! Extremes of arrays.

use std::cmp::Ordering;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::Accumulator;
use types::SqlError;

use super::Side;
use crate::functions::order::comparator;

/// The extreme of one group.
#[derive(Debug)]
pub(super) struct OfLists {
    side: Side,
    ty: DataType,
    /// The one array.
    best: Option<ArrayRef>,
}

impl OfLists {
    pub(super) fn new(side: Side, ty: DataType) -> OfLists {
        OfLists { side, ty, best: None }
    }

    fn prefers(&self, order: Ordering) -> bool {
        match self.side {
            Side::Least => order.is_le(),
            Side::Greatest => order.is_ge(),
        }
    }
}

impl Accumulator for OfLists {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let failed = |error: SqlError| DataFusionError::External(Box::new(error));
        let values = &values[0];
        let among = comparator(values, values).map_err(failed)?;
        let rows = (0..values.len()).filter(|row| values.is_valid(*row));
        let best = rows.reduce(|old, new| if self.prefers(among(new, old)) { new } else { old });
        let Some(new) = best.map(|row| values.slice(row, 1)) else { return Ok(()) };
        let is_better = match &self.best {
            Some(old) => self.prefers(comparator(&new, old).map_err(failed)?(0, 0)),
            None => true,
        };
        if is_better {
            // A slice would keep the whole batch.
            let one = arrow_array::UInt32Array::from(vec![0]);
            self.best = Some(arrow_select::take::take(&new, &one, None)?);
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match &self.best {
            Some(best) => ScalarValue::try_from_array(best, 0),
            None => ScalarValue::try_new_null(&self.ty),
        }
    }

    fn size(&self) -> usize {
        size_of::<OfLists>() + self.best.as_ref().map_or(0, |best| best.get_array_memory_size())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
