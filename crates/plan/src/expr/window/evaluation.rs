//! A window function over partitions that are in memory, some rows at a time.
//!
//! Each call computes what some thousand steps give, and says when it needs another one: whoever
//! calls gives way in between, however many rows a frame has.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, UInt32Array, UInt64Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use types::SqlResult;

use super::sliding::Sliding;
use super::sorted::Sorted;
use super::whole::Whole;
use super::{WindowExpr, WindowFunction, not_positive_place, tiles};
use crate::error::from_arrow;

/// Rows that are put into aggregates, and aggregates that are read, in one call: some tenths of a
/// millisecond.
pub(super) const STEPS_AT_ONCE: usize = 4096;

/// A window function in the middle of its rows.
pub struct Evaluation {
    function: WindowExpr,
    sorted: Arc<Sorted>,
    inputs: Vec<ArrayRef>,
    state: State,
}

enum State {
    /// A value is computed from where its row stands.
    Placed,
    /// An aggregate of whole partitions.
    Whole(Box<Whole>),
    /// An aggregate of frames.
    Sliding(Box<Sliding>),
}

impl Evaluation {
    /// Before the first row of `sorted`; `inputs` are the values of [`WindowExpr::inputs`] for all
    /// rows.
    ///
    /// # Errors
    /// What the library says of an aggregate.
    pub fn new(
        function: &WindowExpr,
        sorted: Arc<Sorted>,
        inputs: Vec<ArrayRef>,
    ) -> SqlResult<Evaluation> {
        let state = match &function.function {
            WindowFunction::Aggregate(call) if function.frame.is_whole() => {
                State::Whole(Box::new(Whole::new(call)?))
            }
            WindowFunction::Aggregate(call) => {
                State::Sliding(Box::new(Sliding::new(call, &inputs)?))
            }
            _ => State::Placed,
        };
        Ok(Evaluation { function: function.clone(), sorted, inputs, state })
    }

    /// True if a value may take as long as its frame.
    pub fn is_slow(&self) -> bool {
        matches!(self.state, State::Sliding(_))
    }

    /// The values of `rows`, which follow those whose values were given last. `None` when that
    /// takes longer: the next call, with the same rows, goes on.
    ///
    /// # Errors
    /// 22014 and 22016 for arguments of `ntile` and `nth_value` that are not positive, and those of
    /// aggregates.
    pub fn values(&mut self, rows: Range<usize>) -> SqlResult<Option<ArrayRef>> {
        let Evaluation { function, sorted, inputs, state } = self;
        let given = match state {
            State::Placed => Some(placed(function, sorted, inputs, rows)?),
            State::Whole(whole) => whole.values(sorted, inputs, rows)?,
            State::Sliding(sliding) => {
                sliding.values(&function.frames(sorted, inputs, rows)?, STEPS_AT_ONCE)?
            }
        };
        given.map(|values| function.of_type(values)).transpose()
    }
}

