//! Aggregates over frames.

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use datafusion_common::ScalarValue;
use datafusion_expr::Accumulator;
use types::SqlResult;

use super::frame::Frame;
use super::{AggregateExpr, Sorted};
use crate::error::from_library;

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

/// The value of each frame: rows enter, and leave where the accumulator can forget them.
pub(in crate::expr) fn slide(
    make: &dyn Fn() -> datafusion_common::Result<Box<dyn Accumulator>>,
    args: &[ArrayRef],
    frames: &[std::ops::Range<usize>],
) -> SqlResult<Vec<ScalarValue>> {
    let mut state = make().map_err(from_library)?;
    let mut inside = 0..0;
    let mut values = Vec::with_capacity(frames.len());
    for frame in frames {
        let overlaps = frame.start >= inside.start && frame.start <= inside.end;
        let grows = overlaps && frame.end >= inside.end;
        let leaves = frame.start > inside.start;
        if !grows || (leaves && !state.supports_retract_batch()) {
            state = make().map_err(from_library)?;
            inside = frame.start..frame.start;
        } else if leaves {
            let out = part(args, inside.start, frame.start);
            state.retract_batch(&out).map_err(from_library)?;
        }
        if frame.end > inside.end {
            let new = part(args, inside.end, frame.end);
            state.update_batch(&new).map_err(from_library)?;
        }
        inside = frame.clone();
        values.push(state.evaluate().map_err(from_library)?);
    }
    Ok(values)
}

fn part(args: &[ArrayRef], from: usize, to: usize) -> Vec<ArrayRef> {
    args.iter().map(|a| a.slice(from, to - from)).collect()
}
