//! Which types PostgreSQL casts to which (`pg_cast`): the library casts more, to values that mean
//! nothing.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::Cast;
use datafusion_expr::{Expr, ExprSchemable, cast};
use types::numeric::FREE;
use types::{SqlError, SqlState, oid};

use crate::analyze::column_types;
use crate::analyze::column_types::ANY_NUMERIC;
use crate::analyze::told::told_oid;
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
    if let Some((characters, field)) = column_types::characters_left(&given.field)
        && matches!(field.data_type(), DataType::List(_))
    {
        let all = typed(Cast { expr: given.expr, field }, schema)?;
        let is_padded = Some(told_oid(&given.field)) == oid::array_of(oid::BPCHAR);
        let characters = Expr::Literal(ScalarValue::Int64(Some(i64::from(characters))), None);
        let is_padded = Expr::Literal(ScalarValue::Boolean(Some(is_padded)), None);
        return call("elements_cut", vec![all, characters, is_padded]);
    }
    let from = given.expr.get_type(schema)?;
    if *given.field.data_type() != ANY_NUMERIC {
        check(&from, given.field.data_type())?;
        let midnight = || Expr::Literal(ScalarValue::Time64Microsecond(Some(0)), None);
        match (&from, given.field.data_type()) {
            (DataType::Time64(_), DataType::Interval(_)) => {
                return call("time_minus_span", vec![*given.expr, midnight()]);
            }
            (DataType::Interval(_), DataType::Time64(_)) => {
                return call("time_plus_span", vec![midnight(), *given.expr]);
            }
            _ => {}
        }
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

/// A cast between arrays whose elements only have their texts in common, as far as the library
/// knows.
fn by_text(given: Cast, from: &DataType) -> Result<Expr> {
    let text = match is_uuids(from) {
        true => call("uuid_out", vec![*given.expr])?,
        false => cast(*given.expr, DataType::Utf8View),
    };
    match is_uuids(given.field.data_type()) {
        true => call("uuid_array_in", vec![text]),
        false => Ok(Expr::Cast(Cast { expr: Box::new(text), field: given.field })),
    }
}

const UUID: DataType = DataType::FixedSizeBinary(16);

fn is_uuids(ty: &DataType) -> bool {
    matches!(ty, DataType::List(field) if *field.data_type() == UUID)
}

/// Casts between text and uuid, and arrays of it, which the library does not know as types of each other.
fn uuid_cast(given: Cast, schema: &DFSchema) -> Result<Expr> {
    let to = given.field.data_type();
    let from = given.expr.get_type(schema)?;
    if *to != UUID && !to.is_string() && !matches!(to, DataType::List(_)) {
        return Ok(Expr::Cast(given));
    }
    if let (DataType::List(one), DataType::List(other)) = (&from, to)
        && !arrow_cast::can_cast_types(one.data_type(), other.data_type())
    {
        return by_text(given, &from);
    }
    if is_uuids(to) && from.is_string() {
        return call("uuid_array_in", vec![*given.expr]);
    }
    if to.is_string() && is_uuids(&from) {
        return call("uuid_out", vec![*given.expr]);
    }
    match (unknown(&given.expr), *to == UUID) {
        (Some(text), true) => read(text, &UUID),
        (None, true) if from.is_string() => call("uuid_in", vec![*given.expr]),
        (_, false) if from == UUID => call("uuid_out", vec![*given.expr]),
        _ => Ok(Expr::Cast(given)),
    }
}
