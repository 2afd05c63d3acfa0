//! Comparisons of values that the library compares by their bits or in another order: intervals,
//! arrays, floats in lists.

use std::cmp::Ordering;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Datum, RecordBatch, Scalar};
use arrow_ord::cmp;
use arrow_schema::{DataType, Schema};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, CaseExpr, InListExpr, Literal};
use types::equality::{canonical, canonical_type, has_lookalikes};

use crate::functions::order::comparator;

type Node = Arc<dyn PhysicalExpr>;

/// The expression in place of one that compares such values; `None` where it does not.
pub(super) fn compared(node: &Node, schema: &Schema) -> Result<Option<Node>> {
    let part = node.as_ref() as &dyn std::any::Any;
    if let Some(binary) = part.downcast_ref::<BinaryExpr>() {
        let sides = [binary.left().data_type(schema)?, binary.right().data_type(schema)?];
        let is_ours = is_comparison(*binary.op()) && are_ours(&sides);
        return Ok(is_ours.then(|| {
            let (left, right) = (Arc::clone(binary.left()), Arc::clone(binary.right()));
            Arc::new(Compared { left, op: *binary.op(), right }) as Node
        }));
    }
    if let Some(list) = part.downcast_ref::<InListExpr>()
        && has_lookalikes(&list.expr().data_type(schema)?)
    {
        let items = list.list().iter().map(|item| formed(item, schema)).collect::<Result<_>>()?;
        let value = formed(list.expr(), schema)?;
        return Ok(Some(Arc::new(InListExpr::try_new(value, items, list.negated(), schema)?)));
    }
    if let Some(case) = part.downcast_ref::<CaseExpr>()
        && let Some(subject) = case.expr()
        && has_lookalikes(&subject.data_type(schema)?)
    {
        let pairs = case.when_then_expr().iter();
        let pairs = pairs.map(|(when, then)| Ok((formed(when, schema)?, Arc::clone(then))));
        let pairs = pairs.collect::<Result<Vec<_>>>()?;
        let subject = Some(formed(subject, schema)?);
        return Ok(Some(Arc::new(CaseExpr::try_new(subject, pairs, case.else_expr().cloned())?)));
    }
    Ok(None)
}

