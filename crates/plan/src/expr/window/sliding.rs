//! Aggregates over the frames of rows that follow each other.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use types::SqlResult;

use super::slide::Slide;
use crate::error::from_arrow;
use crate::expr::aggregate::{AggregateExpr, AggregateKind};
use crate::expr::average;
use crate::expr::function::AggregateFunction;

/// An aggregate of the frames of rows.
pub(super) struct Sliding {
    kind: Moves,
    /// For each row, and one behind the last, how many rows before it the filter keeps: rows that
    /// it drops take no part, and frames are moved to what is left.
    kept_before: Option<Vec<usize>>,
}

enum Moves {
    /// `count(*)`.
    Rows,
    Foreign(Slide),
    Average {
        sum: Slide,
        count: Slide,
        /// The sums of the frames at hand, once they are known.
        sums: Option<ArrayRef>,
    },
}

impl Sliding {
    /// `inputs` are the arguments, and behind them the filter, if there is one.
    pub(super) fn new(call: &AggregateExpr, inputs: &[ArrayRef]) -> SqlResult<Sliding> {
        let (args, rest) = inputs.split_at(call.args.len());
        let filter = call.filter.as_ref().and_then(|_| rest.first()).map(|f| f.as_boolean());
        let args = match filter {
            None => args.to_vec(),
            Some(filter) => {
                let keep = |arg: &ArrayRef| arrow_select::filter::filter(arg, filter);
                args.iter().map(keep).collect::<Result<_, _>>().map_err(from_arrow)?
            }
        };
        let slide =
            |function: &Arc<dyn AggregateFunction>| Slide::new(Arc::clone(function), args.clone());
        let kind = match &call.kind {
            AggregateKind::Rows => Moves::Rows,
            AggregateKind::Foreign { function, .. } => Moves::Foreign(slide(function)?),
            AggregateKind::Average { sum, count, .. } => {
                Moves::Average { sum: slide(sum)?, count: slide(count)?, sums: None }
            }
        };
        Ok(Sliding { kind, kept_before: filter.map(kept_before) })
    }

    /// The value of each frame, in about so many steps; `None` when these are not enough.
    pub(super) fn values(
        &mut self,
        frames: &[Range<usize>],
        mut steps: usize,
    ) -> SqlResult<Option<ArrayRef>> {
        let moved: Vec<Range<usize>>;
        let frames = match &self.kept_before {
            None => frames,
            Some(before) => {
                moved = frames.iter().map(|f| before[f.start]..before[f.end]).collect();
                &moved
            }
        };
        match &mut self.kind {
            Moves::Rows => {
                let counts = frames.iter().map(|f| f.len() as i64);
                Ok(Some(Arc::new(counts.collect::<Int64Array>())))
            }
            Moves::Foreign(slide) => slide.values(frames, &mut steps),
            Moves::Average { sum, count, sums } => {
                if sums.is_none() {
                    *sums = sum.values(frames, &mut steps)?;
                }
                let Some(known) = sums.as_ref() else { return Ok(None) };
                let Some(counts) = count.values(frames, &mut steps)? else { return Ok(None) };
                let average = average::divide(known, &counts)?;
                *sums = None;
                Ok(Some(average))
            }
        }
    }
}

fn kept_before(filter: &BooleanArray) -> Vec<usize> {
    let mut before = Vec::with_capacity(filter.len() + 1);
    let mut count = 0;
    before.push(count);
    for kept in filter {
        count += usize::from(kept == Some(true));
        before.push(count);
    }
    before
}
