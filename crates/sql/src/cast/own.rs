//! Casts that go by rules of our own instead of the library's.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;

use crate::cast::{floats, moments, text};

/// A cast of `input` by one of the rules.
#[derive(Debug, Clone)]
pub(crate) struct OwnCast {
    input: Arc<dyn PhysicalExpr>,
    to: DataType,
    rule: Rule,
}

/// How a cast goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Rule {
    /// By way of text.
    Text,
    /// Between dates, local times and instants.
    Moment,
    /// From decimals to floating point numbers.
    Float,
}

impl OwnCast {
    /// The cast of `input`, of type `from`, if a rule is about it.
    pub fn of(input: &Arc<dyn PhysicalExpr>, from: &DataType, to: &DataType) -> Option<OwnCast> {
        let rule = match () {
            () if text::applies(from, to) => Rule::Text,
            () if floats::applies(from, to) => Rule::Float,
            () if moments::is_of_moments(from, to) => Rule::Moment,
            () => return None,
        };
        Some(OwnCast { input: Arc::clone(input), to: to.clone(), rule })
    }
}

impl PartialEq for OwnCast {
    fn eq(&self, other: &OwnCast) -> bool {
        self.rule == other.rule && self.to == other.to && self.input.eq(&other.input)
    }
}

impl Eq for OwnCast {}

impl Hash for OwnCast {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
        self.to.hash(state);
        self.rule.hash(state);
    }
}

impl fmt::Display for OwnCast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.input.fmt(f)
    }
}

impl PhysicalExpr for OwnCast {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.input.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let array = self.input.evaluate(batch)?.into_array(batch.num_rows())?;
        let cast = match self.rule {
            Rule::Text => text::cast_text(&array, &self.to)?,
            Rule::Float => floats::cast_decimals(&array, &self.to)?,
            Rule::Moment => moments::cast_moments(&array, &self.to)?,
        };
        Ok(ColumnarValue::Array(cast))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(OwnCast { input, to: self.to.clone(), rule: self.rule })),
            None => Err(DataFusionError::Internal("a cast has one operand".into())),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.input.fmt_sql(f)
    }
}
