//! Frames: which rows around each row its window function sees.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use datafusion_common::DFSchema;
use datafusion_expr::{
    ExprSchemable, Operator, SortExpr, WindowFrame, WindowFrameBound, WindowFrameUnits,
    binary_expr, cast, lit,
};
use types::equality::canonical;
use types::{SqlError, SqlResult};

use super::{Sorted, negative_offset, row_count};
use crate::error::{from_arrow, from_library};
use crate::expr::scalar::Expr;
use crate::functions::library::call;

/// Holds the sum of any two whole numbers.
const ROOMY: DataType = DataType::Decimal128(20, 0);

/// A frame.
#[derive(Clone)]
pub(super) struct Frame {
    units: WindowFrameUnits,
    start: Bound,
    end: Bound,
    /// The order's first key, for distances in values.
    key: Option<(Expr, SortOptions)>,
}

#[derive(Clone)]
enum Bound {
    First,
    Current,
    Last,
    /// Rows or groups from the current one.
    Distance(i64),
    /// The key of the bound, computed from the current row.
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
    pub fn compile(frame: &WindowFrame, order: &[SortExpr], schema: &DFSchema) -> SqlResult<Frame> {
        let key = match order.first() {
            None => None,
            Some(s) => {
                let options = SortOptions { descending: !s.asc, nulls_first: s.nulls_first };
                Some((Expr::compile(&key_of(s, schema)?, schema)?, options))
            }
        };
        let bound = |b: &WindowFrameBound| bound(b, frame.units, order, schema);
        let (start, end) = (bound(&frame.start_bound)?, bound(&frame.end_bound)?);
        Ok(Frame { units: frame.units, start, end, key })
    }

    /// Whether all rows of a partition see the same rows.
    pub fn is_whole(&self) -> bool {
        matches!((&self.start, &self.end), (Bound::First, Bound::Last))
    }

    /// Where the frame ends, if it begins with the partition and does not end in between.
    pub fn end_from_first(&self) -> Option<End> {
        match (&self.start, &self.end) {
            (Bound::First, Bound::Last) => Some(End::Partition),
            (Bound::First, Bound::Current) if self.units == WindowFrameUnits::Rows => {
                Some(End::Row)
            }
            (Bound::First, Bound::Current) => Some(End::Peers),
            _ => None,
        }
    }

    /// What it reads of each row: the order's key, if a bound is a distance in values, and such bounds.
    pub fn inputs(&self) -> Vec<Expr> {
        let bounds = [&self.start, &self.end].into_iter().filter_map(|bound| match bound {
            Bound::Value(expr) => Some(expr),
            _ => None,
        });
        let bounds: Vec<&Expr> = bounds.collect();
        let Some((key, _)) = self.key.as_ref().filter(|_| !bounds.is_empty()) else {
            return vec![];
        };
        let cast = |bound: &&Expr| (*bound).clone().cast(key.data_type());
        std::iter::once(key.clone()).chain(bounds.iter().map(cast)).collect()
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
        let edges = |bound: &Bound, values: Option<&ArrayRef>, is_start: bool| {
            let values = match bound {
                Bound::Value(_) => keys.zip(values),
                _ => None,
            };
            let side = Side { units: self.units, sorted, is_start };
            match (bound, values) {
                (_, Some(values)) => self.value_edges(values, &side, rows.clone()),
                (Bound::Value(_), None) => {
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
    units: WindowFrameUnits,
    sorted: &'a Sorted,
    is_start: bool,
}

impl Side<'_> {
    fn of(&self, rows: &Range<usize>) -> usize {
        if self.is_start { rows.start } else { rows.end }
    }

    /// For each row the first row of its frame, or the one after its last; by a bound that is no value.
    fn edges(&self, bound: &Bound, rows: Range<usize>) -> Vec<usize> {
        let by_rows = self.units == WindowFrameUnits::Rows;
        let mut edges = Vec::with_capacity(rows.len());
        for (p, part) in self.sorted.parts(rows) {
            match bound {
                Bound::First => edges.extend(part.map(|_| p.start)),
                Bound::Last => edges.extend(part.map(|_| p.end)),
                Bound::Current if by_rows => {
                    edges.extend(part.map(|row| self.of(&(row..row + 1))));
                }
                Bound::Current => edges.extend(part.map(|row| self.of(&self.sorted.peers(row)))),
                Bound::Distance(n) if by_rows => {
                    let after = i64::from(!self.is_start);
                    let clamp = |at: i64| at.clamp(p.start as i64, p.end as i64) as usize;
                    let at = |row: usize| (row as i64).saturating_add(*n).saturating_add(after);
                    edges.extend(part.map(|row| clamp(at(row))));
                }
                Bound::Distance(n) => edges.extend(part.map(|row| self.group_edge(&p, row, *n))),
                Bound::Value(_) => {}
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

/// The key by which distances are measured: whole numbers with room for what lies beyond the last
/// of them.
fn key_of(order: &SortExpr, schema: &DFSchema) -> SqlResult<datafusion_expr::Expr> {
    let key = order.expr.clone();
    Ok(match key.get_type(schema).map_err(from_library)?.is_integer() {
        true => cast(key, ROOMY),
        false => key,
    })
}

fn bound(
    bound: &WindowFrameBound,
    units: WindowFrameUnits,
    order: &[SortExpr],
    schema: &DFSchema,
) -> SqlResult<Bound> {
    let (value, sign) = match bound {
        WindowFrameBound::CurrentRow => return Ok(Bound::Current),
        WindowFrameBound::Preceding(v) if v.is_null() => return Ok(Bound::First),
        WindowFrameBound::Following(v) if v.is_null() => return Ok(Bound::Last),
        WindowFrameBound::Preceding(v) => (v, -1),
        WindowFrameBound::Following(v) => (v, 1),
    };
    if units != WindowFrameUnits::Range {
        return Ok(Bound::Distance(sign * row_count(value)?));
    }
    let [key] = order else {
        let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
        return Err(SqlError::new(types::SqlState("42P20"), message));
    };
    if value.data_type().is_numeric() && matches!(value.arithmetic_negate(), Ok(n) if n > *value) {
        return Err(negative_offset());
    }
    let minus = (sign < 0) == key.asc;
    let op = if minus { Operator::Minus } else { Operator::Plus };
    let key = key_of(key, schema)?;
    let ty = key.get_type(schema).map_err(from_library)?;
    let value = match ty.is_numeric() && value.data_type().is_numeric() {
        true => value.cast_to(&ty).map_err(from_library)?,
        false => value.clone(),
    };
    let shifted = match (&ty, value.data_type()) {
        // By our arithmetic, which knows infinity.
        (DataType::Timestamp(..), DataType::Interval(_)) => {
            let name = if minus { "time_minus_span" } else { "time_plus_span" };
            call(name, vec![key, lit(value)]).map_err(from_library)?
        }
        _ => binary_expr(key, op, lit(value)),
    };
    Ok(Bound::Value(Expr::compile(&shifted, schema)?))
}
