//! Statistics of columns from a sample of rows, and the stored form of table definitions.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ord::ord::make_comparator;
use arrow_ord::sort::sort_to_indices;
use arrow_schema::{DataType, SortOptions};
use datafusion_common::ScalarValue;
use plan::catalog::ColumnStatistics;
use types::{Schema, SqlResult};

use crate::error::{from_arrow, from_library};

mod stored;
#[cfg(test)]
mod tests;

pub use stored::{decode_table, encode_table};

/// Buckets of a histogram.
const BUCKETS: usize = 100;
/// Most values in the list of common ones. TPC-H's part types are 150: a complete list makes the
/// estimates of any predicate on such a column exact.
const COMMON_MAX: usize = 200;
/// A value is common when it is so many times as frequent as the average one.
const COMMON_FACTOR: f64 = 1.25;
/// Batches hardly share values when the whole sample has at least this share of the values of all
/// batches counted apart.
const LOCAL_SHARE: f64 = 0.98;

/// Statistics of all columns of a table with `row_count` rows, from sampled rows.
///
/// `batches` hold all columns, in clustering order; each is a run of neighbours, which matters: values
/// that only neighbours share (the order key of TPC-H's lineitem) look rare in such a sample.
pub fn column_statistics(
    schema: &Schema,
    batches: &[RecordBatch],
    row_count: u64,
) -> SqlResult<Vec<ColumnStatistics>> {
    let column = |i: usize| {
        let parts: Vec<ArrayRef> = batches.iter().map(|b| b.column(i).clone()).collect();
        column_sample(&parts, row_count)
    };
    (0..schema.columns.len()).map(column).collect()
}

/// A sampled column in the order of its values.
struct Sorted {
    values: ArrayRef,
    /// Positions of the non-null values, in the order of values, ties in the order of rows.
    order: Vec<u32>,
    /// Lengths of the runs of equal values.
    runs: Vec<usize>,
}

fn column_sample(parts: &[ArrayRef], row_count: u64) -> SqlResult<ColumnStatistics> {
    let slices: Vec<&dyn Array> = parts.iter().map(|p| p.as_ref()).collect();
    let sampled: usize = slices.iter().map(|s| s.len()).sum();
    if sampled == 0 {
        return Ok(ColumnStatistics::default());
    }
    let values = arrow_select::concat::concat(&slices).map_err(from_arrow)?;
    let sorted = Sorted::new(values)?;
    let present = sorted.order.len();
    let null_fraction = 1.0 - present as f64 / sampled as f64;
    if present == 0 {
        return Ok(ColumnStatistics { null_fraction, ..ColumnStatistics::default() });
    }
    let rows = row_count as f64 * (1.0 - null_fraction);
    let distinct_count = match local(parts, sorted.runs.len())? {
        true => (sorted.runs.len() as f64 * rows / present as f64).min(rows),
        false => duj1(&sorted.runs, rows),
    };
    Ok(ColumnStatistics {
        null_fraction,
        distinct_count: distinct_count.max(1.0),
        min: Some(sorted.value(0)?),
        max: Some(sorted.value(present - 1)?),
        histogram: sorted.histogram()?,
        most_common: sorted.most_common(sampled, distinct_count)?,
        width: width(&sorted.values),
        correlation: correlation(&sorted.order),
    })
}

impl Sorted {
    fn new(values: ArrayRef) -> SqlResult<Sorted> {
        let options = SortOptions { descending: false, nulls_first: false };
        let indices = sort_to_indices(&values, Some(options), None).map_err(from_arrow)?;
        let present = values.len() - values.null_count();
        let mut order: Vec<u32> = indices.values()[..present].to_vec();
        let compare = make_comparator(&values, &values, options).map_err(from_arrow)?;
        let equal = |a: u32, b: u32| compare(a as usize, b as usize).is_eq();
        let runs: Vec<usize> = order.chunk_by(|a, b| equal(*a, *b)).map(<[u32]>::len).collect();
        // Equal values in the order of rows: the sort above is not stable.
        let mut start = 0;
        for run in &runs {
            order[start..start + run].sort_unstable();
            start += run;
        }
        Ok(Sorted { values, order, runs })
    }

