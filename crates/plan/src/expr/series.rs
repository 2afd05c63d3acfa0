//! `generate_series`, made as its values are wanted: a few at a time, and where it goes on.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Int32Type, Int64Type, IntervalMonthDayNanoType, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int32Array, Int64Array, TimestampMicrosecondArray,
};
use arrow_schema::DataType;
use types::datetime::after;
use types::equality::interval_length;
use types::zone::{self, Context};
use types::{SqlError, SqlResult, SqlState};

use crate::error::from_arrow;

/// Series of values of one type.
pub struct Series {
    ty: DataType,
    context: Context,
}

/// Values of a series, one after the other.
pub struct SeriesPart {
    /// The values, in the units of their type.
    pub values: Vec<i128>,
    /// The first value that is not among them; `None` at the end.
    pub next: Option<i128>,
}

impl Series {
    /// Series of values of this type, for a statement that works in `context`.
    pub fn new(ty: &DataType, context: Context) -> Series {
        Series { ty: ty.clone(), context }
    }

    /// Up to `limit` values of the series of one row, whose first and last values and distance
    /// stand in these columns; none where one of them is null.
    ///
    /// # Errors
    /// 22023 for a distance of nothing, 22008 beyond the last timestamp.
    pub fn part(
        &self,
        [start, stop, step]: [&ArrayRef; 3],
        row: usize,
        limit: usize,
    ) -> SqlResult<SeriesPart> {
        if start.is_null(row) || stop.is_null(row) || step.is_null(row) {
            return Ok(SeriesPart { values: vec![], next: None });
        }
        let _entered = zone::enter(self.context);
        let (first, last) = (value(start, row)?, value(stop, row)?);
        match step.data_type() {
            DataType::Interval(_) => {
                let step = step.as_primitive::<IntervalMonthDayNanoType>().value(row);
                let is_local = matches!(self.ty, DataType::Timestamp(_, Some(_)));
                let next =
                    |at: i128| after(at as i64, step, is_local).map(|at| Some(i128::from(at)));
                walk(first, last, interval_length(step), limit, next)
            }
            _ => {
                let step = value(step, row)?;
                walk(first, last, step, limit, |at| Ok(at.checked_add(step)))
            }
        }
    }

    /// Values, some of them null, as a column.
    ///
    /// # Errors
    /// XX000 for values that are not of the type.
    pub fn column(&self, values: &[Option<i128>]) -> SqlResult<ArrayRef> {
        let values = values.iter().copied();
        Ok(match &self.ty {
            DataType::Int32 => {
                Arc::new(values.map(|v| v.map(|v| v as i32)).collect::<Int32Array>())
            }
            DataType::Int64 => {
                Arc::new(values.map(|v| v.map(|v| v as i64)).collect::<Int64Array>())
            }
            ty @ DataType::Decimal128(..) => {
                Arc::new(values.collect::<Decimal128Array>().with_data_type(ty.clone()))
            }
            DataType::Timestamp(_, zone) => {
                let array = values.map(|v| v.map(|v| v as i64));
                let array: TimestampMicrosecondArray = array.collect();
                Arc::new(array.with_timezone_opt(zone.clone()))
            }
            other => return Err(no_series(other)),
        })
    }

    /// A column like `start` whose first row goes on at `next`.
    ///
    /// # Errors
    /// As of [`Series::column`].
    pub fn resumed(&self, start: &ArrayRef, next: Option<i128>) -> SqlResult<ArrayRef> {
        let rest = start.slice(1, start.len() - 1);
        let first = self.column(&[next])?;
        arrow_select::concat::concat(&[first.as_ref(), rest.as_ref()]).map_err(from_arrow)
    }
}

fn no_series(ty: &DataType) -> SqlError {
    SqlError::internal(format!("a series of {ty}"))
}

fn value(array: &ArrayRef, row: usize) -> SqlResult<i128> {
    Ok(match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value(row),
        DataType::Timestamp(..) => {
            array.as_primitive::<TimestampMicrosecondType>().value(row).into()
        }
        other => return Err(no_series(other)),
    })
}

/// Values from `first` on, as long as they are not beyond `last` in the direction of `step`.
fn walk(
    first: i128,
    last: i128,
    step: i128,
    limit: usize,
    next: impl Fn(i128) -> SqlResult<Option<i128>>,
) -> SqlResult<SeriesPart> {
    if step == 0 {
        let message = "step size cannot equal zero";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let is_within = |at: &i128| if step > 0 { *at <= last } else { *at >= last };
    let mut at = Some(first).filter(is_within);
    let mut values = Vec::new();
    while let Some(value) = at
        && values.len() < limit
    {
        values.push(value);
        at = next(value)?.filter(is_within);
    }
    Ok(SeriesPart { values, next: at })
}
