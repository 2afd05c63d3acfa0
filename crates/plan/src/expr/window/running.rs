//! A window function over one partition that comes in pieces, for partitions that do not fit in
//! memory.
//!
//! A value is given as soon as it is known, in the order of the rows: of `rank` at once, of a sum
//! up to the current row's peers when the last of these has come, of a sum over the partition at
//! its end. What depends on how many rows the partition has (`ntile`) is given without it, and
//! finished when that number is known. A frame that moves keeps the rows that it may still see.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_select::take::take;
use types::SqlResult;

use super::{WindowExpr, WindowFunction};
use crate::error::from_arrow;

mod moving;
mod shift;
mod total;

use moving::Moving;
use shift::Shift;
use total::Total;

/// Values of rows that follow each other.
#[derive(Clone, Debug)]
pub enum Piece {
    /// One for each row.
    Each(ArrayRef),
    /// The one value of so many rows.
    Same(ArrayRef, usize),
}

/// A window function in the middle of a partition.
pub struct Running {
    function: WindowExpr,
    state: State,
}

/// Rows of a partition in order, with the first rows of each group of peers marked.
pub(super) struct Rows<'a> {
    pub batch: &'a RecordBatch,
    /// True if a row is not a peer of the one before.
    pub begins: &'a [bool],
    /// Rows of the partition before these.
    pub before: usize,
}

enum State {
    /// Nothing has to be known of the rows but their number.
    RowNumber,
    /// The tiles that the first row asks for.
    Ntile(Option<ArrayRef>),
    /// `rank`, `dense_rank`, and `percent_rank` but for the division.
    Rank {
        first_peer: u64,
        groups: u64,
    },
    /// `cume_dist` but for the division: the rows up to the last peer.
    CumeDist {
        open: usize,
        seen: usize,
    },
    Shift(Shift),
    /// A frame that begins with the partition.
    Total(Box<Total>),
    Moving(Moving),
}

impl WindowExpr {
    /// The function before the first row of a partition.
    ///
    /// # Errors
    /// What the library says of an aggregate.
    pub fn running(&self) -> SqlResult<Running> {
        let state = match &self.function {
            WindowFunction::RowNumber => State::RowNumber,
            WindowFunction::Ntile => State::Ntile(None),
            WindowFunction::Rank | WindowFunction::DenseRank | WindowFunction::PercentRank => {
                State::Rank { first_peer: 0, groups: 0 }
            }
            WindowFunction::CumeDist => State::CumeDist { open: 0, seen: 0 },
            WindowFunction::Shift(sign) => State::Shift(Shift::new(*sign)),
            _ => match Total::new(self)? {
                Some(total) => State::Total(Box::new(total)),
                None => State::Moving(Moving::default()),
            },
        };
        Ok(Running { function: self.clone(), state })
    }
}

impl Running {
    /// Takes the next rows; `begins` marks rows that are no peers of the row before, `before`
    /// counts the rows of the partition that came earlier. Gives the values that are known by now.
    ///
    /// # Errors
    /// Those of [`WindowExpr::evaluate`]; 0A000 for a distance of `lag` and `lead` that changes
    /// from row to row.
    pub fn push(
        &mut self,
        batch: &RecordBatch,
        begins: &[bool],
        before: usize,
    ) -> SqlResult<Vec<Piece>> {
        let rows = Rows { batch, begins, before };
        let function = &self.function;
        let pieces = match &mut self.state {
            State::RowNumber => vec![],
            State::Ntile(count) => {
                if count.is_none() {
                    let first = batch.slice(0, 1);
                    *count = Some(function.args()[0].evaluate(&first)?);
                }
                vec![]
            }
            State::Rank { first_peer, groups } => {
                let dense = matches!(function.function, WindowFunction::DenseRank);
                vec![Piece::Each(ranks(&rows, first_peer, groups, dense))]
            }
            State::CumeDist { open, seen } => closed_groups(&rows, open, seen),
            State::Shift(shift) => shift.push(function, batch)?,
            State::Total(total) => total.push(function, &rows)?,
            State::Moving(moving) => moving.push(function, &rows)?,
        };
        self.typed(pieces)
    }

    /// Ends the partition; the values of all rows that have none yet.
    ///
    /// # Errors
    /// As [`Running::push`].
    pub fn end(&mut self) -> SqlResult<Vec<Piece>> {
        let function = &self.function;
        let pieces = match &mut self.state {
            State::RowNumber | State::Ntile(_) | State::Rank { .. } => vec![],
            State::CumeDist { open, seen } => {
                let value: ArrayRef = Arc::new(UInt64Array::from(vec![*seen as u64]));
                vec![Piece::Same(value, std::mem::take(open))]
            }
            State::Shift(shift) => shift.end(),
            State::Total(total) => total.end(function)?,
            State::Moving(moving) => moving.end(function)?,
        };
        self.typed(pieces)
    }

    /// True if values come from [`Running::push`] and [`Running::end`]; otherwise all come from
    /// [`Running::finish`].
    pub fn gives_values(&self) -> bool {
        !matches!(self.state, State::RowNumber | State::Ntile(_))
    }

