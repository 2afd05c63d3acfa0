//! Casts between dates, local times and instants, in the zone of the session; infinity stays what it is.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::{DataFusionError, Result};
use types::datetime::infinite::{day_of, is_finite, midnight};
use types::{SqlError, SqlState, zone};

use crate::cast::strict::STRICT_CAST;

/// Local time, in microseconds.
const LOCAL: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

const DAY: i64 = 86_400_000_000;

type Moments = PrimitiveArray<TimestampMicrosecondType>;

/// Whether a cast leads from one of these types to another.
pub(crate) fn is_of_moments(from: &DataType, to: &DataType) -> bool {
    let is_date = |ty: &DataType| *ty == DataType::Date32;
    is_instant(from) && is_local(to)
        || is_local(from) && is_instant(to)
        || is_date(from) && *to == LOCAL
        || *from == LOCAL && (is_date(to) || is_clock(to))
}

fn is_instant(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
}

fn is_local(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(_, None) | DataType::Date32) || is_clock(ty)
}

fn is_clock(ty: &DataType) -> bool {
    *ty == DataType::Time64(TimeUnit::Microsecond)
}

/// The values cast.
///
/// # Errors
/// 22008 for a day beyond all moments.
pub(crate) fn cast_moments(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let local = local_of(array)?;
    match to {
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            let zone = zone::current().zone;
            let instants = local.unary::<_, TimestampMicrosecondType>(|at| zone.instant_of(at));
            Ok(Arc::new(instants.with_data_type(to.clone())))
        }
        DataType::Date32 => Ok(Arc::new(local.unary::<_, Date32Type>(day_of))),
        // The time of day at infinity is not known.
        to if is_clock(to) => {
            let clock = |at: i64| is_finite(at).then(|| at.rem_euclid(DAY));
            Ok(Arc::new(local.unary_opt::<_, Time64MicrosecondType>(clock)))
        }
        to => Ok(arrow_cast::cast_with_options(&local, to, &STRICT_CAST)?),
    }
}

/// Dates, local times and instants as local times.
fn local_of(array: &ArrayRef) -> Result<Moments> {
    match array.data_type() {
        DataType::Date32 => array.as_primitive::<Date32Type>().try_unary(|day| {
            midnight(day).ok_or_else(|| {
                let message = "date out of range for timestamp";
                let error = SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message);
                DataFusionError::External(Box::new(error))
            })
        }),
        ty if is_instant(ty) => {
            let zone = zone::current().zone;
            let instants = array.as_primitive::<TimestampMicrosecondType>();
            let local = instants.unary::<_, TimestampMicrosecondType>(|at| zone.local_of(at));
            Ok(local.with_data_type(LOCAL))
        }
        _ => {
            let local = arrow_cast::cast_with_options(array, &LOCAL, &STRICT_CAST)?;
            Ok(local.as_primitive::<TimestampMicrosecondType>().clone())
        }
    }
}
