//! `LIKE` and `ILIKE` of texts.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Schema};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{LikeExpr, Literal};

use crate::functions::like::Pattern;

/// True of texts that are like a pattern, or are not.
#[derive(Clone)]
pub(crate) struct Liked {
    like: Arc<LikeExpr>,
    /// The pattern, if it is a constant.
    pattern: Option<Arc<Pattern>>,
}

impl Liked {
    pub(crate) fn of(like: &LikeExpr) -> Liked {
        let constant = like.pattern().as_ref() as &dyn std::any::Any;
        let text = constant.downcast_ref::<Literal>().and_then(|literal| text_of(literal.value()));
        let pattern = text.map(|text| Arc::new(Pattern::new(text, like.case_insensitive())));
        let (expr, of) = (Arc::clone(like.expr()), Arc::clone(like.pattern()));
        let like = LikeExpr::new(like.negated(), like.case_insensitive(), expr, of);
        Liked { like: Arc::new(like), pattern }
    }

    /// The library's expression, from which it was made.
    pub(crate) fn like(&self) -> &LikeExpr {
        &self.like
    }

    fn matches(&self, texts: &ArrayRef, batch: &RecordBatch) -> Result<BooleanArray> {
        let texts = texts.as_string_view();
        if let Some(pattern) = &self.pattern {
            return self.each(texts.iter().map(|text| Some((text?, pattern.as_ref()))));
        }
        let patterns = as_texts(self.like.pattern().evaluate(batch)?, batch.num_rows())?;
        let mut last: Option<(&str, Arc<Pattern>)> = None;
        let ignores_case = self.like.case_insensitive();
        self.each(texts.iter().zip(patterns.as_string_view()).map(|(text, pattern)| {
            let (text, pattern) = (text?, pattern?);
            // Neighbours often have the same one.
            let known = last.take().filter(|(known, _)| *known == pattern);
            let made = || (pattern, Arc::new(Pattern::new(pattern, ignores_case)));
            let (_, made) = last.insert(known.unwrap_or_else(made));
            Some((text, Arc::clone(made)))
        }))
    }

    /// For each text whether it is like its pattern; null where one of them is.
    fn each<'a, P: Deref<Target = Pattern>>(
        &self,
        pairs: impl Iterator<Item = Option<(&'a str, P)>>,
    ) -> Result<BooleanArray> {
        let matched = pairs.map(|pair| {
            let Some((text, pattern)) = pair else { return Ok(None) };
            let matched = pattern.matches(text).map_err(|e| DataFusionError::External(e.into()))?;
            Ok(Some(matched != self.like.negated()))
        });
        matched.collect()
    }
}

fn as_texts(value: ColumnarValue, rows: usize) -> Result<ArrayRef> {
    let array = value.into_array(rows)?;
    match array.data_type() {
        DataType::Utf8View => Ok(array),
        _ => Ok(arrow_cast::cast(&array, &DataType::Utf8View)?),
    }
}

fn text_of(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}

impl fmt::Debug for Liked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.like.as_ref().fmt(f)
    }
}

impl PartialEq for Liked {
    fn eq(&self, other: &Liked) -> bool {
        self.like == other.like
    }
}

impl Eq for Liked {}

impl Hash for Liked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.like.hash(state);
    }
}

impl fmt::Display for Liked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.like, f)
    }
}

impl PhysicalExpr for Liked {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.like.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let texts = as_texts(self.like.expr().evaluate(batch)?, batch.num_rows())?;
        Ok(ColumnarValue::Array(Arc::new(self.matches(&texts, batch)?)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.like.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let (Some(pattern), Some(expr)) = (children.pop(), children.pop()) else {
            return Err(DataFusionError::Internal("LIKE has two operands".into()));
        };
        let like = LikeExpr::new(self.like.negated(), self.like.case_insensitive(), expr, pattern);
        Ok(Arc::new(Liked::of(&like)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.like.fmt_sql(f)
    }
}
