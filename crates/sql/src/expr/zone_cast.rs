//! Casts between instants and local dates and times, in the zone of the session.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use datafusion_common::Result;
use types::zone;

use super::STRICT_CAST;

/// Local time, in microseconds.
const LOCAL: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Whether one side of a cast is an instant and the other a local date, time or timestamp.
pub(super) fn applies(from: &DataType, to: &DataType) -> bool {
    is_instant(from) && is_local(to) || is_local(from) && is_instant(to)
}

fn is_instant(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
}

fn is_local(ty: &DataType) -> bool {
    matches!(ty, DataType::Timestamp(_, None) | DataType::Date32 | DataType::Time64(_))
}

/// Instants as local time, or local time as instants.
pub(super) fn cast_zone(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let zone = zone::current().zone;
    let moved = |array: &dyn Array, move_one: &dyn Fn(i64) -> i64| {
        array
            .as_primitive::<TimestampMicrosecondType>()
            .unary::<_, TimestampMicrosecondType>(move_one)
    };
    if is_instant(to) {
        let local = arrow_cast::cast_with_options(array, &LOCAL, &STRICT_CAST)?;
        let instants = moved(&local, &|micros| zone.instant_of(micros));
        return Ok(Arc::new(instants.with_data_type(to.clone())));
    }
    let local = moved(array, &|micros| zone.local_of(micros)).with_data_type(LOCAL);
    Ok(arrow_cast::cast_with_options(&local, to, &STRICT_CAST)?)
}
