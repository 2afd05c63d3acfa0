//! Casts from and to text, by the rules that also read and print columns.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Schema};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use types::numeric::{FREE, QUOTIENT_SCALE};
use types::parse::ColumnParser;
use types::text::format_value;
use types::{Column, LogicalType};

/// A cast of which one side is text, or one to a number without a precision whose digits are those
/// that are printed.
#[derive(Debug, Clone)]
pub(super) struct TextCast {
    input: Arc<dyn PhysicalExpr>,
    to: DataType,
}

impl TextCast {
    /// The cast of `input`, of type `from`, if this is one from or to text.
    pub fn of(input: &Arc<dyn PhysicalExpr>, from: &DataType, to: &DataType) -> Option<TextCast> {
        let is_text = |ty: &DataType| ty.is_string();
        let applies = if is_text(from) {
            !is_text(to) && LogicalType::of_arrow(to).is_some()
        } else {
            is_text(to) && LogicalType::of_arrow(from).is_some() || settles(from, to)
        };
        applies.then(|| TextCast { input: Arc::clone(input), to: to.clone() })
    }
}

/// Whether numbers of type `from` become ones without a precision by way of their text.
fn settles(from: &DataType, to: &DataType) -> bool {
    let quotient = |ty: &DataType| matches!(ty, DataType::Decimal256(_, QUOTIENT_SCALE..));
    *to == FREE && *from != FREE && (quotient(from) || from.is_floating())
}

/// Values of any type as text, or text as values of type `to`.
pub(crate) fn cast_text(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if to.is_string() {
        return Ok(arrow_cast::cast(&to_text(array), to)?);
    }
    let text = match array.data_type() {
        ty if ty.is_string() => arrow_cast::cast(array, &DataType::Utf8View)?,
        DataType::Float32 => significant(array, 6)?,
        DataType::Float64 => significant(array, 15)?,
        _ => to_text(array),
    };
    from_text(text.as_string_view(), to)
}

/// Floats in text with so many digits, as many as they are sure to have.
fn significant(array: &ArrayRef, digits: usize) -> Result<ArrayRef> {
    let floats = arrow_cast::cast(array, &DataType::Float64)?;
    let text = |v: f64| match v.is_finite() {
        true => format!("{v:.places$e}", places = digits - 1),
        false => v.to_string(),
    };
    let floats = floats.as_primitive::<Float64Type>().iter().map(|v| v.map(text));
    Ok(Arc::new(floats.collect::<StringViewArray>()))
}

fn to_text(array: &ArrayRef) -> ArrayRef {
    let boolean = array.data_type() == &DataType::Boolean;
    let text = |row: usize| -> Option<String> {
        let text = format_value(array.as_ref(), row)?;
        // A boolean prints as t and f, but as text it is a word.
        Some(match text.as_str() {
            "t" if boolean => "true".to_owned(),
            "f" if boolean => "false".to_owned(),
            _ => text,
        })
    };
    Arc::new((0..array.len()).map(text).collect::<StringViewArray>())
}

fn from_text(text: &StringViewArray, to: &DataType) -> Result<ArrayRef> {
    let Some(ty) = LogicalType::of_arrow(to) else {
        return Err(DataFusionError::NotImplemented(format!("a cast of text to {to}")));
    };
    let mut parser = ColumnParser::new(&Column { name: String::new(), ty, nullable: true });
    for value in text {
        parser.push(value).map_err(|e| DataFusionError::External(Box::new(e)))?;
    }
    let parsed = parser.finish();
    if parsed.data_type() == to { Ok(parsed) } else { Ok(arrow_cast::cast(&parsed, to)?) }
}

impl PartialEq for TextCast {
    fn eq(&self, other: &TextCast) -> bool {
        self.to == other.to && self.input.eq(&other.input)
    }
}

impl Eq for TextCast {}

impl Hash for TextCast {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
        self.to.hash(state);
    }
}

impl fmt::Display for TextCast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.input.fmt(f)
    }
}

impl PhysicalExpr for TextCast {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.input.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let array = self.input.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(cast_text(&array, &self.to)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(TextCast { input, to: self.to.clone() })),
            None => Err(DataFusionError::Internal("a cast has one operand".into())),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.input.fmt_sql(f)
    }
}
