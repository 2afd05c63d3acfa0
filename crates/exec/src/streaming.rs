//! Streaming operators of one input: the scan's filter and projection, filter, project, offset.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use plan::expr::Expr;
use plan::{Node, Scan};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::groups::evaluate_all;
use crate::map::{Applied, Map};
use crate::notify::locked;
use crate::progress::Progress;
use crate::source::ScanFilter;

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

/// What stands in the place of a join of which a side has failed.
pub(crate) struct Refuse {
    pub(crate) node: usize,
    /// What the first row that arrives is told.
    pub(crate) error: SqlError,
}

impl Map for Refuse {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        match rows.num_rows() {
            0 => Ok(Applied { out: vec![], rest: None }),
            _ => Err(self.error.clone()),
        }
    }
}

/// What a scan does to the rows that its access path yields.
pub(crate) struct ScanRows {
    node: usize,
    filter: Option<Expr>,
    output: Vec<usize>,
    schema: SchemaRef,
    /// What its source does not apply, and where rows that they drop are counted.
    joins: Option<(Vec<ScanFilter>, Arc<Progress>)>,
}

impl ScanRows {
    pub(crate) fn new(node: &Node, scan: &Scan) -> ScanRows {
        ScanRows {
            node: node.id,
            filter: scan.filter.clone(),
            output: scan.output.clone(),
            schema: node.relaxed(),
            joins: None,
        }
    }

    /// The same, of rows that filters of joins are to be applied to.
    pub(crate) fn filtered(self, filters: Vec<ScanFilter>, progress: &Arc<Progress>) -> ScanRows {
        ScanRows { joins: Some((filters, Arc::clone(progress))), ..self }
    }

    /// The rows that all filters of joins leave, if there are such filters.
    fn kept_by_joins(&self, rows: &RecordBatch) -> Option<BooleanArray> {
        let (filters, progress) = self.joins.as_ref()?;
        let useful = filters.iter().filter(|filter| filter.filter.is_useful());
        let kept = useful.map(|filter| filter.filter.keep(rows.column(filter.column)));
        let kept = kept.reduce(|all, one| &all & &one)?;
        let dropped = kept.len() - kept.count_set_bits();
        progress.node(self.node).skips.rows_dropped.fetch_add(dropped as u64, Relaxed);
        Some(BooleanArray::new(kept, None))
    }
}

impl Map for ScanRows {
    fn node(&self) -> usize {
        self.node
    }

    fn is_heavy(&self) -> bool {
        self.filter.iter().any(Expr::is_heavy)
    }

    fn is_repeatable(&self) -> bool {
        !self.filter.iter().any(Expr::is_volatile)
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let at_once = self.filter.as_ref().map_or(usize::MAX, Expr::rows_at_once);
        let (rows, rest) = first_rows(rows, at_once);
        let passed = self.filter.as_ref().map(|f| f.evaluate(&rows)).transpose()?;
        let passed = passed.as_ref().map(batch::mask).transpose()?;
        let joined = self.kept_by_joins(&rows);
        let out = batch::project(&rows, &self.output, &self.schema)?;
        let out = match (passed, &joined) {
            (Some(passed), Some(joined)) => batch::keep(&out, &both(passed, joined))?,
            (Some(mask), None) | (None, Some(mask)) => batch::keep(&out, mask)?,
            (None, None) => out,
        };
        Ok(Applied { out: vec![out], rest })
    }
}

/// True where both are; null where `passed` is.
fn both(passed: &BooleanArray, joined: &BooleanArray) -> BooleanArray {
    BooleanArray::new(passed.values() & joined.values(), passed.nulls().cloned())
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

    fn is_heavy(&self) -> bool {
        self.predicate.is_heavy()
    }

    fn is_repeatable(&self) -> bool {
        !self.predicate.is_volatile()
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
    pub(crate) as_words: bool,
    pub(crate) schema: SchemaRef,
}

impl Map for Project {
    fn node(&self) -> usize {
        self.node
    }

    fn is_heavy(&self) -> bool {
        self.exprs.iter().any(Expr::is_heavy)
    }

    fn is_repeatable(&self) -> bool {
        !self.exprs.iter().any(Expr::is_volatile)
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let at_once = self.exprs.iter().map(Expr::rows_at_once).min().unwrap_or(usize::MAX);
        let (rows, rest) = first_rows(rows, at_once);
        let columns = match self.as_words {
            true => self.exprs.iter().map(|expr| expr.evaluate_as_words(&rows)).collect(),
            false => evaluate_all(&self.exprs, &rows),
        };
        let columns = columns?;
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