    /// The value of this rank.
    fn value(&self, rank: usize) -> SqlResult<ScalarValue> {
        let row = self.order[rank] as usize;
        ScalarValue::try_from_array(&self.values, row).map_err(from_library)
    }

    fn histogram(&self) -> SqlResult<Vec<ScalarValue>> {
        if self.runs.len() < 2 {
            return Ok(Vec::new());
        }
        let last = self.order.len() - 1;
        let buckets = BUCKETS.min(last);
        (0..=buckets).map(|i| self.value(i * last / buckets)).collect()
    }

    /// Values clearly more frequent than the average, most frequent first; all of them, if they are few.
    fn most_common(&self, sampled: usize, distinct: f64) -> SqlResult<Vec<(ScalarValue, f64)>> {
        let complete = self.runs.len() <= COMMON_MAX && distinct < self.runs.len() as f64 * 1.1;
        let average = self.order.len() as f64 / distinct.max(1.0);
        let mut start = 0;
        let mut candidates: Vec<(usize, usize)> = Vec::new();
        for &run in &self.runs {
            let frequent = run > 1 && run as f64 > average * COMMON_FACTOR;
            if frequent || (complete && (run > 1 || self.order.len() == sampled)) {
                candidates.push((run, start));
            }
            start += run;
        }
        candidates.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        candidates.truncate(COMMON_MAX);
        let share = |run: usize| run as f64 / sampled as f64;
        candidates.into_iter().map(|(run, at)| Ok((self.value(at)?, share(run)))).collect()
    }
}

/// The Duj1 estimator of the number of distinct values (Haas, Naughton, Seshadri, Stokes: Sampling-Based
/// Estimation of the Number of Distinct Values of an Attribute, VLDB 1995, section 3.3), from the
/// frequencies of the sampled values.
fn duj1(runs: &[usize], rows: f64) -> f64 {
    let sampled: usize = runs.iter().sum();
    let (n, d) = (sampled as f64, runs.len() as f64);
    if n >= rows {
        return d;
    }
    let once = runs.iter().filter(|r| **r == 1).count() as f64;
    let estimate = n * d / (n - once + once * n / rows);
    estimate.clamp(d, rows)
}

/// Whether values occur in one batch only.
fn local(parts: &[ArrayRef], distinct: usize) -> SqlResult<bool> {
    if parts.len() < 4 {
        return Ok(false);
    }
    let mut apart = 0;
    for part in parts {
        apart += Sorted::new(part.clone())?.runs.len();
    }
    Ok(distinct as f64 >= apart as f64 * LOCAL_SHARE)
}

/// The correlation of the order of values with the order of rows.
fn correlation(order: &[u32]) -> f64 {
    let n = order.len() as f64;
    if order.len() < 2 {
        return 1.0;
    }
    // With nulls removed, positions are not 0..n: rank them.
    let mut positions: Vec<u32> = order.to_vec();
    positions.sort_unstable();
    let rank = |p: u32| positions.partition_point(|q| *q < p) as f64;
    let mean = (n - 1.0) / 2.0;
    let covariance: f64 =
        order.iter().enumerate().map(|(i, &p)| (i as f64 - mean) * (rank(p) - mean)).sum();
    let variance = n * (n * n - 1.0) / 12.0;
    (covariance / variance).clamp(-1.0, 1.0)
}

/// Average bytes of a value.
fn width(values: &ArrayRef) -> f64 {
    match values.data_type() {
        DataType::Utf8View => {
            let texts = values.as_string_view();
            let bytes: usize = texts.iter().flatten().map(str::len).sum();
            bytes as f64 / (texts.len() - texts.null_count()).max(1) as f64
        }
        DataType::Boolean => 1.0,
        other => other.primitive_width().unwrap_or(16) as f64,
    }
}
