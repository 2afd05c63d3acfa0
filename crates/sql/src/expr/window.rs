//! Window functions, evaluated over rows that are sorted by partition and order.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt32Array, UInt64Array,
};
use arrow_schema::DataType;
use arrow_select::take::take;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, NullTreatment, WindowFunction};
use datafusion_expr::{Expr as Logical, ExprSchemable, WindowFunctionDefinition};
use types::{SqlError, SqlResult, SqlState};

use super::{AggregateExpr, Expr};
use crate::error::{from_arrow, from_library};
use crate::plan::SortKey;

mod aggregate;
mod frame;
mod running;
mod slide;

use frame::Frame;
pub use running::{Piece, Running};
pub(super) use slide::slide;

/// A window function with its partition, order and frame.
#[derive(Clone)]
pub struct WindowExpr {
    /// Rows with equal values are a partition.
    pub partition_by: Vec<Expr>,
    /// The order within a partition.
    pub order_by: Vec<SortKey>,
    args: Vec<Expr>,
    function: Function,
    frame: Frame,
    ty: DataType,
    text: Arc<str>,
}

/// Sorted rows with their partitions and peers.
pub struct Sorted<'a> {
    /// The rows in order.
    pub rows: &'a RecordBatch,
    /// The partitions, in order.
    pub partitions: &'a [Range<usize>],
    /// For each row the rows that are equal in partition and order.
    pub peers: &'a [Range<usize>],
}

#[derive(Clone)]
enum Function {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    /// `lag` (negative) and `lead`.
    Shift(i64),
    First,
    Last,
    Nth,
    Aggregate(Box<AggregateExpr>),
}

impl fmt::Debug for WindowExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl WindowExpr {
    /// Compiles a bound and coerced window function over rows of `schema`.
    pub(crate) fn compile(expr: &Logical, schema: &DFSchema) -> SqlResult<WindowExpr> {
        let mut bare = expr;
        while let Logical::Alias(alias) = bare {
            bare = &alias.expr;
        }
        let Logical::WindowFunction(call) = bare else {
            return Err(SqlError::internal(format!("not a window function: {bare}")));
        };
        let compile = |e: &Logical| Expr::compile(e, schema);
        let params = &call.params;
        if params.null_treatment == Some(NullTreatment::IgnoreNulls) {
            return Err(SqlError::unsupported("IGNORE NULLS"));
        }
        let order_by = params.order_by.iter().map(|s| {
            let expr = compile(&s.expr)?;
            Ok(SortKey { expr, descending: !s.asc, nulls_first: s.nulls_first })
        });
        let order_by = order_by.collect::<SqlResult<Vec<_>>>()?;
        let (_, field) = bare.to_field(schema).map_err(from_library)?;
        let function = function(call, schema)?;
        let ty = match &function {
            Function::Aggregate(aggregate) => aggregate.data_type(),
            _ => field.data_type().clone(),
        };
        Ok(WindowExpr {
            partition_by: params.partition_by.iter().map(compile).collect::<SqlResult<_>>()?,
            frame: Frame::compile(&params.window_frame, &params.order_by, schema)?,
            args: params.args.iter().map(compile).collect::<SqlResult<_>>()?,
            order_by,
            function,
            ty,
            text: crate::render::expression(bare).into(),
        })
    }

    /// The type of the result.
    pub fn data_type(&self) -> &DataType {
        &self.ty
    }

    /// The type of what [`Running::push`] gives, which [`Running::finish`] makes the result of.
    pub fn given_type(&self) -> DataType {
        match self.function {
            Function::PercentRank | Function::CumeDist => DataType::UInt64,
            _ => self.ty.clone(),
        }
    }

