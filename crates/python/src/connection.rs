//! A connection, as the package has it below its own class.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use engine::Lent;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::attend::{Ran, Request, Run, RunMany};
use crate::error::raised;
use crate::link::{Link, lock};
use crate::open::{self, Wish};
use crate::rows::Rows;
use crate::{capsule, parameters};

/// A session of a database.
#[pyclass(module = "dovetail._native", frozen)]
pub(crate) struct Connection {
    link: Arc<Link>,
}

#[pymethods]
impl Connection {
    /// Opens the database of a file, which is created if there is none.
    #[new]
    #[pyo3(signature = (path, memory_bytes=None, workers=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        memory_bytes: Option<usize>,
        workers: Option<usize>,
    ) -> PyResult<Connection> {
        let wish = Wish { memory_bytes, workers };
        let opened =
            py.detach(|| open::enter(&path, wish).map(|(path, db)| Arc::new(Link::new(path, db))));
        opened.map(|link| Connection { link }).map_err(|error| raised(&error))
    }

    /// Runs a text. What it gives is `(unknown, tag, rows)`: names that nobody knows, as pairs of the
    /// name and how it is written, then it did not run; the tag of a command; rows.
    fn run<'py>(
        &self,
        py: Python<'py>,
        text: String,
        parameters: &Bound<'py, PyAny>,
        begins: bool,
        asks: bool,
    ) -> PyResult<(Vec<(String, String)>, Option<String>, Option<Rows>)> {
        let parameters = parameters::of_row(parameters)?;
        let (since, run) = (Instant::now(), Run { text, parameters, begins, asks });
        let ran = py.detach(|| self.link.ask(since, |answer| Request::Run(run, answer)))?;
        Ok(match ran {
            Ran::Unknown(names) => {
                let names = names.into_iter().map(|known| (known.name, known.written));
                (names.collect(), None, None)
            }
            Ran::Command { tag } => (vec![], Some(tag), None),
            Ran::Rows(ran) => {
                let tag = ran.tag.clone();
                (vec![], tag, Some(Rows::new(self.link.clone(), ran, since)))
            }
        })
    }

    /// Runs a statement for each row of values; how many rows it has changed.
    fn run_many(
        &self,
        py: Python<'_>,
        text: String,
        rows: &Bound<'_, PyList>,
        begins: bool,
    ) -> PyResult<u64> {
        let rows = rows.iter().map(|row| parameters::of_row(&row)).collect::<PyResult<_>>()?;
        let run = RunMany { text, rows, begins };
        py.detach(|| self.link.ask(Instant::now(), |answer| Request::RunMany(run, answer)))
    }

    /// Lends the rows of an Arrow stream, or of a schema and an array, to queries that read them by a
    /// name.
    fn lend(&self, py: Python<'_>, name: String, capsules: &Bound<'_, PyTuple>) -> PyResult<()> {
        let stream = match capsules.len() {
            1 => capsule::stream(&capsules.get_item(0)?)?,
            _ => capsule::array(&capsules.get_item(0)?, &capsules.get_item(1)?)?,
        };
        py.detach(|| {
            let (schema, batches) = stream.read()?;
            let lent = Lent::new(&schema, &batches).map_err(|error| raised(&error))?;
            let lend = |answer| Request::Lend(name, Box::new(lent), answer);
            self.link.ask(Instant::now(), lend)
        })
    }

    /// Forgets what was lent by this name; whether anything was.
    fn take_back(&self, py: Python<'_>, name: String) -> PyResult<bool> {
        py.detach(|| self.link.ask(Instant::now(), |answer| Request::TakeBack(name, answer)))
    }

    /// `idle`, `open` or `failed`: the transaction.
    #[getter]
    fn status(&self) -> &'static str {
        self.link.signs.status()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.link.is_closed()
    }

    /// Called with seconds, parts done, parts known and rows while a query runs; with `None` at its end.
    #[setter]
    fn set_progress(&self, show: Option<Py<PyAny>>) {
        *lock(&self.link.progress) = show;
    }

    /// Cancels what runs now, from another thread.
    fn interrupt(&self) {
        self.link.interrupt();
    }

    /// Ends the session; what no transaction has committed is undone.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.link.close())
    }
}
