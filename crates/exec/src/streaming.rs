//! Streaming operators of one input: the scan's filter and projection, filter, project, offset.

use std::sync::Mutex;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sql::expr::Expr;
use sql::plan::{Node, Scan};
use types::SqlResult;

use crate::batch;
use crate::bell::locked;
use crate::groups::evaluate_all;
use crate::stage::{Applied, Map};

impl Applied {
    /// One batch that was worked on completely.
    pub(crate) fn whole(out: RecordBatch) -> SqlResult<Applied> {
        Ok(Applied { out: vec![out], rest: None })
    }
}

/// The first rows of a batch, as many as an operator works on at once, and the others.
fn first_rows(rows: RecordBatch, count: usize) -> (RecordBatch, Option<RecordBatch>) {
    match rows.num_rows().checked_sub(count) {
        None | Some(0) => (rows, None),
        Some(rest) => (rows.slice(0, count), Some(rows.slice(count, rest))),
    }
}

/// What a scan does to the rows that its access path yields.
pub(crate) struct ScanRows {
    node: usize,
    filter: Option<Expr>,
    output: Vec<usize>,
    schema: SchemaRef,
}

impl ScanRows {
    pub(crate) fn new(node: &Node, scan: &Scan) -> ScanRows {
        ScanRows {
            node: node.id,
            filter: scan.filter.clone(),
            output: scan.output.clone(),
            schema: batch::relaxed(&node.schema),
        }
    }
}

impl Map for ScanRows {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let at_once = self.filter.as_ref().map_or(usize::MAX, Expr::rows_at_once);
        let (rows, rest) = first_rows(rows, at_once);
        let mask = self.filter.as_ref().map(|f| f.evaluate(&rows)).transpose()?;
        let out = batch::project(&rows, &self.output, &self.schema)?;
        let out = match &mask {
            Some(mask) => batch::keep(&out, batch::mask(mask)?)?,
            None => out,
        };
        Ok(Applied { out: vec![out], rest })
    }
}

/// Rows for which a predicate is true.
pub(crate) struct Filter {
    pub(crate) node: usize,
    pub(crate) predicate: Expr,
}

impl Map for Filter {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let (rows, rest) = first_rows(rows, self.predicate.rows_at_once());
        let value = self.predicate.evaluate(&rows)?;
        Ok(Applied { out: vec![batch::keep(&rows, batch::mask(&value)?)?], rest })
    }
}

/// One expression per column.
pub(crate) struct Project {
    pub(crate) node: usize,
    pub(crate) exprs: Vec<Expr>,
    pub(crate) schema: SchemaRef,
}

impl Map for Project {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let at_once = self.exprs.iter().map(Expr::rows_at_once).min().unwrap_or(usize::MAX);
        let (rows, rest) = first_rows(rows, at_once);
        let columns = evaluate_all(&self.exprs, &rows)?;
        let out = batch::make(&self.schema, columns, rows.num_rows())?;
        Ok(Applied { out: vec![out], rest })
    }
}

/// Drops the first rows (`OFFSET` without `LIMIT`).
pub(crate) struct Skip {
    node: usize,
    left: Mutex<usize>,
}

impl Skip {
    pub(crate) fn new(node: usize, row_count: usize) -> Skip {
        Skip { node, left: Mutex::new(row_count) }
    }
}

impl Map for Skip {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let mut left = locked(&self.left);
        let dropped = rows.num_rows().min(*left);
        *left -= dropped;
        Applied::whole(rows.slice(dropped, rows.num_rows() - dropped))
    }
}

/// Passes rows on under the names of a union.
pub(crate) struct Pass {
    pub(crate) node: usize,
    pub(crate) schema: SchemaRef,
}

impl Map for Pass {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        Applied::whole(batch::retitle(&rows, &self.schema)?)
    }
}