    /// As SQL-like text, for `EXPLAIN`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value of each row, in the order of the rows.
    ///
    /// Errors: those of the arguments, 22013 for a negative offset of a frame, 22014 and 22016 for
    /// arguments of `ntile` and `nth_value` that are not positive.
    pub fn evaluate(&self, sorted: &Sorted<'_>) -> SqlResult<ArrayRef> {
        let ranks = |f: &dyn Fn(usize, &Range<usize>) -> u64| -> ArrayRef {
            let values = sorted.partitions.iter().flat_map(|p| p.clone().map(|row| f(row, p)));
            Arc::new(values.collect::<UInt64Array>())
        };
        let shares = |f: &dyn Fn(usize, &Range<usize>) -> f64| -> ArrayRef {
            let values = sorted.partitions.iter().flat_map(|p| p.clone().map(|row| f(row, p)));
            Arc::new(values.collect::<Float64Array>())
        };
        let peers = sorted.peers;
        let value = match &self.function {
            Function::RowNumber => ranks(&|row, p| (row - p.start) as u64 + 1),
            Function::Rank => ranks(&|row, p| (peers[row].start - p.start) as u64 + 1),
            Function::DenseRank => self.dense_rank(sorted),
            Function::PercentRank => shares(&|row, p| match p.len() {
                1 => 0.0,
                n => (peers[row].start - p.start) as f64 / (n - 1) as f64,
            }),
            Function::CumeDist => {
                shares(&|row, p| (peers[row].end - p.start) as f64 / p.len() as f64)
            }
            Function::Ntile => self.ntile(sorted)?,
            Function::Shift(sign) => self.shift(sorted, *sign)?,
            Function::First | Function::Last | Function::Nth => self.nth(sorted)?,
            Function::Aggregate(call) => aggregate::evaluate(call, &self.frame, sorted)?,
        };
        self.of_type(value)
    }

    /// Values in the type of the result.
    fn of_type(&self, value: ArrayRef) -> SqlResult<ArrayRef> {
        if value.data_type() == &self.ty {
            return Ok(value);
        }
        arrow_cast::cast_with_options(&value, &self.ty, &super::STRICT_CAST).map_err(from_arrow)
    }

    fn dense_rank(&self, sorted: &Sorted<'_>) -> ArrayRef {
        let mut ranks = Vec::with_capacity(sorted.rows.num_rows());
        for partition in sorted.partitions {
            let mut rank = 0;
            for row in partition.clone() {
                rank += u64::from(sorted.peers[row].start == row);
                ranks.push(rank);
            }
        }
        Arc::new(UInt64Array::from(ranks))
    }

    fn ntile(&self, sorted: &Sorted<'_>) -> SqlResult<ArrayRef> {
        let counts: ArrayRef = Arc::new(self.integers(0, sorted)?);
        let of = |p: &Range<usize>| tiles(&counts.slice(p.start, 1), 0..p.len(), p.len());
        let parts = sorted.partitions.iter().map(of).collect::<SqlResult<Vec<_>>>()?;
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        match parts.is_empty() {
            true => Ok(Arc::new(UInt64Array::from(Vec::<u64>::new()))),
            false => arrow_select::concat::concat(&parts).map_err(from_arrow),
        }
    }

    /// The values that many rows before or after.
    fn shift(&self, sorted: &Sorted<'_>, sign: i64) -> SqlResult<ArrayRef> {
        let values = self.args[0].evaluate(sorted.rows)?;
        let offsets = match self.args.len() {
            1 => Int64Array::from(vec![1; sorted.rows.num_rows()]),
            _ => self.integers(1, sorted)?,
        };
        let mut from: Vec<Option<u32>> = Vec::with_capacity(values.len());
        let mut outside: Vec<bool> = Vec::with_capacity(values.len());
        for p in sorted.partitions {
            for row in p.clone() {
                let known = !offsets.is_null(row);
                let shift = if known { offsets.value(row).saturating_mul(sign) } else { 0 };
                let at = (row as i64).saturating_add(shift);
                let inside = at >= p.start as i64 && at < p.end as i64;
                from.push((known && inside).then_some(at as u32));
                outside.push(known && !inside);
            }
        }
        let shifted = take(&values, &UInt32Array::from(from), None).map_err(from_arrow)?;
        let Some(default) = self.args.get(2) else { return Ok(shifted) };
        let default = default.clone().cast(values.data_type()).evaluate(sorted.rows)?;
        let outside = BooleanArray::from(outside);
        arrow_select::zip::zip(&outside, &default, &shifted).map_err(from_arrow)
    }

