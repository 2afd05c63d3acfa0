//! A batch of made-up rows as the source of a scan.

use arrow_array::RecordBatch;
use exec::{Access, LocalFuture, Part, Source, Step};
use types::SqlResult;

/// Rows to a step, so that a scan gives way now and then.
const STEP_ROWS: usize = 1024;

pub(crate) struct SystemSource {
    rows: RecordBatch,
}

impl SystemSource {
    pub(crate) fn new(rows: RecordBatch) -> SystemSource {
        SystemSource { rows }
    }
}

impl Source for SystemSource {
    fn roots(&self) -> Vec<Part> {
        let starts = (0..self.rows.num_rows()).step_by(STEP_ROWS);
        starts.map(|start| Part(Box::new(start))).collect()
    }

    fn step<'a>(&'a self, part: Part, _access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        let start = *part.0.downcast::<usize>().expect("parts come from this source");
        let length = STEP_ROWS.min(self.rows.num_rows() - start);
        let rows = self.rows.slice(start, length);
        Box::pin(async move { Ok(Step { rows: Some(rows), parts: vec![] }) })
    }
}
