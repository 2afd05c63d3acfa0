//! Rows of a result: tuples of Python, or a stream of Arrow batches. They are pulled as they are wanted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use types::described::wire_type;
use types::oid;

use crate::attend::{RanRows, Request, Rest};
use crate::error::refused;
use crate::link::{Link, lock};
use crate::narrow::{narrow, narrowed};
use crate::{capsule, cells};

/// A column as DB-API 2.0 describes it: name, type, size, precision and scale.
type Described = (String, u32, Option<i16>, Option<i32>, Option<i32>);

/// The rows of a result.
#[pyclass(module = "dovetail._native", frozen)]
pub(crate) struct Rows {
    pulled: Arc<Pulled>,
}

/// Rows that are pulled from their query.
struct Pulled {
    link: Arc<Link>,
    /// Names and types, as clients know them.
    schema: SchemaRef,
    begun: Instant,
    state: Mutex<State>,
}

struct State {
    /// What has come and was not taken.
    ahead: VecDeque<RecordBatch>,
    rest: Option<Rest>,
    /// Whether they have been handed over as a whole, or are wanted no longer.
    is_given: bool,
    /// Whether pulling them has failed: there may have been more.
    has_failed: bool,
}

impl Rows {
    pub fn new(link: Arc<Link>, ran: RanRows, begun: Instant) -> Rows {
        let RanRows { schema, batches, rest, .. } = ran;
        let state =
            Mutex::new(State { ahead: batches.into(), rest, is_given: false, has_failed: false });
        Rows { pulled: Arc::new(Pulled { link, schema, begun, state }) }
    }
}

#[pymethods]
impl Rows {
    /// Up to `limit` rows as tuples, as many as there are without waiting twice; none at the end.
    fn take<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Bound<'py, PyList>> {
        match py.detach(|| self.pulled.some(limit))? {
            Some(batch) => cells::tuples(py, &batch),
            None => Ok(PyList::empty(py)),
        }
    }

    /// The columns.
    fn columns(&self) -> Vec<Described> {
        self.pulled.schema.fields().iter().map(|field| described(field)).collect()
    }

    /// The first rows, which stay where they are.
    fn peek<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Bound<'py, PyList>> {
        let first = lock(&self.pulled.state).ahead.front().cloned();
        match first {
            Some(batch) => cells::tuples(py, &batch.slice(0, limit.min(batch.num_rows()))),
            None => Ok(PyList::empty(py)),
        }
    }

    /// Hands all rows over as an Arrow stream, a capsule of the C stream interface; `narrow`: without
    /// types that not every library has.
    fn stream<'py>(&self, py: Python<'py>, narrow: bool) -> PyResult<Bound<'py, PyCapsule>> {
        {
            let mut state = lock(&self.pulled.state);
            if std::mem::replace(&mut state.is_given, true) {
                return Err(refused("55000", "the rows of this result have been taken"));
            }
        }
        let schema = plain(&self.pulled.schema, narrow);
        capsule::of_reader(py, Box::new(Reader { pulled: self.pulled.clone(), schema, narrow }))
    }

    /// Their schema, a capsule of the C data interface.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_schema(py, &plain(&self.pulled.schema, false))
    }

    /// They are wanted no longer.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.pulled.forget());
    }
}

impl Pulled {
    /// Up to `limit` rows of the next batch.
    fn some(&self, limit: usize) -> PyResult<Option<RecordBatch>> {
        if lock(&self.state).is_given {
            return Err(refused("55000", "the rows of this result have been taken"));
        }
        let Some(batch) = self.next()? else { return Ok(None) };
        if batch.num_rows() <= limit {
            return Ok(Some(batch));
        }
        let rest = batch.slice(limit, batch.num_rows() - limit);
        lock(&self.state).ahead.push_front(rest);
        Ok(Some(batch.slice(0, limit)))
    }

    /// The next batch. The interpreter's lock must not be held.
    fn next(&self) -> PyResult<Option<RecordBatch>> {
        let id = {
            let mut state = lock(&self.state);
            if let Some(batch) = state.ahead.pop_front() {
                return Ok(Some(batch));
            }
            match &state.rest {
                Some(rest) => rest.id,
                None if state.has_failed => {
                    return Err(refused("55000", "the query of this result has failed"));
                }
                None => return Ok(None),
            }
        };
        let next = self.link.ask(self.begun, |answer| Request::Next(id, answer));
        if !matches!(next, Ok(Some(_))) {
            let mut state = lock(&self.state);
            state.has_failed = next.is_err();
            drop(state.rest.take());
        }
        next
    }

    fn forget(&self) {
        let mut state = lock(&self.state);
        state.ahead.clear();
        state.is_given = true;
        drop(state.rest.take());
    }
}

/// Rows as others pull them, through the C stream interface.
struct Reader {
    pulled: Arc<Pulled>,
    schema: SchemaRef,
    narrow: bool,
}

impl Reader {
    /// The columns in the types that were told.
    fn as_told(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let columns = batch.columns().iter();
        let columns = columns.map(|array| match self.narrow {
            true => narrow(array),
            false => Ok(array.clone()),
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Whoever pulls may hold the interpreter's lock.
        let next = Python::attach(|py| py.detach(|| self.pulled.next()));
        match next {
            Ok(batch) => batch.map(|batch| self.as_told(&batch)),
            Err(error) => Some(Err(told(&error))),
        }
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// An error as the interface tells it: a text. Ctrl-C is raised again when Python goes on.
fn told(error: &PyErr) -> ArrowError {
    Python::attach(|py| {
        // Before: making a text would hear of the signal, and swallow it.
        let text = error.value(py).to_string();
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            let again =
                py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
            let _ = again.map_err(|error| error.write_unraisable(py, None));
        }
        ArrowError::ExternalError(text.into())
    })
}

/// The same columns without what is between server and client alone.
fn plain(schema: &SchemaRef, narrow: bool) -> SchemaRef {
    let field = |field: &Arc<Field>| {
        let ty = if narrow { narrowed(field.data_type()) } else { field.data_type().clone() };
        Field::new(field.name(), ty, true)
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

fn described(field: &Field) -> Described {
    let ty = wire_type(field);
    let size = (ty.size > 0).then_some(ty.size);
    // Precision and scale, as PostgreSQL packs them behind the four bytes of a header.
    let packed = (ty.oid == oid::NUMERIC && ty.modifier >= 4).then(|| ty.modifier - 4);
    let (precision, scale) = (packed.map(|p| p >> 16), packed.map(|p| p & 0xffff));
    (field.name().clone(), ty.oid, size, precision, scale)
}
