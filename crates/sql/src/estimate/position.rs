//! Where a value lies among the values of a column: the basis of range estimates.

use std::cmp::Ordering;

use datafusion_common::ScalarValue;
use plan::catalog::ColumnStatistics;

/// The share of the non-null values that are smaller than `value`; `None` without statistics.
pub(super) fn share_below(statistics: &ColumnStatistics, value: &ScalarValue) -> Option<f64> {
    let bounds = &statistics.histogram;
    if bounds.len() >= 2 {
        return share_in_histogram(bounds, value);
    }
    let (min, max) = (statistics.min.as_ref()?, statistics.max.as_ref()?);
    share_in_histogram(&[min.clone(), max.clone()], value)
}

fn share_in_histogram(bounds: &[ScalarValue], value: &ScalarValue) -> Option<f64> {
    let buckets = (bounds.len() - 1) as f64;
    // Of values that do not compare nothing is known.
    bounds[0].partial_cmp(value)?;
    let below = bounds.partition_point(|bound| bound.partial_cmp(value) == Some(Ordering::Less));
    if below == 0 {
        return Some(0.0);
    }
    if below == bounds.len() {
        return Some(1.0);
    }
    let within = inside(&bounds[below - 1], &bounds[below], value);
    Some(((below - 1) as f64 + within) / buckets)
}

/// Where `value` lies between two bounds, 0 to 1; the middle where values have no distance.
fn inside(low: &ScalarValue, high: &ScalarValue, value: &ScalarValue) -> f64 {
    match (number(low), number(high), number(value)) {
        (Some(low), Some(high), Some(v)) if high > low => {
            ((v - low) / (high - low)).clamp(0.0, 1.0)
        }
        _ => 0.5,
    }
}

/// A value on the line of real numbers.
pub(super) fn number(value: &ScalarValue) -> Option<f64> {
    match value {
        ScalarValue::Boolean(Some(v)) => Some(f64::from(u8::from(*v))),
        ScalarValue::Int16(Some(v)) => Some(f64::from(*v)),
        ScalarValue::Int32(Some(v)) | ScalarValue::Date32(Some(v)) => Some(f64::from(*v)),
        ScalarValue::Int64(Some(v)) | ScalarValue::TimestampMicrosecond(Some(v), _) => {
            Some(*v as f64)
        }
        ScalarValue::Float32(Some(v)) => Some(f64::from(*v)),
        ScalarValue::Float64(Some(v)) => Some(*v),
        ScalarValue::Decimal128(Some(v), _, scale) => {
            Some(*v as f64 / 10f64.powi(i32::from(*scale)))
        }
        ScalarValue::Decimal256(Some(v), _, scale) => {
            Some(v.to_string().parse::<f64>().ok()? / 10f64.powi(i32::from(*scale)))
        }
        _ => None,
    }
}
