//! `||` of two texts, which counts what it makes as it makes it: the library makes the texts of all
//! rows before anybody can say that they are too many.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Schema};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::BinaryExpr;
use plan::limits::Counted;
use types::SqlError;

use crate::functions::scalar::padding::with_room;

/// The operator with its sides.
#[derive(Debug)]
pub(super) struct Concatenated {
    sides: [Arc<dyn PhysicalExpr>; 2],
}

impl Concatenated {
    /// The texts that it puts together.
    pub(super) fn sides(&self) -> &[Arc<dyn PhysicalExpr>; 2] {
        &self.sides
    }

    /// The same as the library's expression, if that is such an operator.
    pub(super) fn of(
        expr: &Arc<dyn PhysicalExpr>,
        schema: &Schema,
    ) -> Result<Option<Concatenated>> {
        let any = expr.as_ref() as &dyn std::any::Any;
        let Some(binary) = any.downcast_ref::<BinaryExpr>() else { return Ok(None) };
        let sides = [binary.left(), binary.right()].map(Arc::clone);
        for side in &sides {
            if side.data_type(schema)? != DataType::Utf8View {
                return Ok(None);
            }
        }
        Ok((*binary.op() == Operator::StringConcat).then_some(Concatenated { sides }))
    }
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The texts of a side.
enum Texts {
    Each(StringViewArray),
    Same(Option<String>),
}

impl Texts {
    fn of(value: ColumnarValue) -> Result<Texts> {
        let text = match value.cast_to(&DataType::Utf8View, None)? {
            ColumnarValue::Array(array) => return Ok(Texts::Each(array.as_string_view().clone())),
            ColumnarValue::Scalar(text) => text,
        };
        Ok(Texts::Same(text.try_as_str().flatten().map(str::to_owned)))
    }

    fn at(&self, row: usize) -> Option<&str> {
        match self {
            Texts::Each(texts) => texts.is_valid(row).then(|| texts.value(row)),
            Texts::Same(text) => text.as_deref(),
        }
    }
}

impl PartialEq for Concatenated {
    fn eq(&self, other: &Concatenated) -> bool {
        self.sides == other.sides
    }
}

impl Eq for Concatenated {}

impl Hash for Concatenated {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sides.hash(state);
    }
}

impl fmt::Display for Concatenated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} || {}", self.sides[0], self.sides[1])
    }
}

impl PhysicalExpr for Concatenated {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        Ok(self.sides[0].nullable(schema)? || self.sides[1].nullable(schema)?)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let [left, right] = &self.sides;
        let left = Texts::of(left.evaluate(batch)?)?;
        let right = Texts::of(right.evaluate(batch)?)?;
        let is_same = matches!((&left, &right), (Texts::Same(_), Texts::Same(_)));
        let row_count = if is_same { 1 } else { batch.num_rows() };
        let (counted, mut both) = (Counted::default(), String::new());
        let mut texts = StringViewBuilder::with_capacity(row_count);
        for row in 0..row_count {
            let (Some(left), Some(right)) = (left.at(row), right.at(row)) else {
                texts.append_null();
                continue;
            };
            let bytes = left.len() + right.len();
            with_room(bytes).and_then(|()| counted.add(bytes)).map_err(external)?;
            both.clear();
            both.push_str(left);
            both.push_str(right);
            texts.try_append_value(&both)?;
        }
        let texts = texts.finish();
        Ok(match is_same {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?),
            false => ColumnarValue::Array(Arc::new(texts)),
        })
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.sides.iter().collect()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let sides = <[_; 2]>::try_from(children);
        let wrong = |_| DataFusionError::Internal("|| has two sides".to_owned());
        Ok(Arc::new(Concatenated { sides: sides.map_err(wrong)? }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sides[0].fmt_sql(f)?;
        write!(f, " || ")?;
        self.sides[1].fmt_sql(f)
    }
}
