//! `AND` and `OR` whose right side can fail: it is computed only for the rows that the left side
//! has not decided.
//!
//! SQL leaves the order free, but PostgreSQL computes conditions one after the other, and
//! applications rely on it: `kind = 'num' AND val::int > 10`. What can fail here are divisions,
//! casts of texts and of numbers to smaller ones, and functions; sums and products, which fail by
//! overflow alone, are computed for all rows, as the programs of `ir` do.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Schema};
use arrow_select::filter::filter_record_batch;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr, Column};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use crate::cast::own::OwnCast;
use crate::expr::exact;
use crate::walk::nodes::Nodes;

/// Functions that take every value of their types.
const NEVER_FAIL: [&str; 14] = [
    "btrim",
    "character_length",
    "coalesce",
    "concat",
    "date_part",
    "isnan",
    "length",
    "lower",
    "ltrim",
    "octet_length",
    "rtrim",
    "starts_with",
    "strpos",
    "upper",
];

/// `expr` with such parts computed in order.
pub(super) fn keep(expr: Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    expr.transform_up(|node| {
        let Some(binary) = downcast::<BinaryExpr>(&node) else { return Ok(Transformed::no(node)) };
        let is_logical = matches!(binary.op(), Operator::And | Operator::Or);
        if !is_logical || !may_fail(binary.right(), schema) {
            return Ok(Transformed::no(node));
        }
        Ok(Transformed::yes(Arc::new(Ordered::new(binary)?) as _))
    })
    .data()
}

fn downcast<T: PhysicalExpr>(expr: &Arc<dyn PhysicalExpr>) -> Option<&T> {
    (expr.as_ref() as &dyn std::any::Any).downcast_ref::<T>()
}

fn may_fail(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let itself = match () {
        () if exact::divides(expr) || downcast::<OwnCast>(expr).is_some() => true,
        () => {
            let cast = downcast::<CastExpr>(expr);
            let function = downcast::<ScalarFunctionExpr>(expr);
            cast.is_some_and(|cast| loses(cast, schema))
                || function.is_some_and(|call| !NEVER_FAIL.contains(&call.name()))
        }
    };
    itself || expr.children().into_iter().any(|child| may_fail(child, schema))
}

/// True if a cast has values that it cannot take.
fn loses(cast: &CastExpr, schema: &Schema) -> bool {
    let Ok(from) = cast.expr().data_type(schema) else { return true };
    let to = cast.cast_type();
    match from {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            !matches!(to, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        }
        _ => to.is_integer() && from.is_numeric() && from.primitive_width() > to.primitive_width(),
    }
}

/// `AND` or `OR`, the right side over the columns that it reads alone.
#[derive(Debug, Clone)]
struct Ordered {
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    op: Operator,
    /// The columns that the right side reads, by their places in the batch.
    columns: Vec<usize>,
    /// The right side over these.
    apart: Arc<dyn PhysicalExpr>,
}

impl Ordered {
    fn new(binary: &BinaryExpr) -> Result<Ordered> {
        let (left, right) = (Arc::clone(binary.left()), Arc::clone(binary.right()));
        Ordered::of(left, *binary.op(), right)
    }

    fn of(
        left: Arc<dyn PhysicalExpr>,
        op: Operator,
        right: Arc<dyn PhysicalExpr>,
    ) -> Result<Ordered> {
        let mut columns = vec![];
        read_by(&right, &mut columns);
        let apart = Arc::clone(&right).transform_up(|node| {
            let Some(column) = downcast::<Column>(&node) else { return Ok(Transformed::no(node)) };
            let place = columns.iter().position(|at| *at == column.index()).unwrap_or_default();
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as _))
        });
        let apart = apart.data()?;
        Ok(Ordered { left, right, op, columns, apart })
    }

    /// True if a row whose left side is this needs no right side.
    fn decides(&self) -> bool {
        self.op == Operator::Or
    }
}

fn read_by(expr: &Arc<dyn PhysicalExpr>, columns: &mut Vec<usize>) {
    if let Some(column) = downcast::<Column>(expr)
        && !columns.contains(&column.index())
    {
        columns.push(column.index());
    }
    expr.children().into_iter().for_each(|child| read_by(child, columns));
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.op == other.op && self.left.eq(&other.left) && self.right.eq(&other.right)
    }
}

impl Eq for Ordered {}

impl Hash for Ordered {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.op.hash(state);
        self.left.hash(state);
        self.right.hash(state);
    }
}

impl fmt::Display for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, self.op, self.right)
    }
}

impl PhysicalExpr for Ordered {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        Ok(self.left.nullable(schema)? || self.right.nullable(schema)?)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let left = truths(self.left.evaluate(batch)?, rows)?;
        let (left, decides) = (left.as_boolean(), self.decides());
        let is_open = |row: usize| left.is_null(row) || left.value(row) != decides;
        let open: BooleanArray = (0..rows).map(|row| Some(is_open(row))).collect();
        let count = open.true_count();
        if count == 0 {
            return Ok(ColumnarValue::Array(Arc::new(left.clone())));
        }
        let read = batch.project(&self.columns)?;
        let read = if count == rows { read } else { filter_record_batch(&read, &open)? };
        let right = truths(self.apart.evaluate(&read)?, count)?;
        let right = right.as_boolean();
        let mut place = 0;
        let result: BooleanArray = (0..rows)
            .map(|row| {
                if !is_open(row) {
                    return Some(decides);
                }
                let at = place;
                place += 1;
                match (left.is_null(row), right.is_valid(at).then(|| right.value(at))) {
                    (_, Some(found)) if found == decides => Some(decides),
                    (false, found) => found,
                    (true, _) => None,
                }
            })
            .collect();
        Ok(ColumnarValue::Array(Arc::new(result)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.left, &self.right]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let (right, left) = (children.pop(), children.pop());
        let (Some(left), Some(right)) = (left, right) else {
            return Err(DataFusionError::Internal("an operator has two operands".into()));
        };
        Ok(Arc::new(Ordered::of(left, self.op, right)?))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The rows of a condition; that of nulls alone may have no type.
fn truths(value: ColumnarValue, rows: usize) -> Result<ArrayRef> {
    let array = value.into_array(rows)?;
    match array.data_type() {
        DataType::Boolean => Ok(array),
        _ => Ok(arrow_cast::cast(&array, &DataType::Boolean)?),
    }
}
