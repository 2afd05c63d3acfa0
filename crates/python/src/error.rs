//! Errors of the engine as exceptions of the package.

use engine::{SqlError, SqlState};
use pyo3::prelude::*;

/// The exception of an error.
pub(crate) fn raised(error: &SqlError) -> PyErr {
    Python::attach(|py| made(py, error).map_or_else(|failed| failed, PyErr::from_value))
}

/// An exception of the class that the SQLSTATE has, for what the package itself finds wrong.
pub(crate) fn refused(state: &'static str, message: impl Into<String>) -> PyErr {
    raised(&SqlError::new(SqlState(state), message))
}

fn made<'py>(py: Python<'py>, error: &SqlError) -> PyResult<Bound<'py, PyAny>> {
    let make = py.import("dovetail._errors")?.getattr("of_engine")?;
    let subject = error.subject.clone().unwrap_or_default();
    let about = (subject.table, subject.column, subject.constraint);
    make.call1((
        error.state.0,
        &error.message,
        &error.detail,
        &error.hint,
        error.position,
        error.context(),
        about,
    ))
}
