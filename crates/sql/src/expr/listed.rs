//! `IN` with a list of parameters whose values come when the plan runs.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, InListExpr, Literal};
use datafusion_physical_expr::utils::collect_columns;

use crate::expr::library::as_node;

/// Elements of which the library compares each with all rows as fast as a set is made of them.
const COMPARED_MAX: usize = 8;

/// The library's expression, by a set of the elements that is made for each batch. The library
/// makes one for constants only, and compares all rows with each of the others.
#[derive(Debug)]
pub(crate) struct Listed {
    expr: Arc<dyn PhysicalExpr>,
    elements: Vec<Arc<dyn PhysicalExpr>>,
    is_negated: bool,
}

impl Listed {
    /// The same of a long list without columns, of which some element is no constant.
    pub(crate) fn of(list: &InListExpr) -> Option<Listed> {
        let elements = list.list();
        let is_constant = |element| as_node::<Literal>(element).is_some();
        let has_columns = |element| !collect_columns(element).is_empty();
        if elements.len() <= COMPARED_MAX
            || elements.iter().all(is_constant)
            || elements.iter().any(has_columns)
        {
            return None;
        }
        let (expr, elements) = (Arc::clone(list.expr()), elements.to_vec());
        Some(Listed { expr, elements, is_negated: list.negated() })
    }
}

/// For each value whether it is among elements of its type, or not if that is asked: by a set that
/// is made of them.
pub(super) fn are_among(
    values: ArrayRef,
    elements: ArrayRef,
    is_negated: bool,
) -> Result<ColumnarValue> {
    let field = Field::new("value", values.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let value = Arc::new(Column::new("value", 0));
    let set = InListExpr::try_new_from_array(value, elements, is_negated, &schema)?;
    set.evaluate(&RecordBatch::try_new(schema, vec![values])?)
}

impl PartialEq for Listed {
    fn eq(&self, other: &Listed) -> bool {
        self.is_negated == other.is_negated
            && self.expr.eq(&other.expr)
            && self.elements.eq(&other.elements)
    }
}

impl Eq for Listed {}

impl Hash for Listed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expr.hash(state);
        self.elements.hash(state);
        self.is_negated.hash(state);
    }
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_sql(f)
    }
}

impl PhysicalExpr for Listed {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _schema: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let values = self.expr.evaluate(batch)?.into_array(batch.num_rows())?;
        let element = |element: &Arc<dyn PhysicalExpr>| match element.evaluate(batch)? {
            ColumnarValue::Scalar(value) => Ok(value),
            ColumnarValue::Array(_) => {
                Err(DataFusionError::Internal("an element without columns has one value".into()))
            }
        };
        let elements = self.elements.iter().map(element).collect::<Result<Vec<_>>>()?;
        are_among(values, ScalarValue::iter_to_array(elements)?, self.is_negated)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        std::iter::once(&self.expr).chain(&self.elements).collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = children.remove(0);
        Ok(Arc::new(Listed { expr, elements: children, is_negated: self.is_negated }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt_sql(f)?;
        f.write_str(if self.is_negated { " NOT IN (" } else { " IN (" })?;
        for (number, element) in self.elements.iter().enumerate() {
            f.write_str(if number > 0 { ", " } else { "" })?;
            element.fmt_sql(f)?;
        }
        f.write_str(")")
    }
}