/// The sides and the operator of such an expression.
pub(super) fn sides(node: &Node) -> Option<(&Node, Operator, &Node)> {
    let compared = (node.as_ref() as &dyn std::any::Any).downcast_ref::<Compared>()?;
    Some((&compared.left, compared.op, &compared.right))
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn are_ours([left, right]: &[DataType; 2]) -> bool {
    match (left, right) {
        (DataType::List(l), DataType::List(r)) => l.data_type() == r.data_type(),
        _ => left == right && has_lookalikes(left),
    }
}

/// The form of a value that equal values share; of a constant at once.
fn formed(value: &Node, schema: &Schema) -> Result<Node> {
    let literal = (value.as_ref() as &dyn std::any::Any).downcast_ref::<Literal>();
    if let Some(literal) = literal {
        let form = canonical(&literal.value().to_array()?);
        return Ok(Arc::new(Literal::new(ScalarValue::try_from_array(&form, 0)?)));
    }
    match has_lookalikes(&value.data_type(schema)?) {
        true => Ok(Arc::new(Form { value: Arc::clone(value) })),
        false => Ok(Arc::clone(value)),
    }
}

/// The form of a value that equal values share.
// A derived equality would move out of the shared parts; it compares what is hashed.
#[allow(clippy::derived_hash_with_manual_eq)]
#[derive(Debug, Eq, Hash)]
struct Form {
    value: Node,
}

impl PartialEq for Form {
    fn eq(&self, other: &Form) -> bool {
        self.value.eq(&other.value)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl PhysicalExpr for Form {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        Ok(canonical_type(&self.value.data_type(schema)?))
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.value.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let values = self.value.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(canonical(&values)))
    }

    fn children(&self) -> Vec<&Node> {
        vec![&self.value]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Node>) -> Result<Node> {
        match children.pop() {
            Some(value) => Ok(Arc::new(Form { value })),
            None => Err(DataFusionError::Internal("a form is that of a value".into())),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt_sql(f)
    }
}

/// A comparison by PostgreSQL's order.
// A derived equality would move out of the shared parts; it compares what is hashed.
#[allow(clippy::derived_hash_with_manual_eq)]
#[derive(Debug, Eq, Hash)]
struct Compared {
    left: Node,
    op: Operator,
    right: Node,
}

impl PartialEq for Compared {
    fn eq(&self, other: &Compared) -> bool {
        self.op == other.op && self.left.eq(&other.left) && self.right.eq(&other.right)
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, self.op, self.right)
    }
}

impl Compared {
    /// Of values in the form that equal ones share.
    fn at_once(&self, left: &dyn Datum, right: &dyn Datum) -> Result<BooleanArray> {
        Ok(match self.op {
            Operator::Eq => cmp::eq(left, right),
            Operator::Lt => cmp::lt(left, right),
            Operator::LtEq => cmp::lt_eq(left, right),
            Operator::Gt => cmp::gt(left, right),
            Operator::GtEq => cmp::gt_eq(left, right),
            Operator::IsDistinctFrom => cmp::distinct(left, right),
            Operator::IsNotDistinctFrom => cmp::not_distinct(left, right),
            _ => cmp::neq(left, right),
        }?)
    }

    fn one_by_one(&self, left: &ArrayRef, right: &ArrayRef) -> Result<BooleanArray> {
        let compare =
            comparator(left, right).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let row = |row: usize| {
            let is_known = self.knows_nulls() || left.is_valid(row) && right.is_valid(row);
            is_known.then(|| self.holds(compare(row, row)))
        };
        Ok((0..left.len()).map(row).collect())
    }

    /// True if it is true or false of nulls, too.
    fn knows_nulls(&self) -> bool {
        matches!(self.op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
    }

    fn holds(&self, order: Ordering) -> bool {
        match self.op {
            Operator::Eq | Operator::IsNotDistinctFrom => order.is_eq(),
            Operator::Lt => order.is_lt(),
            Operator::LtEq => order.is_le(),
            Operator::Gt => order.is_gt(),
            Operator::GtEq => order.is_ge(),
            _ => order.is_ne(),
        }
    }
}

impl PhysicalExpr for Compared {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        Ok(!self.knows_nulls() && (self.left.nullable(schema)? || self.right.nullable(schema)?))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let sides = [self.left.evaluate(batch)?, self.right.evaluate(batch)?];
        let truths = match &sides {
            _ if sides.iter().any(|side| side.data_type().is_nested()) => {
                let [left, right] = sides.map(|side| side.into_array(rows));
                self.one_by_one(&left?, &right?)?
            }
            [ColumnarValue::Array(left), ColumnarValue::Scalar(right)] => {
                let right = Scalar::new(canonical(&right.to_array()?));
                self.at_once(&canonical(left), &right)?
            }
            [ColumnarValue::Scalar(left), ColumnarValue::Array(right)] => {
                let left = Scalar::new(canonical(&left.to_array()?));
                self.at_once(&left, &canonical(right))?
            }
            _ => {
                let [left, right] = sides.map(|side| side.into_array(rows));
                self.at_once(&canonical(&left?), &canonical(&right?))?
            }
        };
        Ok(ColumnarValue::Array(Arc::new(truths)))
    }

    fn children(&self) -> Vec<&Node> {
        vec![&self.left, &self.right]
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Node>) -> Result<Node> {
        match (children.pop(), children.pop()) {
            (Some(right), Some(left)) => Ok(Arc::new(Compared { left, op: self.op, right })),
            _ => Err(DataFusionError::Internal("a comparison has two sides".into())),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.left.fmt_sql(f)?;
        write!(f, " {} ", self.op)?;
        self.right.fmt_sql(f)
    }
}
