//! Arithmetic as SQL wants it: overflow and division by zero are errors, decimal quotients and
//! casts to integers are rounded instead of cut off.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, Decimal128Array, PrimitiveArray,
    RecordBatch,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Schema};
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::expressions::{
    BinaryExpr, CastExpr, InListExpr, LikeExpr, Literal, NegativeExpr,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use types::{SqlError, SqlState};

use crate::cast::own::OwnCast;
use crate::cast::strict::STRICT_CAST;
use crate::expr::any_of::AnyOf;
use crate::expr::compared::compared;
use crate::expr::elements::CastElements;
use crate::expr::liked::Liked;
use crate::expr::listed::Listed;
use crate::walk::nodes::Nodes;

/// Replaces the parts of `expr` that would wrap around, cut off, or divide by zero silently.
pub(super) fn harden(
    expr: Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Result<Arc<dyn PhysicalExpr>> {
    expr.transform_up(|node| {
        if let Some(compared) = compared(&node, schema)? {
            return Ok(Transformed::yes(compared));
        }
        if let Some(binary) = downcast::<BinaryExpr>(&node) {
            let exact = harden_binary(binary, schema)?;
            return Ok(exact.map_or(Transformed::no(node), Transformed::yes));
        }
        if let Some(like) = downcast::<LikeExpr>(&node)
            && like.expr().data_type(schema)?.is_string()
        {
            return Ok(Transformed::yes(Arc::new(Liked::of(like)) as _));
        }
        if let Some(list) = downcast::<InListExpr>(&node) {
            let listed = Listed::of(list);
            return Ok(listed.map_or(Transformed::no(node), |l| Transformed::yes(Arc::new(l) as _)));
        }
        if let Some(call) = downcast::<ScalarFunctionExpr>(&node)
            && let Some(any) = AnyOf::of(call, schema)?
        {
            return Ok(Transformed::yes(Arc::new(any) as _));
        }
        if let Some(negative) = downcast::<NegativeExpr>(&node) {
            let arg = Arc::clone(negative.arg());
            let ty = arg.data_type(schema)?;
            if !ty.is_integer() {
                return Ok(Transformed::no(node));
            }
            let zero = Arc::new(Literal::new(ScalarValue::new_zero(&ty)?));
            let strict = BinaryExpr::new(zero, Operator::Minus, arg).with_fail_on_overflow(true);
            return Ok(Transformed::yes(Arc::new(strict) as _));
        }
        if let Some(cast) = downcast::<CastExpr>(&node)
            && let Some(own) =
                OwnCast::of(cast.expr(), &cast.expr().data_type(schema)?, cast.cast_type())
        {
            return Ok(Transformed::yes(Arc::new(own) as _));
        }
        if let Some(cast) = downcast::<CastExpr>(&node)
            && let Some(each) = CastElements::of(cast, schema)?
        {
            return Ok(Transformed::yes(Arc::new(each) as _));
        }
        if let Some(cast) = downcast::<CastExpr>(&node)
            && rounds(&cast.expr().data_type(schema)?, cast.cast_type())
        {
            let input = Arc::clone(cast.expr());
            return Ok(Transformed::yes(Arc::new(Round { input, cast: node }) as _));
        }
        Ok(Transformed::no(node))
    })
    .data()
}

fn downcast<T: PhysicalExpr>(expr: &Arc<dyn PhysicalExpr>) -> Option<&T> {
    (expr.as_ref() as &dyn std::any::Any).downcast_ref::<T>()
}

fn harden_binary(binary: &BinaryExpr, schema: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let (left, right) = (binary.left().clone(), binary.right().clone());
    let strict = |op| BinaryExpr::new(left.clone(), op, right.clone()).with_fail_on_overflow(true);
    Ok(match binary.op() {
        op @ (Operator::Plus | Operator::Minus | Operator::Multiply) => {
            let inner = Arc::new(strict(*op));
            Some(match binary.data_type(schema)? {
                ty @ (DataType::Float32 | DataType::Float64) => Arc::new(Guarded { inner, ty }),
                _ => inner,
            })
        }
        op @ (Operator::Divide | Operator::Modulo) => {
            let ty = binary.data_type(schema)?;
            let exact = matches!(ty, DataType::Float32 | DataType::Float64)
                || (*op == Operator::Divide && matches!(ty, DataType::Decimal128(..)));
            exact.then(|| Arc::new(Guarded { inner: Arc::new(strict(*op)), ty }) as _)
        }
        _ => None,
    })
}

/// True if an expression is a division, which fails for zero.
pub(super) fn divides(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let is_division = |op: &Operator| matches!(op, Operator::Divide | Operator::Modulo);
    let plain = downcast::<BinaryExpr>(expr).map(BinaryExpr::op);
    let guarded = downcast::<Guarded>(expr).map(|guarded| guarded.inner.op());
    plain.or(guarded).is_some_and(is_division)
}

/// The operation, if an expression is one on floats of 64 bits.
pub(super) fn of_floats(expr: &Arc<dyn PhysicalExpr>) -> Option<&BinaryExpr> {
    let guarded = downcast::<Guarded>(expr)?;
    (guarded.ty == DataType::Float64).then_some(guarded.inner.as_ref())
}

/// Whether a cast loses digits after the point that the library would cut off.
fn rounds(from: &DataType, to: &DataType) -> bool {
    let inexact = match from {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale > 0,
        other => other.is_floating(),
    };
    inexact && to.is_integer()
}

/// A division of decimals, or arithmetic of floats: what divides by zero, and what is too large or too
/// small for a float, is an error.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Guarded {
    inner: Arc<BinaryExpr>,
    ty: DataType,
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PhysicalExpr for Guarded {
    fn data_type(&self, _schema: &Schema) -> Result<DataType> {
        Ok(self.ty.clone())
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let left = self.inner.left().evaluate(batch)?.into_array(rows)?;
        let right = self.inner.right().evaluate(batch)?.into_array(rows)?;
        match &self.ty {
            DataType::Decimal128(precision, scale) => {
                let quotient = divide_decimals(&left, &right, *precision, *scale)?;
                Ok(ColumnarValue::Array(Arc::new(quotient)))
            }
            DataType::Float32 => self.floats::<Float32Type>(&left, &right),
            _ => self.floats::<Float64Type>(&left, &right),
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.inner.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let (right, left) = (children.pop(), children.pop());
        let (Some(left), Some(right)) = (left, right) else {
            return Err(DataFusionError::Internal("an operator has two operands".into()));
        };
        let inner = BinaryExpr::new(left, *self.inner.op(), right).with_fail_on_overflow(true);
        Ok(Arc::new(Guarded { inner: Arc::new(inner), ty: self.ty.clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

impl Guarded {
    /// The result for each row of two arrays of floats.
    fn floats<T: ArrowPrimitiveType>(
        &self,
        left: &ArrayRef,
        right: &ArrayRef,
    ) -> Result<ColumnarValue>
    where
        T::Native: Into<f64> + From<f32>,
    {
        let (left, right) = (left.as_primitive::<T>(), right.as_primitive::<T>());
        let nulls = NullBuffer::union(left.nulls(), right.nulls());
        let op = *self.inner.op();
        let mut values = Vec::with_capacity(left.len());
        for (row, (l, r)) in left.values().iter().zip(right.values()).enumerate() {
            let value = match op {
                Operator::Plus => l.add_wrapping(*r),
                Operator::Minus => l.sub_wrapping(*r),
                Operator::Multiply => l.mul_wrapping(*r),
                Operator::Divide => l.div_wrapping(*r),
                _ => l.mod_wrapping(*r),
            };
            let float: f64 = value.into();
            if !float.is_finite() || float == 0.0 {
                let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                if !is_null {
                    check_float(op, (*l).into(), (*r).into(), float)?;
                }
            }
            // Hardware makes a NaN with a sign of infinities.
            values.push(if float.is_nan() { T::Native::from(f32::NAN) } else { value });
        }
        let array = PrimitiveArray::<T>::new(values.into(), nulls);
        Ok(ColumnarValue::Array(Arc::new(array)))
    }
}

/// Checks a result that is zero or not finite. PostgreSQL refuses to divide by zero, where IEEE gives
/// infinity, and results that are infinite or zero only because a float holds no more.
fn check_float(op: Operator, left: f64, right: f64, result: f64) -> Result<()> {
    let refused = |what: &str| {
        let state = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
        let error = SqlError::new(state, format!("value out of range: {what}"));
        Err(DataFusionError::External(Box::new(error)))
    };
    if matches!(op, Operator::Divide | Operator::Modulo) && right == 0.0 && !left.is_nan() {
        return Err(ArrowError::DivideByZero.into());
    }
    if result.is_infinite() && left.is_finite() && right.is_finite() {
        return refused("overflow");
    }
    let lost = match op {
        Operator::Multiply => left != 0.0 && right != 0.0,
        Operator::Divide => left != 0.0 && right.is_finite(),
        _ => false,
    };
    if result == 0.0 && lost { refused("underflow") } else { Ok(()) }
}

fn divide_decimals(
    left: &ArrayRef,
    right: &ArrayRef,
    precision: u8,
    scale: i8,
) -> Result<Decimal128Array> {
    let (l, r) = (left.as_primitive::<Decimal128Type>(), right.as_primitive::<Decimal128Type>());
    // quotient * 10^scale = (l * 10^-ls) / (r * 10^-rs) * 10^scale
    let shift = i32::from(scale) - i32::from(l.scale()) + i32::from(r.scale());
    let quotients = (0..l.len()).map(|i| {
        if l.is_null(i) || r.is_null(i) {
            return Ok(None);
        }
        let value = divide_rounded(l.value(i), r.value(i), shift)?;
        Ok(Some(within(value, precision)?))
    });
    let array: Decimal128Array = quotients.collect::<Result<_>>()?;
    Ok(array.with_precision_and_scale(precision, scale)?)
}

/// An error when `value` has more than `precision` digits.
pub(super) fn within(value: i128, precision: u8) -> Result<i128> {
    let fits = value.unsigned_abs() < 10u128.pow(u32::from(precision));
    if fits { Ok(value) } else { Err(overflow()) }
}

fn overflow() -> DataFusionError {
    ArrowError::ArithmeticOverflow("numeric field overflow".into()).into()
}

/// `left / right * 10^shift`, rounded half away from zero.
pub(super) fn divide_rounded(left: i128, right: i128, shift: i32) -> Result<i128> {
    if right == 0 {
        return Err(ArrowError::DivideByZero.into());
    }
    if shift < 0 {
        let factor = 10i128.checked_pow(shift.unsigned_abs()).ok_or_else(overflow)?;
        return Ok(round_quotient(left, right.checked_mul(factor).ok_or_else(overflow)?));
    }
    // A digit at a time, as by hand: the scaled dividend itself may not fit.
    let (mut quotient, mut rest) = (left / right, left % right);
    for _ in 0..shift {
        let next = rest.checked_mul(10).ok_or_else(overflow)?;
        quotient = quotient
            .checked_mul(10)
            .and_then(|q| q.checked_add(next / right))
            .ok_or_else(overflow)?;
        rest = next % right;
    }
    quotient.checked_add(rounding(rest, right)).ok_or_else(overflow)
}

fn round_quotient(left: i128, right: i128) -> i128 {
    left / right + rounding(left % right, right)
}

/// What rounding half away from zero adds to a quotient with this rest.
fn rounding(rest: i128, divisor: i128) -> i128 {
    let up = rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
    if up && rest != 0 { if (rest < 0) == (divisor < 0) { 1 } else { -1 } } else { 0 }
}

/// A cast to an integer of the rounded value.
#[derive(Debug)]
struct Round {
    input: Arc<dyn PhysicalExpr>,
    cast: Arc<dyn PhysicalExpr>,
}

impl PartialEq for Round {
    fn eq(&self, other: &Round) -> bool {
        self.cast.eq(&other.cast)
    }
}

impl Eq for Round {}

impl Hash for Round {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.cast.hash(state);
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cast.fmt(f)
    }
}

impl PhysicalExpr for Round {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.cast.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.cast.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let array = self.input.evaluate(batch)?.into_array(batch.num_rows())?;
        let to = self.cast.data_type(&batch.schema())?;
        let rounded: ArrayRef = match array.data_type() {
            DataType::Decimal128(precision, _) => {
                let whole = DataType::Decimal128(*precision, 0);
                arrow_cast::cast_with_options(&array, &whole, &STRICT_CAST)?
            }
            DataType::Decimal256(precision, _) => {
                let whole = DataType::Decimal256(*precision, 0);
                arrow_cast::cast_with_options(&array, &whole, &STRICT_CAST)?
            }
            DataType::Float32 => {
                let rounded = array.as_primitive::<Float32Type>();
                Arc::new(rounded.unary::<_, Float32Type>(f32::round_ties_even))
            }
            DataType::Float64 => {
                let rounded = array.as_primitive::<Float64Type>();
                Arc::new(rounded.unary::<_, Float64Type>(f64::round_ties_even))
            }
            _ => array,
        };
        Ok(ColumnarValue::Array(arrow_cast::cast_with_options(&rounded, &to, &STRICT_CAST)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(input) = children.pop() else {
            return Err(DataFusionError::Internal("a cast has one operand".into()));
        };
        let cast = Arc::clone(&self.cast).with_new_children(vec![Arc::clone(&input)])?;
        Ok(Arc::new(Round { input, cast }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cast.fmt_sql(f)
    }
}
