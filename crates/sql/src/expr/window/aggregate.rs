//! Aggregates over frames.

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use types::SqlResult;

use super::frame::Frame;
use super::{AggregateExpr, Sorted};

/// The aggregate of each row's frame.
pub(super) fn evaluate(
    call: &AggregateExpr,
    frame: &Frame,
    sorted: &Sorted<'_>,
) -> SqlResult<ArrayRef> {
    let args = call.args.iter().map(|a| a.evaluate(sorted.rows)).collect::<SqlResult<Vec<_>>>()?;
    let filter = call.filter.as_ref().map(|f| f.evaluate(sorted.rows)).transpose()?;
    let filter: Option<&BooleanArray> = filter.as_ref().and_then(|f| f.as_any().downcast_ref());
    if frame.is_whole() {
        return by_partition(call, &args, filter, sorted);
    }
    let frames = frame.ranges(sorted)?;
    call.over_frames(&args, filter, &frames)
}

/// One value for all rows of a partition.
fn by_partition(
    call: &AggregateExpr,
    args: &[ArrayRef],
    filter: Option<&BooleanArray>,
    sorted: &Sorted<'_>,
) -> SqlResult<ArrayRef> {
    let numbered = sorted.partitions.iter().enumerate();
    let groups: Vec<usize> =
        numbered.flat_map(|(number, p)| std::iter::repeat_n(number, p.len())).collect();
    let mut accumulator = call.accumulator()?;
    accumulator.update(args, &groups, filter, sorted.partitions.len())?;
    let values = accumulator.evaluate()?;
    let rows = UInt32Array::from_iter_values(groups.into_iter().map(|g| g as u32));
    arrow_select::take::take(&values, &rows, None).map_err(crate::error::from_arrow)
}