    /// `first_value`, `last_value` and `nth_value`: a row of the frame.
    fn nth(&self, sorted: &Sorted<'_>) -> SqlResult<ArrayRef> {
        let values = self.args[0].evaluate(sorted.rows)?;
        let frames = self.frame.ranges(sorted)?;
        let places = match self.function {
            Function::Nth => Some(self.integers(1, sorted)?),
            _ => None,
        };
        let place = |row: usize| -> SqlResult<Option<u32>> {
            let frame = &frames[row];
            let at = match (&self.function, &places) {
                (Function::First, _) => frame.start,
                (Function::Last, _) => frame.end.wrapping_sub(1),
                (_, Some(n)) if n.is_null(row) => return Ok(None),
                (_, Some(n)) if n.value(row) <= 0 => return Err(not_positive_place()),
                (_, Some(n)) => frame.start + (n.value(row) - 1) as usize,
                (_, None) => return Ok(None),
            };
            Ok(frame.contains(&at).then_some(at as u32))
        };
        let places = (0..values.len()).map(place).collect::<SqlResult<UInt32Array>>()?;
        take(&values, &places, None).map_err(from_arrow)
    }

    /// An integer argument for each row.
    fn integers(&self, position: usize, sorted: &Sorted<'_>) -> SqlResult<Int64Array> {
        let Some(arg) = self.args.get(position) else {
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, "an argument is missing"));
        };
        let values = arg.clone().cast(&DataType::Int64).evaluate(sorted.rows)?;
        Ok(values.as_primitive::<Int64Type>().clone())
    }
}

/// The tiles of `rows` of a partition of `total` rows, which are as many as the one value of `count`
/// says.
fn tiles(count: &ArrayRef, rows: Range<usize>, total: usize) -> SqlResult<ArrayRef> {
    let count = count.as_primitive::<Int64Type>();
    if count.is_null(0) {
        return Ok(Arc::new(UInt64Array::new_null(rows.len())));
    }
    let tile_count = count.value(0);
    if tile_count <= 0 {
        let message = "argument of ntile must be greater than zero";
        return Err(SqlError::new(SqlState("22014"), message));
    }
    let (total, tile_count) = (total as u64, tile_count as u64);
    // The first tiles have one row more.
    let (small, larger) = (total / tile_count, total % tile_count);
    let tile = |i: u64| match i < larger * (small + 1) {
        true => i / (small + 1) + 1,
        false => larger + (i - larger * (small + 1)) / small.max(1) + 1,
    };
    Ok(Arc::new(UInt64Array::from_iter_values(rows.map(|row| tile(row as u64)))))
}

fn not_positive_place() -> SqlError {
    SqlError::new(SqlState("22016"), "argument of nth_value must be greater than zero")
}

fn function(call: &WindowFunction, schema: &DFSchema) -> SqlResult<Function> {
    let name = match &call.fun {
        WindowFunctionDefinition::WindowUDF(function) => function.name().to_owned(),
        WindowFunctionDefinition::AggregateUDF(function) => match function.name() {
            "first_value" | "last_value" | "nth_value" => function.name().to_owned(),
            _ => {
                let params = &call.params;
                let aggregate = Logical::AggregateFunction(AggregateFunction::new_udf(
                    Arc::clone(function),
                    params.args.clone(),
                    params.distinct,
                    params.filter.clone(),
                    vec![],
                    None,
                ));
                let aggregate = AggregateExpr::compile(&aggregate, schema)?;
                return Ok(Function::Aggregate(Box::new(aggregate)));
            }
        },
    };
    Ok(match name.as_str() {
        "row_number" => Function::RowNumber,
        "rank" => Function::Rank,
        "dense_rank" => Function::DenseRank,
        "percent_rank" => Function::PercentRank,
        "cume_dist" => Function::CumeDist,
        "ntile" => Function::Ntile,
        "lag" => Function::Shift(-1),
        "lead" => Function::Shift(1),
        "first_value" => Function::First,
        "last_value" => Function::Last,
        "nth_value" => Function::Nth,
        other => return Err(SqlError::unsupported(format!("the window function {other}"))),
    })
}

/// A constant of a frame's bound as a number of rows.
fn row_count(value: &ScalarValue) -> SqlResult<i64> {
    let count = value.cast_to(&DataType::Int64).map_err(from_library)?;
    match count {
        ScalarValue::Int64(Some(n)) if n >= 0 => Ok(n),
        _ => Err(negative_offset()),
    }
}

fn negative_offset() -> SqlError {
    SqlError::new(SqlState("22013"), "frame offset must not be negative")
}