/// The values of functions that ask where a row stands.
fn placed(
    function: &WindowExpr,
    sorted: &Sorted,
    inputs: &[ArrayRef],
    rows: Range<usize>,
) -> SqlResult<ArrayRef> {
    let ranks = |rank: &dyn Fn(usize, &Range<usize>) -> u64| -> ArrayRef {
        let parts = sorted.parts(rows.clone());
        let values = parts.flat_map(|(p, part)| part.map(move |row| rank(row, &p)));
        Arc::new(values.collect::<UInt64Array>())
    };
    let shares = |share: &dyn Fn(usize, &Range<usize>) -> f64| -> ArrayRef {
        let parts = sorted.parts(rows.clone());
        let values = parts.flat_map(|(p, part)| part.map(move |row| share(row, &p)));
        Arc::new(values.collect::<Float64Array>())
    };
    let group = |row: usize| sorted.group_number(row);
    Ok(match &function.function {
        WindowFunction::RowNumber => ranks(&|row, p| (row - p.start) as u64 + 1),
        WindowFunction::Rank => ranks(&|row, p| (sorted.peers(row).start - p.start) as u64 + 1),
        WindowFunction::DenseRank => ranks(&|row, p| (group(row) - group(p.start)) as u64 + 1),
        WindowFunction::PercentRank => shares(&|row, p| match p.len() {
            1 => 0.0,
            n => (sorted.peers(row).start - p.start) as f64 / (n - 1) as f64,
        }),
        WindowFunction::CumeDist => {
            shares(&|row, p| (sorted.peers(row).end - p.start) as f64 / p.len() as f64)
        }
        WindowFunction::Ntile => {
            let of = |(p, part): (Range<usize>, Range<usize>)| {
                let count = inputs[0].slice(p.start, 1);
                tiles(&count, part.start - p.start..part.end - p.start, p.len())
            };
            let parts = sorted.parts(rows).map(of).collect::<SqlResult<Vec<_>>>()?;
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            concat(&parts).map_err(from_arrow)?
        }
        // The frame, which has inputs of its own, means nothing to it.
        WindowFunction::Shift(sign) => shifted(*sign, sorted, &inputs[..function.frame_at], rows)?,
        _ => of_frames(function, sorted, inputs, rows)?,
    })
}

/// The values that many rows before or after.
fn shifted(
    sign: i64,
    sorted: &Sorted,
    inputs: &[ArrayRef],
    rows: Range<usize>,
) -> SqlResult<ArrayRef> {
    let offsets = inputs.get(1).map(|offsets| offsets.as_primitive::<Int64Type>());
    let mut from: Vec<Option<u32>> = Vec::with_capacity(rows.len());
    let mut outside: Vec<bool> = Vec::with_capacity(rows.len());
    for (p, part) in sorted.parts(rows.clone()) {
        for row in part {
            let offset = offsets.map_or(Some(1), |o| o.is_valid(row).then(|| o.value(row)));
            let at = offset.map(|n| (row as i64).saturating_add(n.saturating_mul(sign)));
            let inside = at.filter(|&at| at >= p.start as i64 && at < p.end as i64);
            from.push(inside.map(|at| at as u32));
            outside.push(at.is_some() && inside.is_none());
        }
    }
    let shifted = take(&inputs[0], &UInt32Array::from(from), None).map_err(from_arrow)?;
    let Some(default) = inputs.get(2) else { return Ok(shifted) };
    let default = default.slice(rows.start, rows.len());
    let outside = BooleanArray::from(outside);
    arrow_select::zip::zip(&outside, &default, &shifted).map_err(from_arrow)
}

/// `first_value`, `last_value` and `nth_value`: a row of the frame.
fn of_frames(
    function: &WindowExpr,
    sorted: &Sorted,
    inputs: &[ArrayRef],
    rows: Range<usize>,
) -> SqlResult<ArrayRef> {
    let frames = function.frames(sorted, inputs, rows.clone())?;
    let places = match function.function {
        WindowFunction::Nth => Some(inputs[1].as_primitive::<Int64Type>()),
        _ => None,
    };
    let place = |(row, frame): (usize, &Range<usize>)| -> SqlResult<Option<u32>> {
        let at = match (&function.function, places) {
            (WindowFunction::First, _) => frame.start,
            (WindowFunction::Last, _) => frame.end.wrapping_sub(1),
            (_, Some(n)) if n.is_null(row) => return Ok(None),
            (_, Some(n)) if n.value(row) <= 0 => return Err(not_positive_place()),
            (_, Some(n)) => frame.start.saturating_add((n.value(row) - 1) as usize),
            (_, None) => return Ok(None),
        };
        Ok(frame.contains(&at).then_some(at as u32))
    };
    let places = rows.zip(&frames).map(place).collect::<SqlResult<UInt32Array>>()?;
    take(&inputs[0], &places, None).map_err(from_arrow)
}
