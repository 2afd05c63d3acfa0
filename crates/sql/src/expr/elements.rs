//! Casts between arrays: each element is cast as a value of its own would be.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{CastExpr, Column};

use crate::cast::strict::STRICT_CAST;
use crate::expr::exact::harden;

/// A cast of `input`, an array, to an array with elements of another type.
#[derive(Debug, Clone)]
pub(super) struct CastElements {
    input: Arc<dyn PhysicalExpr>,
    /// The cast of the only column of a batch of elements.
    element: Arc<dyn PhysicalExpr>,
    to: DataType,
}

impl CastElements {
    /// The cast, if it is one between arrays.
    pub(super) fn of(cast: &CastExpr, schema: &Schema) -> Result<Option<CastElements>> {
        let (from, to) = (cast.expr().data_type(schema)?, cast.cast_type());
        let (DataType::List(from), DataType::List(target)) = (&from, to) else { return Ok(None) };
        if from.data_type() == target.data_type() {
            return Ok(None);
        }
        let column = Arc::new(Column::new(ELEMENT, 0));
        let plain = CastExpr::new(column, target.data_type().clone(), Some(STRICT_CAST));
        let element = harden(Arc::new(plain), &schema_of(from.data_type()))?;
        let input = Arc::clone(cast.expr());
        Ok(Some(CastElements { input, element, to: to.clone() }))
    }
}

const ELEMENT: &str = "element";

fn schema_of(element: &DataType) -> Schema {
    Schema::new(vec![Field::new(ELEMENT, element.clone(), true)])
}

impl PartialEq for CastElements {
    fn eq(&self, other: &CastElements) -> bool {
        self.to == other.to && self.input.eq(&other.input) && self.element.eq(&other.element)
    }
}

impl Eq for CastElements {}

impl Hash for CastElements {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
        self.to.hash(state);
    }
}

impl fmt::Display for CastElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.input.fmt(f)
    }
}

impl PhysicalExpr for CastElements {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.input.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let array = self.input.evaluate(batch)?.into_array(batch.num_rows())?;
        let DataType::List(field) = &self.to else {
            return Err(DataFusionError::Internal("an array is cast to an array".into()));
        };
        let lists = only_used(array.as_list::<i32>())?;
        let elements = Arc::clone(lists.values());
        let schema = Arc::new(schema_of(elements.data_type()));
        let elements = RecordBatch::try_new(schema, vec![elements])?;
        let cast = self.element.evaluate(&elements)?.into_array(elements.num_rows())?;
        let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
        let cast = ListArray::try_new(Arc::clone(field), offsets, cast, nulls)?;
        Ok(ColumnarValue::Array(Arc::new(cast)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(CastElements { input, ..self.as_ref().clone() })),
            None => Err(DataFusionError::Internal("a cast has one operand".into())),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.input.fmt_sql(f)
    }
}

/// The arrays without elements that no row has: their cast must not fail.
fn only_used(lists: &ListArray) -> Result<ListArray> {
    let used = lists.value_offsets();
    let is_whole = used.first() == Some(&0)
        && used.last().is_some_and(|end| *end as usize == lists.values().len());
    if is_whole && lists.null_count() == 0 {
        return Ok(lists.clone());
    }
    let rows = (0..lists.len() as u32).collect::<Vec<_>>();
    let taken = arrow_select::take::take(lists, &arrow_array::UInt32Array::from(rows), None)?;
    Ok(taken.as_list::<i32>().clone())
}
