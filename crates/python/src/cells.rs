//! Values of vectors as values of Python.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{Array, ArrayAccessor, RecordBatch};
use arrow_schema::DataType;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyDate, PyDateTime, PyDelta, PyList, PyString, PyTime, PyTuple, PyTzInfo,
};
use types::datetime::civil_of;
use types::text;

use crate::error::refused;

const DAY_US: i64 = 86_400_000_000;

type Value<'py> = Bound<'py, PyAny>;

/// The rows of a batch.
pub(crate) fn tuples<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyList>> {
    let classes = Classes::new(py)?;
    let columns = batch.columns().iter().map(|array| values(&classes, array));
    let columns = columns.collect::<PyResult<Vec<_>>>()?;
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    let tuples = (0..batch.num_rows()).map(|_| {
        let row = columns.iter_mut().map(|column| column.next().expect("each row has a value"));
        PyTuple::new(py, row)
    });
    PyList::new(py, tuples.collect::<PyResult<Vec<_>>>()?)
}

/// What values are made of that Python's core has not.
struct Classes<'py> {
    py: Python<'py>,
    decimal: Value<'py>,
    uuid: Value<'py>,
    utc: Bound<'py, PyTzInfo>,
}

impl<'py> Classes<'py> {
    fn new(py: Python<'py>) -> PyResult<Classes<'py>> {
        let decimal = py.import("decimal")?.getattr("Decimal")?;
        let uuid = py.import("dovetail._types")?.getattr("uuid_of_bytes")?;
        let utc = PyTzInfo::utc(py)?.to_owned();
        Ok(Classes { py, decimal, uuid, utc })
    }
}

fn values<'py>(classes: &Classes<'py>, array: &dyn Array) -> PyResult<Vec<Value<'py>>> {
    let py = classes.py;
    match array.data_type() {
        DataType::Boolean => each(py, array.as_boolean(), |v| v.into_bound_py_any(py)),
        DataType::Int16 => each(py, array.as_primitive::<Int16Type>(), |v| v.into_bound_py_any(py)),
        DataType::Int32 => each(py, array.as_primitive::<Int32Type>(), |v| v.into_bound_py_any(py)),
        DataType::Int64 => each(py, array.as_primitive::<Int64Type>(), |v| v.into_bound_py_any(py)),
        DataType::UInt32 => {
            each(py, array.as_primitive::<UInt32Type>(), |v| v.into_bound_py_any(py))
        }
        DataType::Float32 => {
            each(py, array.as_primitive::<Float32Type>(), |v| v.into_bound_py_any(py))
        }
        DataType::Float64 => {
            each(py, array.as_primitive::<Float64Type>(), |v| v.into_bound_py_any(py))
        }
        DataType::Decimal128(_, scale) => each(py, array.as_primitive::<Decimal128Type>(), |v| {
            classes.decimal.call1((text::decimal(v, *scale),))
        }),
        DataType::Decimal256(..) => texts(py, array, |v| classes.decimal.call1((v,))),
        DataType::Utf8View => {
            each(py, array.as_string_view(), |v| Ok(PyString::new(py, v).into_any()))
        }
        DataType::BinaryView => {
            each(py, array.as_binary_view(), |v| Ok(PyBytes::new(py, v).into_any()))
        }
        DataType::FixedSizeBinary(16) => {
            each(py, array.as_fixed_size_binary(), |v| classes.uuid.call1((PyBytes::new(py, v),)))
        }
        DataType::Date32 => each(py, array.as_primitive::<Date32Type>(), |v| date(py, v.into())),
        DataType::Time64(_) => {
            each(py, array.as_primitive::<Time64MicrosecondType>(), |v| time(py, v))
        }
        DataType::Timestamp(_, zone) => {
            let zone = zone.is_some().then_some(&classes.utc);
            each(py, array.as_primitive::<TimestampMicrosecondType>(), |v| moment(py, v, zone))
        }
        DataType::Interval(_) => {
            each(py, array.as_primitive::<IntervalMonthDayNanoType>(), |v| {
                // As many days as other drivers take a month for: a timedelta has no months.
                let days = v.months.saturating_mul(30).saturating_add(v.days);
                let us = v.nanoseconds / 1000;
                let seconds = (us.rem_euclid(DAY_US) / 1_000_000) as i32;
                let days = i64::from(days) + us.div_euclid(DAY_US);
                let days = i32::try_from(days).map_err(|_| out_of_range("interval"))?;
                let delta = PyDelta::new(py, days, seconds, us.rem_euclid(1_000_000) as i32, true);
                delta.map(Bound::into_any).map_err(|_| out_of_range("interval"))
            })
        }
        DataType::List(_) => each(py, array.as_list::<i32>(), |v| {
            PyList::new(py, values(classes, &v)?).map(Bound::into_any)
        }),
        _ => texts(py, array, |v| Ok(PyString::new(py, &v).into_any())),
    }
}

/// The values of a vector by `make`, nulls as `None`.
fn each<'py, A: ArrayAccessor>(
    py: Python<'py>,
    array: A,
    make: impl Fn(A::Item) -> PyResult<Value<'py>>,
) -> PyResult<Vec<Value<'py>>> {
    let value = |row: usize| match array.is_null(row) {
        true => Ok(py.None().into_bound(py)),
        false => make(array.value(row)),
    };
    (0..array.len()).map(value).collect()
}

/// The same from the text form.
fn texts<'py>(
    py: Python<'py>,
    array: &dyn Array,
    make: impl Fn(String) -> PyResult<Value<'py>>,
) -> PyResult<Vec<Value<'py>>> {
    let value = |row: usize| match text::format_value(array, row) {
        None => Ok(py.None().into_bound(py)),
        Some(text) => make(text),
    };
    (0..array.len()).map(value).collect()
}

fn date(py: Python<'_>, days: i64) -> PyResult<Value<'_>> {
    let day = civil_of(days);
    let year = i32::try_from(day.year).map_err(|_| out_of_range("date"))?;
    let date = PyDate::new(py, year, day.month as u8, day.day as u8);
    date.map(Bound::into_any).map_err(|_| out_of_range("date"))
}

/// Hours, minutes, seconds and microseconds of a day.
fn clock(us: i64) -> (u8, u8, u8, u32) {
    let seconds = us / 1_000_000;
    let of = |number: i64| number as u8;
    (of(seconds / 3600), of(seconds / 60 % 60), of(seconds % 60), (us % 1_000_000) as u32)
}

fn time(py: Python<'_>, us: i64) -> PyResult<Value<'_>> {
    let (hour, minute, second, us) = clock(us);
    let time = PyTime::new(py, hour, minute, second, us, None);
    time.map(Bound::into_any).map_err(|_| out_of_range("time"))
}

fn moment<'py>(
    py: Python<'py>,
    us: i64,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Value<'py>> {
    let day = civil_of(us.div_euclid(DAY_US));
    let (hour, minute, second, us) = clock(us.rem_euclid(DAY_US));
    let year = i32::try_from(day.year).map_err(|_| out_of_range("timestamp"))?;
    let (month, day) = (day.month as u8, day.day as u8);
    let moment = PyDateTime::new(py, year, month, day, hour, minute, second, us, zone);
    moment.map(Bound::into_any).map_err(|_| out_of_range("timestamp"))
}

/// 22008: SQL's calendar is longer than Python's, which has the years 1 to 9999, and a day of SQL may end
/// at 24:00.
fn out_of_range(what: &str) -> PyErr {
    refused("22008", format!("a {what} that Python has no value for: cast it to text"))
}
