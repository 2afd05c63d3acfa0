//! Which types PostgreSQL casts to which (`pg_cast`): the library casts more, to values that mean
//! nothing.

use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};
use types::{SqlError, SqlState};

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
pub(super) fn check(from: &DataType, to: &DataType) -> Result<()> {
    if is_castable(from, to) {
        return Ok(());
    }
    let message = format!("cannot cast type {} to {}", type_name(from), type_name(to));
    Err(DataFusionError::External(Box::new(SqlError::new(SqlState::CANNOT_COERCE, message))))
}
