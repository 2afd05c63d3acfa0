//! Values of Python as parameters of statements: a type and a value, never a part of the statement.

use engine::{Datum, Parameter};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};
use types::oid;

use crate::error::refused;

/// The parameters of one row of values.
///
/// # Errors
/// For what is no sequence, and for values that have no type of SQL.
pub(crate) fn of_row(values: &Bound<'_, PyAny>) -> PyResult<Vec<Parameter>> {
    let py = values.py();
    let adapt = py.import("dovetail._types")?.getattr("adapt")?;
    values.try_iter()?.map(|value| parameter(&value?, &adapt)).collect()
}

fn parameter(value: &Bound<'_, PyAny>, adapt: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    if value.is_none() {
        return Ok(Parameter::default());
    }
    let (oid, value) = if let Ok(text) = value.cast::<PyString>() {
        // Its type is that of its place, as that of a literal is.
        (0, Datum::Text(without_zeros(text.to_cow()?.into_owned())?))
    } else if let Ok(truth) = value.cast::<PyBool>() {
        (oid::BOOL, Datum::Bool(truth.is_true()))
    } else if value.is_instance_of::<PyInt>() {
        integer(value)?
    } else if let Ok(float) = value.cast::<PyFloat>() {
        (oid::FLOAT8, Datum::Float(float.value()))
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        (oid::BYTEA, Datum::Bytes(bytes.as_bytes().to_vec()))
    } else {
        let (oid, text): (u32, String) = adapt.call1((value,))?.extract()?;
        (oid, Datum::Text(text))
    };
    Ok(Parameter::of_type(oid, value))
}

/// 22021
fn without_zeros(text: String) -> PyResult<String> {
    match text.contains('\0') {
        true => Err(refused("22021", "invalid byte sequence for encoding \"UTF8\": 0x00")),
        false => Ok(text),
    }
}

/// The smallest type of at least 32 bits that has the number.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<(u32, Datum)> {
    if let Ok(number) = value.extract::<i64>() {
        let oid = if i32::try_from(number).is_ok() { oid::INT4 } else { oid::INT8 };
        return Ok((oid, Datum::Int(number)));
    }
    Ok((oid::NUMERIC, Datum::Text(value.str()?.to_string())))
}