    /// The values of the `count` rows from row `first` of the partition on, which has `total`;
    /// `given` is what was given for them.
    ///
    /// # Errors
    /// 22014 for a number of tiles that is not positive.
    pub fn finish(
        &self,
        given: Option<&ArrayRef>,
        first: usize,
        count: usize,
        total: usize,
    ) -> SqlResult<ArrayRef> {
        let numbers = || (first as u64 + 1)..=((first + count) as u64);
        let value: ArrayRef = match (&self.state, given) {
            (State::RowNumber, _) => Arc::new(UInt64Array::from_iter_values(numbers())),
            (State::Ntile(Some(tiles)), _) => super::tiles(tiles, first..first + count, total)?,
            (State::Rank { .. }, Some(ranks))
                if matches!(self.function.function, WindowFunction::PercentRank) =>
            {
                let share = |rank: u64| match total {
                    0 | 1 => 0.0,
                    n => (rank - 1) as f64 / (n - 1) as f64,
                };
                Arc::new(shares(ranks, share))
            }
            (State::CumeDist { .. }, Some(ends)) => {
                Arc::new(shares(ends, |end| end as f64 / total as f64))
            }
            (_, Some(given)) => return Ok(Arc::clone(given)),
            (_, None) => return Err(types::SqlError::internal("a window function gave no values")),
        };
        self.function.of_type(value)
    }

    /// Bytes of the rows that it keeps.
    pub fn bytes(&self) -> usize {
        match &self.state {
            State::Shift(shift) => shift.bytes(),
            State::Moving(moving) => moving.bytes(),
            _ => 0,
        }
    }

    /// Values in the type of the result, but for those that are not finished.
    fn typed(&self, pieces: Vec<Piece>) -> SqlResult<Vec<Piece>> {
        let unfinished = matches!(
            self.function.function,
            WindowFunction::PercentRank | WindowFunction::CumeDist
        );
        let typed = |piece| match piece {
            piece if unfinished => Ok(piece),
            Piece::Each(values) => Ok(Piece::Each(self.function.of_type(values)?)),
            Piece::Same(value, count) => Ok(Piece::Same(self.function.of_type(value)?, count)),
        };
        let has_rows = |piece: &Piece| match piece {
            Piece::Each(values) => !values.is_empty(),
            Piece::Same(_, count) => *count > 0,
        };
        pieces.into_iter().filter(has_rows).map(typed).collect()
    }
}

fn ranks(rows: &Rows<'_>, first_peer: &mut u64, groups: &mut u64, dense: bool) -> ArrayRef {
    let rank = |(at, begins): (usize, &bool)| {
        if *begins {
            *first_peer = (rows.before + at) as u64 + 1;
            *groups += 1;
        }
        if dense { *groups } else { *first_peer }
    };
    Arc::new(rows.begins.iter().enumerate().map(rank).collect::<UInt64Array>())
}

/// For each row of a group that has ended the rows up to its last peer; `open` rows wait for
/// theirs.
fn closed_groups(rows: &Rows<'_>, open: &mut usize, seen: &mut usize) -> Vec<Piece> {
    let mut pieces = vec![];
    for group in groups(rows.begins) {
        if rows.begins[group.start] {
            let value: ArrayRef = Arc::new(UInt64Array::from(vec![*seen as u64]));
            pieces.push(Piece::Same(value, std::mem::take(open)));
        }
        *open += group.len();
        *seen += group.len();
    }
    merged(pieces)
}

/// The rows between one beginning of a group and the next.
fn groups(begins: &[bool]) -> Vec<std::ops::Range<usize>> {
    let mut starts: Vec<usize> = (0..begins.len()).filter(|&at| at == 0 || begins[at]).collect();
    starts.push(begins.len());
    starts.windows(2).map(|pair| pair[0]..pair[1]).filter(|group| !group.is_empty()).collect()
}

/// Short runs of the same value become values of each row.
fn merged(pieces: Vec<Piece>) -> Vec<Piece> {
    /// Longer runs stay what they are.
    const SHORT: usize = 4096;
    let mut found: Vec<Piece> = vec![];
    let mut short: Vec<(ArrayRef, usize)> = vec![];
    let flush = |short: &mut Vec<(ArrayRef, usize)>, found: &mut Vec<Piece>| {
        if short.is_empty() {
            return;
        }
        let values: Vec<&dyn Array> = short.iter().map(|(value, _)| &**value).collect();
        let repeated =
            short.iter().zip(0u32..).flat_map(|((_, n), at)| std::iter::repeat_n(at, *n));
        let rows = UInt32Array::from_iter_values(repeated);
        let values = arrow_select::concat::concat(&values).expect("values of one type");
        found.push(Piece::Each(take(&values, &rows, None).expect("places of values")));
        short.clear();
    };
    for piece in pieces {
        match piece {
            Piece::Same(value, count) if count <= SHORT => short.push((value, count)),
            piece => {
                flush(&mut short, &mut found);
                found.push(piece);
            }
        }
    }
    flush(&mut short, &mut found);
    found
}

fn shares(counts: &ArrayRef, share: impl Fn(u64) -> f64) -> Float64Array {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    counts.as_primitive::<UInt64Type>().values().iter().map(|&n| Some(share(n))).collect()
}

/// The values at `range`, without the memory of all others.
fn cut(values: &ArrayRef, range: std::ops::Range<usize>) -> SqlResult<ArrayRef> {
    let rows = UInt32Array::from_iter_values(range.map(|at| at as u32));
    take(values, &rows, None).map_err(from_arrow)
}
