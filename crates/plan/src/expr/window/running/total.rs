//! Functions of a frame that begins with the partition and ends with the current row, with its last
//! peer, or with the partition.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, new_null_array};
use types::{SqlError, SqlResult};

use super::super::frame::End;
use super::super::{WindowExpr, WindowFunction, not_positive_place};
use super::{Piece, Rows, cut, groups, merged};
use crate::error::from_arrow;
use crate::expr::aggregate::AggregateKind;
use crate::expr::average;
use crate::expr::function::Single;

/// A function of all rows so far.
pub(super) struct Total {
    end: End,
    so_far: SoFar,
    /// Rows that wait for the end of their frame.
    open: usize,
}

/// What is known of the rows so far.
enum SoFar {
    /// The value of the first row.
    First(Option<ArrayRef>),
    /// The value of the last row.
    Last(Option<ArrayRef>),
    /// The value of the row of a number that counts from 1, once that row has come.
    Nth {
        wanted: Option<Wanted>,
        seen: i64,
        value: Option<ArrayRef>,
    },
    Count(i64),
    Foreign(Box<dyn Single>),
    Average {
        sum: Box<dyn Single>,
        count: Box<dyn Single>,
    },
}

/// The row that `nth_value` asks for; null is none.
type Wanted = Option<i64>;

impl Total {
    /// `None` when the function's frame is another one.
    pub(super) fn new(function: &WindowExpr) -> SqlResult<Option<Total>> {
        let Some(end) = function.frame.end_from_first() else { return Ok(None) };
        let so_far = match &function.function {
            WindowFunction::First => SoFar::First(None),
            WindowFunction::Last => SoFar::Last(None),
            WindowFunction::Nth => SoFar::Nth { wanted: None, seen: 0, value: None },
            WindowFunction::Aggregate(call) => match &call.kind {
                AggregateKind::Rows => SoFar::Count(0),
                AggregateKind::Foreign { function, .. } => SoFar::Foreign(function.single()?),
                AggregateKind::Average { sum, count, .. } => {
                    SoFar::Average { sum: sum.single()?, count: count.single()? }
                }
            },
            _ => return Ok(None),
        };
        Ok(Some(Total { end, so_far, open: 0 }))
    }

    pub(super) fn push(&mut self, function: &WindowExpr, rows: &Rows<'_>) -> SqlResult<Vec<Piece>> {
        let input = Input::of(function, rows)?;
        let row_count = rows.begins.len();
        let mut pieces = vec![];
        match self.end {
            End::Partition => {
                self.so_far.add(&input, 0..row_count)?;
                self.open += row_count;
            }
            End::Row => {
                for row in 0..row_count {
                    self.so_far.add(&input, row..row + 1)?;
                    pieces.push(Piece::Same(self.so_far.value(function)?, 1));
                }
            }
            End::Peers => {
                for group in groups(rows.begins) {
                    if rows.begins[group.start] {
                        pieces.extend(self.closed(function)?);
                    }
                    self.open += group.len();
                    self.so_far.add(&input, group)?;
                }
            }
        }
        Ok(merged(pieces))
    }

    pub(super) fn end(&mut self, function: &WindowExpr) -> SqlResult<Vec<Piece>> {
        Ok(self.closed(function)?.into_iter().collect())
    }

    /// The value of the rows that waited.
    fn closed(&mut self, function: &WindowExpr) -> SqlResult<Option<Piece>> {
        let open = std::mem::take(&mut self.open);
        match open {
            0 => Ok(None),
            open => Ok(Some(Piece::Same(self.so_far.value(function)?, open))),
        }
    }
}

/// The arguments of some rows.
struct Input {
    values: Vec<ArrayRef>,
    filter: Option<ArrayRef>,
}

impl Input {
    fn of(function: &WindowExpr, rows: &Rows<'_>) -> SqlResult<Input> {
        let (args, filter) = match &function.function {
            WindowFunction::Aggregate(call) => (&call.args[..], call.filter.as_ref()),
            _ => (function.args(), None),
        };
        let values = args.iter().map(|arg| arg.evaluate(rows.batch)).collect::<SqlResult<_>>()?;
        let filter = filter.map(|filter| filter.evaluate(rows.batch)).transpose()?;
        Ok(Input { values, filter })
    }

    /// The arguments of those rows in a range that the filter keeps, and how many these are.
    fn part(&self, range: Range<usize>) -> SqlResult<(Vec<ArrayRef>, usize)> {
        let slice = |values: &ArrayRef| values.slice(range.start, range.len());
        let Some(filter) = &self.filter else {
            return Ok((self.values.iter().map(slice).collect(), range.len()));
        };
        let filter = slice(filter);
        let kept = filter.as_boolean().iter().map(|kept| Some(kept == Some(true)));
        let mask: BooleanArray = kept.collect();
        let keep = |values: &ArrayRef| arrow_select::filter::filter(&slice(values), &mask);
        let values = self.values.iter().map(keep).collect::<Result<_, _>>().map_err(from_arrow)?;
        Ok((values, mask.true_count()))
    }
}

impl SoFar {
    /// Adds rows, at least one.
    fn add(&mut self, input: &Input, range: Range<usize>) -> SqlResult<()> {
        let one = |row: usize| cut(&input.values[0], row..row + 1).map(Some);
        match self {
            SoFar::First(value) => {
                if value.is_none() {
                    *value = one(range.start)?;
                }
            }
            SoFar::Last(value) => *value = one(range.end - 1)?,
            SoFar::Nth { wanted, seen, value } => {
                let given = place(&input.values[1])?;
                let wanted = *wanted.get_or_insert(given);
                if wanted != given {
                    return Err(changing_place());
                }
                let at = wanted.and_then(|wanted| usize::try_from(wanted - *seen - 1).ok());
                if let Some(at) = at.filter(|at| *at < range.len()) {
                    *value = one(range.start + at)?;
                }
                *seen += range.len() as i64;
            }
            SoFar::Count(count) => *count += input.part(range)?.1 as i64,
            SoFar::Foreign(state) => state.update(&input.part(range)?.0)?,
            SoFar::Average { sum, count } => {
                let (values, _) = input.part(range)?;
                sum.update(&values)?;
                count.update(&values)?;
            }
        }
        Ok(())
    }

    /// The value by now, as one row.
    fn value(&mut self, function: &WindowExpr) -> SqlResult<ArrayRef> {
        let one = |state: &mut Box<dyn Single>| {
            let array = state.evaluate()?.to_array();
            array.map_err(|error| SqlError::internal(error.to_string()))
        };
        Ok(match self {
            SoFar::First(value) | SoFar::Last(value) | SoFar::Nth { value, .. } => match value {
                Some(value) => Arc::clone(value),
                None => new_null_array(&function.ty, 1),
            },
            SoFar::Count(count) => Arc::new(Int64Array::from(vec![*count])),
            SoFar::Foreign(state) => one(state)?,
            SoFar::Average { sum, count } => average::divide(&one(sum)?, &one(count)?)?,
        })
    }
}

/// The place that `nth_value` asks for: the same for all rows.
fn place(places: &ArrayRef) -> SqlResult<Wanted> {
    let places = places.as_primitive::<Int64Type>();
    let first = places.is_valid(0).then(|| places.value(0));
    match first {
        _ if places.iter().any(|place| place != first) => Err(changing_place()),
        Some(place) if place <= 0 => Err(not_positive_place()),
        place => Ok(place),
    }
}

fn changing_place() -> SqlError {
    let what = "nth_value with a place that changes within a partition beyond work_mem";
    SqlError::unsupported(what).with_hint("Raise work_mem.")
}
