//! Which types PostgreSQL casts to which (`pg_cast`): the library casts more, to values that mean
//! nothing.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::Cast;
use datafusion_expr::{Expr, ExprSchemable, cast};
use types::numeric::FREE;
use types::{SqlError, SqlState};

use crate::analyze::column_types;
use crate::analyze::column_types::ANY_NUMERIC;
use crate::analyze::typing::{numeric_of, read, unknown};
use crate::functions::library::call;
use crate::render::type_name;

/// Types that are cast alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    /// `integer`, the number that is cast to and from `boolean`.
    Integer,
    Number,
    Oid,
    Date,
    Timestamp,
    Time,
    Interval,
    Bytes,
    Uuid,
}

/// `None` for text, which is cast to and from all types, and for what only the library knows.
fn kind(ty: &DataType) -> Option<Kind> {
    Some(match ty {
        DataType::Boolean => Kind::Boolean,
        DataType::Int32 => Kind::Integer,
        DataType::Int16
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => Kind::Number,
        DataType::UInt32 => Kind::Oid,
        DataType::Date32 => Kind::Date,
        DataType::Timestamp(..) => Kind::Timestamp,
        DataType::Time64(_) => Kind::Time,
        DataType::Interval(_) => Kind::Interval,
        DataType::BinaryView => Kind::Bytes,
        DataType::FixedSizeBinary(16) => Kind::Uuid,
        _ => return None,
    })
}

fn is_castable(from: &DataType, to: &DataType) -> bool {
    use Kind::{Boolean, Date, Integer, Interval, Number, Oid, Time, Timestamp};
    match (from, to) {
        (DataType::List(from), DataType::List(to)) => {
            return is_castable(from.data_type(), to.data_type());
        }
        (DataType::List(_), other) | (other, DataType::List(_)) => return kind(other).is_none(),
        _ => {}
    }
    let (Some(from), Some(to)) = (kind(from), kind(to)) else { return true };
    from == to
        || matches!(
            (from, to),
            (Boolean, Integer)
                | (Integer, Boolean | Number | Oid)
                | (Number, Integer | Oid)
                | (Oid, Integer | Number)
                | (Date, Timestamp)
                | (Timestamp, Date | Time)
                | (Time, Interval)
                | (Interval, Time)
        )
}

/// Refuses a cast that means nothing.
///
/// Errors: 42846.
fn check(from: &DataType, to: &DataType) -> Result<()> {
    if is_castable(from, to) {
        return Ok(());
    }
    let message = format!("cannot cast type {} to {}", type_name(from), type_name(to));
    Err(DataFusionError::External(Box::new(SqlError::new(SqlState::CANNOT_COERCE, message))))
}

/// A cast as PostgreSQL does it.
pub(crate) fn typed(given: Cast, schema: &DFSchema) -> Result<Expr> {
    if let Some((digits, field)) = column_types::digits_left(&given.field) {
        let all = typed(Cast { expr: given.expr, field }, schema)?;
        let digits = Expr::Literal(ScalarValue::Int32(Some(i32::from(digits))), None);
        return call("round_time", vec![all, digits]);
    }
    let from = given.expr.get_type(schema)?;
    if *given.field.data_type() != ANY_NUMERIC {
        check(&from, given.field.data_type())?;
        let given = match digits_left(&from, given.field.data_type()) {
            Some(digits) if !matches!(*given.expr, Expr::Literal(..)) => rounded(given, digits)?,
            _ => given,
        };
        return uuid_cast(given, schema);
    }
    let ty = match (&*given.expr, from) {
        (Expr::Literal(ScalarValue::Utf8(Some(text)), _), _) => numeric_of(text),
        (_, ty @ (DataType::Decimal128(..) | DataType::Decimal256(..))) => ty,
        (_, DataType::Int16) => DataType::Decimal128(5, 0),
        (_, DataType::Int32) => DataType::Decimal128(10, 0),
        (_, DataType::Int64) => DataType::Decimal128(19, 0),
        _ => FREE,
    };
    Ok(cast(*given.expr, ty))
}

/// Digits after the point that a decimal has after a cast, if it has fewer then.
fn digits_left(from: &DataType, to: &DataType) -> Option<i8> {
    let DataType::Decimal128(_, before) = from else { return None };
    let after = match to {
        DataType::Decimal128(_, after) => *after,
        to if to.is_integer() => 0,
        _ => return None,
    };
    (after < *before && after <= ROUND_DIGITS_MAX).then_some(after)
}

/// Most digits after the point that `round` keeps.
const ROUND_DIGITS_MAX: i8 = 30;

/// A cast of what is rounded already: the library takes a comparison with a cast for one with what is cast.
fn rounded(given: Cast, digits: i8) -> Result<Cast> {
    let digits = Expr::Literal(ScalarValue::Int32(Some(i32::from(digits))), None);
    let inner = call("round", vec![*given.expr, digits])?;
    Ok(Cast { expr: Box::new(inner), field: given.field })
}

/// Casts between text and uuid, and arrays of it, which the library does not know as types of each other.
fn uuid_cast(given: Cast, schema: &DFSchema) -> Result<Expr> {
    const UUID: DataType = DataType::FixedSizeBinary(16);
    let to = given.field.data_type();
    let is_array =
        |ty: &DataType| matches!(ty, DataType::List(field) if *field.data_type() == UUID);
    if *to != UUID && !to.is_string() && !is_array(to) {
        return Ok(Expr::Cast(given));
    }
    let from = given.expr.get_type(schema)?;
    if is_array(to) && from.is_string() {
        return call("uuid_array_in", vec![*given.expr]);
    }
    if to.is_string() && is_array(&from) {
        return call("uuid_out", vec![*given.expr]);
    }
    match (unknown(&given.expr), *to == UUID) {
        (Some(text), true) => read(text, &UUID),
        (None, true) if from.is_string() => call("uuid_in", vec![*given.expr]),
        (_, false) if from == UUID => call("uuid_out", vec![*given.expr]),
        _ => Ok(Expr::Cast(given)),
    }
}
