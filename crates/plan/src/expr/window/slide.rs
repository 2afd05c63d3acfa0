//! The aggregates of frames that follow each other.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use datafusion_common::ScalarValue;
use types::{SqlError, SqlResult};

use crate::expr::function::{AggregateFunction, Single};
use crate::limits;

/// Frames of so many rows are added up row by row, as PostgreSQL does; those of longer ones whose
/// first rows have left, and cannot be taken out, are put together from partial results. Of floats
/// the last digit may depend on it.
const ROW_BY_ROW_MAX: usize = 1024;

/// Rows of the smallest partial result.
const BLOCK_ROWS: usize = 256;

/// One aggregate, over one frame after the other.
pub(super) struct Slide {
    function: Arc<dyn AggregateFunction>,
    args: Vec<ArrayRef>,
    /// True if rows that leave are taken out of the state.
    forgets: bool,
    state: Box<dyn Single>,
    /// The rows in `state`.
    inside: Range<usize>,
    partials: Partials,
    /// Of the frames at hand, those that are known.
    values: Vec<ScalarValue>,
}

impl Slide {
    pub(super) fn new(
        function: Arc<dyn AggregateFunction>,
        args: Vec<ArrayRef>,
    ) -> SqlResult<Slide> {
        let state = function.single()?;
        let forgets = function.forgets() && state.retracts();
        let (partials, values) = (Partials { levels: vec![vec![]] }, vec![]);
        Ok(Slide { function, args, forgets, state, inside: 0..0, partials, values })
    }

    /// The value of each of the next frames; `None` when `steps` are used up, to go on in the next
    /// call.
    pub(super) fn values(
        &mut self,
        frames: &[Range<usize>],
        steps: &mut usize,
    ) -> SqlResult<Option<ArrayRef>> {
        while let Some(frame) = frames.get(self.values.len()) {
            limits::go_on()?;
            if *steps == 0 || !self.move_to(frame, steps)? {
                return Ok(None);
            }
            self.values.push(self.state.evaluate()?);
            *steps = steps.saturating_sub(1);
        }
        let values = std::mem::take(&mut self.values);
        let of_one_type = ScalarValue::iter_to_array(values);
        of_one_type.map(Some).map_err(|error| SqlError::internal(error.to_string()))
    }

    /// Makes `state` that of a frame; false when there are not enough steps for it, with what was
    /// done by them kept.
    fn move_to(&mut self, frame: &Range<usize>, steps: &mut usize) -> SqlResult<bool> {
        let overlaps = frame.start >= self.inside.start && frame.start <= self.inside.end;
        let grows = overlaps && frame.end >= self.inside.end;
        let leaves = frame.start > self.inside.start;
        if !grows || (leaves && !self.forgets) {
            if !self.start_at(frame, steps)? {
                return Ok(false);
            }
        } else {
            while self.inside.start < frame.start {
                let until = frame.start.min(self.inside.start + *steps);
                let out = part(&self.args, self.inside.start, until);
                self.state.retract(&out)?;
                *steps -= until - self.inside.start;
                self.inside.start = until;
                if *steps == 0 {
                    return Ok(false);
                }
            }
        }
        let until = frame.end.min(self.inside.end + *steps);
        if until > self.inside.end {
            let new = part(&self.args, self.inside.end, until);
            self.state.update(&new)?;
            *steps -= until - self.inside.end;
            self.inside.end = until;
        }
        Ok(self.inside.end >= frame.end)
    }

    /// Begins anew with a frame: empty if it is short, with all rows if it is long.
    fn start_at(&mut self, frame: &Range<usize>, steps: &mut usize) -> SqlResult<bool> {
        // What takes rows out counts those that it has taken in, and knows nothing of merged ones.
        let is_long = frame.len() > ROW_BY_ROW_MAX && !self.forgets;
        if is_long
            && !self.partials.reach(frame.end / BLOCK_ROWS, &*self.function, &self.args, steps)?
        {
            return Ok(false);
        }
        self.state = self.function.single()?;
        self.inside = frame.start..frame.start;
        if is_long {
            self.partials.add_to(self.state.as_mut(), &self.args, frame)?;
            self.inside = frame.clone();
            *steps = steps.saturating_sub(2 * BLOCK_ROWS);
        }
        Ok(true)
    }
}

fn part(args: &[ArrayRef], from: usize, to: usize) -> Vec<ArrayRef> {
    args.iter().map(|a| a.slice(from, to - from)).collect()
}

/// The state of an accumulator: columns of one row.
type State = Vec<ArrayRef>;

/// Partial results of blocks of rows, of pairs of these, of pairs of pairs: a tree over the rows,
/// which grows to the right.
struct Partials {
    levels: Vec<Vec<State>>,
}

impl Partials {
    /// Makes the first so many blocks known; false when there are not enough steps for that.
    fn reach(
        &mut self,
        count: usize,
        function: &dyn AggregateFunction,
        args: &[ArrayRef],
        steps: &mut usize,
    ) -> SqlResult<bool> {
        while self.levels[0].len() < count {
            if *steps == 0 {
                return Ok(false);
            }
            let first = self.levels[0].len() * BLOCK_ROWS;
            let mut state = function.single()?;
            let rows = part(args, first, first + BLOCK_ROWS);
            state.update(&rows)?;
            self.add(state.state()?, function)?;
            *steps = steps.saturating_sub(BLOCK_ROWS);
        }
        Ok(true)
    }

    /// Adds a block, and the pairs that it completes.
    fn add(&mut self, block: State, function: &dyn AggregateFunction) -> SqlResult<()> {
        self.levels[0].push(block);
        let mut level = 0;
        while self.levels[level].len().is_multiple_of(2) {
            let below = &self.levels[level];
            let mut state = function.single()?;
            for half in &below[below.len() - 2..] {
                state.merge(half)?;
            }
            let pair = state.state()?;
            level += 1;
            match self.levels.get_mut(level) {
                Some(above) => above.push(pair),
                None => self.levels.push(vec![pair]),
            }
        }
        Ok(())
    }

    /// Adds the rows of a frame, in their order, to an accumulator that is empty.
    fn add_to(
        &self,
        state: &mut dyn Single,
        args: &[ArrayRef],
        frame: &Range<usize>,
    ) -> SqlResult<()> {
        let mut block = frame.start.div_ceil(BLOCK_ROWS);
        let last = (frame.end / BLOCK_ROWS).max(block);
        let head = part(args, frame.start, (block * BLOCK_ROWS).min(frame.end));
        state.update(&head)?;
        while block < last {
            let fits = |level: &usize| {
                let size = 1usize << *level;
                block.is_multiple_of(size)
                    && block + size <= last
                    && block / size < self.levels[*level].len()
            };
            let level = (0..self.levels.len()).take_while(fits).last().unwrap_or(0);
            let partial = &self.levels[level][block >> level];
            state.merge(partial)?;
            block += 1 << level;
        }
        let tail = part(args, (last * BLOCK_ROWS).min(frame.end), frame.end);
        state.update(&tail)
    }
}
