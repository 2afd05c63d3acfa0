//! Frames: which rows around each row its window function sees.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_ord::ord::make_comparator;
use arrow_schema::SortOptions;
use types::equality::canonical;
use types::{SqlError, SqlResult};

use super::Sorted;
use crate::error::from_arrow;
use crate::expr::scalar::Expr;

/// The units in which a frame is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnits {
    /// `ROWS`
    Rows,
    /// `RANGE`
    Range,
    /// `GROUPS`
    Groups,
}

/// A frame.
#[derive(Clone)]
pub struct Frame {
    /// Units of its bounds.
    pub units: FrameUnits,
    /// Where it begins.
    pub start: FrameBound,
    /// Where it ends.
    pub end: FrameBound,
    /// The order's first key, for distances in values.
    pub key: Option<(Expr, SortOptions)>,
}

/// A bound of a frame.
#[derive(Clone)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`
    First,
    /// `CURRENT ROW`
    Current,
    /// `UNBOUNDED FOLLOWING`
    Last,
    /// Rows or groups from the current one; negative before it.
    Distance(i64),
    /// The key of the bound, computed from the current row, of the type of the frame's key.
    Value(Expr),
}

/// The last row of a frame that begins with its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The current row.
    Row,
    /// The last peer of the current row.
    Peers,
    /// The last row of the partition.
    Partition,
}

impl Frame {
    /// True if all rows of a partition see the same rows.
    pub fn is_whole(&self) -> bool {
        matches!((&self.start, &self.end), (FrameBound::First, FrameBound::Last))
    }

    /// Where the frame ends, if it begins with the partition and does not end in between.
    pub(super) fn end_from_first(&self) -> Option<End> {
        match (&self.start, &self.end) {
            (FrameBound::First, FrameBound::Last) => Some(End::Partition),
            (FrameBound::First, FrameBound::Current) if self.units == FrameUnits::Rows => {
                Some(End::Row)
            }
            (FrameBound::First, FrameBound::Current) => Some(End::Peers),
            _ => None,
        }
    }

    /// What it reads of each row: the order's key, if a bound is a distance in values, and such
    /// bounds.
    pub fn inputs(&self) -> Vec<Expr> {
        let bounds = [&self.start, &self.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Value(expr) => Some(expr),
            _ => None,
        });
        let bounds: Vec<&Expr> = bounds.collect();
        let Some((key, _)) = self.key.as_ref().filter(|_| !bounds.is_empty()) else {
            return vec![];
        };
        std::iter::once(key).chain(bounds).cloned().collect()
    }

    /// The frame of each of `rows`; `inputs` are the values of [`Frame::inputs`] for all rows.
    pub fn ranges(
        &self,
        sorted: &Sorted,
        inputs: &[ArrayRef],
        rows: Range<usize>,
    ) -> SqlResult<Vec<Range<usize>>> {
        let (keys, bounds) = match inputs.split_first() {
            Some((keys, bounds)) => (Some(keys), bounds),
            None => (None, inputs),
        };
        let edges = |bound: &FrameBound, values: Option<&ArrayRef>, is_start: bool| {
            let values = match bound {
                FrameBound::Value(_) => keys.zip(values),
                _ => None,
            };
            let side = Side { units: self.units, sorted, is_start };
            match (bound, values) {
                (_, Some(values)) => self.value_edges(values, &side, rows.clone()),
                (FrameBound::Value(_), None) => {
                    Err(SqlError::internal("a RANGE frame without an order"))
                }
                (bound, None) => Ok(side.edges(bound, rows.clone())),
            }
        };
        let starts = edges(&self.start, bounds.first(), true)?;
        let ends = edges(&self.end, bounds.last(), false)?;
        Ok(starts.into_iter().zip(ends).map(|(start, end)| start..end.max(start)).collect())
    }

    /// Edges by value: the first row that is not before the bound, or the first after it.
    fn value_edges(
        &self,
        (keys, bounds): (&ArrayRef, &ArrayRef),
        side: &Side<'_>,
        rows: Range<usize>,
    ) -> SqlResult<Vec<usize>> {
        let options = self.key.as_ref().map(|(_, options)| *options).unwrap_or_default();
        let compare =
            make_comparator(&canonical(keys), &canonical(bounds), options).map_err(from_arrow)?;
        let mut edges = Vec::with_capacity(rows.len());
        for (p, part) in side.sorted.parts(rows) {
            for row in part {
                if keys.is_null(row) {
                    edges.push(side.of(&side.sorted.peers(row)));
                    continue;
                }
                let before = |at: usize| match compare(at, row) {
                    Ordering::Less => true,
                    Ordering::Equal => !side.is_start,
                    Ordering::Greater => false,
                };
                edges.push(first_not(&p, before));
            }
        }
        Ok(edges)
    }
}

/// One end of the frames of rows.
struct Side<'a> {
    units: FrameUnits,
    sorted: &'a Sorted,
    is_start: bool,
}

impl Side<'_> {
    fn of(&self, rows: &Range<usize>) -> usize {
        if self.is_start { rows.start } else { rows.end }
    }

    /// For each row the first row of its frame, or the one after its last; by a bound that is no
    /// value.
    fn edges(&self, bound: &FrameBound, rows: Range<usize>) -> Vec<usize> {
        let by_rows = self.units == FrameUnits::Rows;
        let mut edges = Vec::with_capacity(rows.len());
        for (p, part) in self.sorted.parts(rows) {
            match bound {
                FrameBound::First => edges.extend(part.map(|_| p.start)),
                FrameBound::Last => edges.extend(part.map(|_| p.end)),
                FrameBound::Current if by_rows => {
                    edges.extend(part.map(|row| self.of(&(row..row + 1))));
                }
                FrameBound::Current => {
                    edges.extend(part.map(|row| self.of(&self.sorted.peers(row))))
                }
                FrameBound::Distance(n) if by_rows => {
                    let after = i64::from(!self.is_start);
                    let clamp = |at: i64| at.clamp(p.start as i64, p.end as i64) as usize;
                    let at = |row: usize| (row as i64).saturating_add(*n).saturating_add(after);
                    edges.extend(part.map(|row| clamp(at(row))));
                }
                FrameBound::Distance(n) => {
                    edges.extend(part.map(|row| self.group_edge(&p, row, *n)))
                }
                FrameBound::Value(_) => {}
            }
        }
        edges
    }

    /// The edge that is so many groups of peers from a row's own.
    fn group_edge(&self, p: &Range<usize>, row: usize, n: i64) -> usize {
        let first = self.sorted.group_number(p.start) as i64;
        let last = self.sorted.group_number(p.end - 1) as i64;
        let at = (self.sorted.group_number(row) as i64).saturating_add(n);
        match at {
            at if at < first => p.start,
            at if at > last => p.end,
            at => self.of(&self.sorted.group(at as usize)),
        }
    }
}

/// The first row of a partition for which the monotonous condition is false.
fn first_not(partition: &Range<usize>, condition: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (partition.start, partition.end);
    while low < high {
        let middle = low.midpoint(high);
        if condition(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
