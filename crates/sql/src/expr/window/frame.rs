//! Frames: which rows around each row its window function sees.

use std::cmp::Ordering;
use std::ops::Range;

use arrow_array::Array;
use arrow_ord::ord::make_comparator;
use arrow_schema::SortOptions;
use datafusion_common::DFSchema;
use datafusion_expr::{
    ExprSchemable, Operator, SortExpr, WindowFrame, WindowFrameBound, WindowFrameUnits,
    binary_expr, lit,
};
use types::{SqlError, SqlResult};

use super::{Sorted, negative_offset, row_count};
use crate::error::{from_arrow, from_library};
use crate::expr::Expr;

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
                Some((Expr::compile(&s.expr, schema)?, options))
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

    /// The frame of each row.
    pub fn ranges(&self, sorted: &Sorted<'_>) -> SqlResult<Vec<Range<usize>>> {
        let starts = self.edges(&self.start, sorted, true)?;
        let ends = self.edges(&self.end, sorted, false)?;
        Ok(starts.into_iter().zip(ends).map(|(start, end)| start..end.max(start)).collect())
    }

    /// For each row the first row of its frame, or the one after its last.
    fn edges(&self, bound: &Bound, sorted: &Sorted<'_>, start: bool) -> SqlResult<Vec<usize>> {
        let peers = sorted.peers;
        let edge = |r: &Range<usize>| if start { r.start } else { r.end };
        let mut edges = Vec::with_capacity(sorted.rows.num_rows());
        for p in sorted.partitions {
            match bound {
                Bound::First => edges.extend(p.clone().map(|_| p.start)),
                Bound::Last => edges.extend(p.clone().map(|_| p.end)),
                Bound::Current if self.units == WindowFrameUnits::Rows => {
                    edges.extend(p.clone().map(|row| if start { row } else { row + 1 }));
                }
                Bound::Current => edges.extend(p.clone().map(|row| edge(&peers[row]))),
                Bound::Distance(n) if self.units == WindowFrameUnits::Rows => {
                    let after = i64::from(!start);
                    let clamp = |at: i64| at.clamp(p.start as i64, p.end as i64) as usize;
                    let at = |row: usize| (row as i64).saturating_add(*n).saturating_add(after);
                    edges.extend(p.clone().map(|row| clamp(at(row))));
                }
                Bound::Distance(n) => edges.extend(group_edges(p, peers, *n, start)),
                Bound::Value(_) => {}
            }
        }
        match bound {
            Bound::Value(expr) => self.value_edges(expr, sorted, start),
            _ => Ok(edges),
        }
    }

    /// Edges by value: the first row that is not before the bound, or the first after it.
    fn value_edges(&self, bound: &Expr, sorted: &Sorted<'_>, start: bool) -> SqlResult<Vec<usize>> {
        let Some((key, options)) = &self.key else {
            return Err(SqlError::internal("a RANGE frame without an order"));
        };
        let keys = key.evaluate(sorted.rows)?;
        let bounds = bound.clone().cast(keys.data_type()).evaluate(sorted.rows)?;
        let compare = make_comparator(&keys, &bounds, *options).map_err(from_arrow)?;
        let mut edges = Vec::with_capacity(keys.len());
        for p in sorted.partitions {
            for row in p.clone() {
                if keys.is_null(row) {
                    let peers = &sorted.peers[row];
                    edges.push(if start { peers.start } else { peers.end });
                    continue;
                }
                let before = |at: usize| match compare(at, row) {
                    Ordering::Less => true,
                    Ordering::Equal => !start,
                    Ordering::Greater => false,
                };
                edges.push(first_not(p, before));
            }
        }
        Ok(edges)
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

/// Edges counted in groups of peers.
fn group_edges(p: &Range<usize>, peers: &[Range<usize>], n: i64, start: bool) -> Vec<usize> {
    let mut groups: Vec<&Range<usize>> = Vec::new();
    let mut group_of = Vec::with_capacity(p.len());
    for row in p.clone() {
        if peers[row].start == row {
            groups.push(&peers[row]);
        }
        group_of.push(groups.len() as i64 - 1);
    }
    let edge = |group: i64| {
        let at = group.saturating_add(n);
        match usize::try_from(at).ok().map(|i| groups.get(i)) {
            None => p.start,
            Some(None) => p.end,
            Some(Some(group)) => {
                if start {
                    group.start
                } else {
                    group.end
                }
            }
        }
    };
    group_of.into_iter().map(edge).collect()
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
    let ty = key.expr.get_type(schema).map_err(from_library)?;
    let value = match ty.is_numeric() && value.data_type().is_numeric() {
        true => value.cast_to(&ty).map_err(from_library)?,
        false => value.clone(),
    };
    let shifted = binary_expr(key.expr.clone(), op, lit(value));
    Ok(Bound::Value(Expr::compile(&shifted, schema)?))
}
