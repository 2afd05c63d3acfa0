//! `x = ANY (array)` and `x <> ALL (array)` with an array that is the same for all rows.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::library::as_node;
use super::listed::are_among;
use super::runtime_parameter::RuntimeParameter;

type Node = Arc<dyn PhysicalExpr>;

/// The comparison by a set of the elements, which is made for each batch. The function compares
/// each row with each element.
#[derive(Debug)]
pub(crate) struct AnyOf {
    value: Node,
    array: Node,
    is_negated: bool,
}

impl AnyOf {
    /// The same of a call whose array is a parameter with elements of the value's type: one whose
    /// values are equal where their words or bytes are.
    pub(crate) fn of(call: &ScalarFunctionExpr, schema: &Schema) -> Result<Option<AnyOf>> {
        let is_negated = match call.name() {
            "any_eq" => false,
            "all_ne" => true,
            _ => return Ok(None),
        };
        let [value, array] = call.args() else { return Ok(None) };
        let ty = value.data_type(schema)?;
        let is_alike = match array.data_type(schema)? {
            DataType::List(element) => *element.data_type() == ty,
            _ => false,
        };
        if !is_alike || !is_plain(&ty) || !is_parameter(array) {
            return Ok(None);
        }
        let (value, array) = (Arc::clone(value), Arc::clone(array));
        Ok(Some(AnyOf { value, array, is_negated }))
    }
}

fn is_parameter(node: &Node) -> bool {
    let call = as_node::<ScalarFunctionExpr>(node);
    call.is_some_and(|call| call.fun().inner().is::<RuntimeParameter>())
}

fn is_plain(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Utf8View
            | DataType::Date32
            | DataType::Timestamp(..)
    )
}

impl PartialEq for AnyOf {
    fn eq(&self, other: &AnyOf) -> bool {
        self.is_negated == other.is_negated
            && self.value.eq(&other.value)
            && self.array.eq(&other.array)
    }
}

impl Eq for AnyOf {}

impl Hash for AnyOf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
        self.array.hash(state);
        self.is_negated.hash(state);
    }
}

impl fmt::Display for AnyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_sql(f)
    }
}

impl PhysicalExpr for AnyOf {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _schema: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let ColumnarValue::Scalar(ScalarValue::List(list)) = self.array.evaluate(batch)? else {
            return Err(DataFusionError::Internal("a parameter has one value".into()));
        };
        let truth = |truth| Ok(ColumnarValue::Scalar(ScalarValue::Boolean(truth)));
        if list.is_null(0) {
            return truth(None);
        }
        let elements = list.value(0);
        if elements.is_empty() {
            return truth(Some(self.is_negated));
        }
        let values = self.value.evaluate(batch)?.into_array(batch.num_rows())?;
        are_among(values, elements, self.is_negated)
    }

    fn children(&self) -> Vec<&Node> {
        vec![&self.value, &self.array]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Node>) -> Result<Node> {
        let array = children.remove(1);
        let value = children.remove(0);
        Ok(Arc::new(AnyOf { value, array, is_negated: self.is_negated }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt_sql(f)?;
        f.write_str(if self.is_negated { " <> ALL (" } else { " = ANY (" })?;
        self.array.fmt_sql(f)?;
        f.write_str(")")
    }
}
