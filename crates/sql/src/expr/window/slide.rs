//! The aggregates of frames that follow each other.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use datafusion_common::ScalarValue;
use datafusion_expr::Accumulator;
use types::SqlResult;

use crate::error::from_library;

/// Frames of so many rows are added up row by row, as PostgreSQL does; those of longer ones whose first
/// rows have left are put together from partial results. Of floats the last digit may depend on it.
const ROW_BY_ROW_MAX: usize = 1024;

/// Rows of the smallest partial result.
const BLOCK_ROWS: usize = 256;

/// Makes new accumulators of one aggregate.
pub(in crate::expr) type Make<'a> = &'a dyn Fn() -> datafusion_common::Result<Box<dyn Accumulator>>;

/// The value of each frame. With `forgets`, rows that leave are taken out of the accumulators that can.
pub(in crate::expr) fn slide(
    make: Make<'_>,
    args: &[ArrayRef],
    frames: &[Range<usize>],
    forgets: bool,
) -> SqlResult<Vec<ScalarValue>> {
    let mut state = make().map_err(from_library)?;
    let mut inside = 0..0;
    let mut partials = None;
    let mut values = Vec::with_capacity(frames.len());
    for frame in frames {
        crate::patience::check().map_err(from_library)?;
        let overlaps = frame.start >= inside.start && frame.start <= inside.end;
        let grows = overlaps && frame.end >= inside.end;
        let leaves = frame.start > inside.start;
        if !grows || (leaves && !(forgets && state.supports_retract_batch())) {
            state = make().map_err(from_library)?;
            inside = frame.start..frame.start;
            if frame.len() > ROW_BY_ROW_MAX {
                if partials.is_none() {
                    partials = Some(Partials::new(make, args)?);
                }
                if let Some(partials) = &partials {
                    partials.add_to(state.as_mut(), args, frame)?;
                }
                inside = frame.clone();
            }
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

/// The state of an accumulator: columns of one row.
type State = Vec<ArrayRef>;

/// Partial results of blocks of rows, of pairs of these, of pairs of pairs: a tree over the rows.
struct Partials {
    levels: Vec<Vec<State>>,
}

impl Partials {
    fn new(make: Make<'_>, args: &[ArrayRef]) -> SqlResult<Partials> {
        let row_count = args.first().map_or(0, |a| a.len());
        let block = |at: usize| {
            let mut state = make().map_err(from_library)?;
            let rows = part(args, at * BLOCK_ROWS, (at + 1) * BLOCK_ROWS);
            state.update_batch(&rows).map_err(from_library)?;
            taken(state)
        };
        let blocks = (0..row_count / BLOCK_ROWS).map(block).collect::<SqlResult<Vec<State>>>()?;
        let mut levels = vec![blocks];
        while let Some(below) = levels.last().filter(|below| below.len() > 1) {
            let pair = |pair: &[State]| {
                let mut state = make().map_err(from_library)?;
                pair.iter().try_for_each(|s| state.merge_batch(s)).map_err(from_library)?;
                taken(state)
            };
            let above = below.chunks_exact(2).map(pair).collect::<SqlResult<Vec<State>>>()?;
            levels.push(above);
        }
        Ok(Partials { levels })
    }

    /// Adds the rows of a frame, in their order, to an accumulator that is empty.
    fn add_to(
        &self,
        state: &mut dyn Accumulator,
        args: &[ArrayRef],
        frame: &Range<usize>,
    ) -> SqlResult<()> {
        let mut block = frame.start.div_ceil(BLOCK_ROWS);
        let last = (frame.end / BLOCK_ROWS).max(block);
        let head = part(args, frame.start, (block * BLOCK_ROWS).min(frame.end));
        state.update_batch(&head).map_err(from_library)?;
        while block < last {
            let fits = |level: &usize| {
                let size = 1usize << *level;
                block.is_multiple_of(size)
                    && block + size <= last
                    && block / size < self.levels[*level].len()
            };
            let level = (0..self.levels.len()).take_while(fits).last().unwrap_or(0);
            let partial = &self.levels[level][block >> level];
            state.merge_batch(partial).map_err(from_library)?;
            block += 1 << level;
        }
        let tail = part(args, (last * BLOCK_ROWS).min(frame.end), frame.end);
        state.update_batch(&tail).map_err(from_library)
    }
}

fn taken(mut state: Box<dyn Accumulator>) -> SqlResult<State> {
    let values = state.state().map_err(from_library)?;
    values.iter().map(|value| value.to_array().map_err(from_library)).collect()
}
