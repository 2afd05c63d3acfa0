//! Window functions, evaluated over rows that are sorted by partition and order.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::DataType;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, NullTreatment, WindowFunction};
use datafusion_expr::{Expr as Logical, ExprSchemable, WindowFunctionDefinition};
use types::{SqlError, SqlResult, SqlState};

use crate::cast::strict;
use crate::error::{from_arrow, from_library};
use crate::expr::aggregate::AggregateExpr;
use crate::expr::scalar::Expr;
use crate::expr::sort_key::SortKey;
use frame::Frame;

mod evaluation;
mod frame;
mod running;
mod slide;
mod sliding;
mod sorted;
#[cfg(test)]
mod tests;
mod whole;

pub use evaluation::Evaluation;
pub use running::{Piece, Running};
pub use sorted::{Begin, Sorted};

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
    inputs: Vec<Expr>,
    /// Where those of the frame begin.
    frame_at: usize,
    ty: DataType,
    text: Arc<str>,
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

impl Function {
    /// What it reads of each row, in the types in which it does.
    fn inputs(&self, args: &[Expr]) -> SqlResult<Vec<Expr>> {
        let missing = || SqlError::new(SqlState::UNDEFINED_FUNCTION, "an argument is missing");
        let arg = |at: usize| args.get(at).cloned().ok_or_else(missing);
        let integer = |at: usize| arg(at).map(|arg| arg.cast(&DataType::Int64));
        Ok(match self {
            Function::RowNumber
            | Function::Rank
            | Function::DenseRank
            | Function::PercentRank
            | Function::CumeDist => vec![],
            Function::Ntile => vec![integer(0)?],
            Function::Shift(_) => {
                let value = arg(0)?;
                let ty = value.data_type().clone();
                let mut inputs = vec![value];
                if args.len() > 1 {
                    inputs.push(integer(1)?);
                }
                if args.len() > 2 {
                    inputs.push(arg(2)?.cast(&ty));
                }
                inputs
            }
            Function::First | Function::Last => vec![arg(0)?],
            Function::Nth => vec![arg(0)?, integer(1)?],
            Function::Aggregate(call) => call.args.iter().chain(&call.filter).cloned().collect(),
        })
    }
}

impl fmt::Debug for WindowExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl WindowExpr {
    /// Compiles a bound and coerced window function over rows of `schema`; EXPLAIN shows it as
    /// `shown`.
    pub(crate) fn compile(
        expr: &Logical,
        shown: &Logical,
        schema: &DFSchema,
    ) -> SqlResult<WindowExpr> {
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
        // Of a constant all rows are peers, as without it.
        let keys = params.order_by.iter().filter(|s| !matches!(s.expr, Logical::Literal(..)));
        let order_by = keys.map(|s| {
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
        let args = params.args.iter().map(compile).collect::<SqlResult<Vec<_>>>()?;
        let frame = Frame::compile(&params.window_frame, &params.order_by, schema)?;
        let mut inputs = function.inputs(&args)?;
        let frame_at = inputs.len();
        inputs.extend(frame.inputs());
        Ok(WindowExpr {
            partition_by: params.partition_by.iter().map(compile).collect::<SqlResult<_>>()?,
            frame,
            args,
            inputs,
            frame_at,
            order_by,
            function,
            ty,
            text: crate::render::expression(shown).into(),
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

    /// What it reads of each row, for [`Evaluation::new`]: arguments, filter, and what a frame of
    /// distances compares. Errors of evaluation are those of the arguments.
    pub fn inputs(&self) -> &[Expr] {
        &self.inputs
    }

    /// The frame of each of some rows.
    fn frames(
        &self,
        sorted: &Sorted,
        inputs: &[ArrayRef],
        rows: Range<usize>,
    ) -> SqlResult<Vec<Range<usize>>> {
        self.frame.ranges(sorted, &inputs[self.frame_at..], rows)
    }

    /// Values in the type of the result.
    fn of_type(&self, value: ArrayRef) -> SqlResult<ArrayRef> {
        if value.data_type() == &self.ty {
            return Ok(value);
        }
        arrow_cast::cast_with_options(&value, &self.ty, &strict::STRICT_CAST).map_err(from_arrow)
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
