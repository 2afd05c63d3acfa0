//! Values of any size that the library computes are counted in the memory of the statement, as ours
//! are where they are made, and whoever computes them is asked whether they are still wanted.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use plan::expr::value_bytes;
use plan::limits;

use crate::expr::concatenated::Concatenated;
use crate::interrupt;
use crate::parse::set_functions::SERIES;
use crate::walk::nodes::Nodes;

/// `expr` with its parts of which values may be large counted, and whether there are such.
pub(super) fn measured(
    expr: Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Result<Transformed<Arc<dyn PhysicalExpr>>> {
    expr.transform_up(|node| {
        let any = node.as_ref() as &dyn std::any::Any;
        let call = any.downcast_ref::<ScalarFunctionExpr>();
        let is_series = call.is_some_and(|call| call.name() == SERIES);
        if is_series || any.is::<Column>() || any.is::<Literal>() || any.is::<Measured>() {
            return Ok(Transformed::no(node));
        }
        if !is_of_any_size(&node.data_type(schema)?) {
            return Ok(Transformed::no(node));
        }
        let node = match Concatenated::of(&node, schema)? {
            Some(ours) => Arc::new(ours),
            None => node,
        };
        Ok(Transformed::yes(Arc::new(Measured(node)) as _))
    })
}

/// True if values of a type have any size.
fn is_of_any_size(ty: &DataType) -> bool {
    ty.is_string() || ty.is_binary() || ty.is_nested()
}

/// An expression whose values are counted.
#[derive(Debug)]
pub(super) struct Measured(Arc<dyn PhysicalExpr>);

impl Measured {
    /// The expression that is counted.
    pub(super) fn inner(&self) -> &Arc<dyn PhysicalExpr> {
        &self.0
    }
}

impl PartialEq for Measured {
    fn eq(&self, other: &Measured) -> bool {
        self.0.eq(&other.0)
    }
}

impl Eq for Measured {}

impl Hash for Measured {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PhysicalExpr for Measured {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.0.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.0.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        interrupt::check()?;
        let counted = limits::taken();
        let value = self.0.evaluate(batch)?;
        if let ColumnarValue::Array(array) = &value {
            limits::take_rest(value_bytes(array), counted)
                .map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        Ok(value)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.0.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Measured(Arc::clone(&self.0).with_new_children(children)?)))
    }

    fn is_volatile_node(&self) -> bool {
        self.0.is_volatile_node()
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}
