//! The index nested-loop join: a batch of outer rows against the index of the inner table.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::{Field, Schema, SchemaRef};
use plan::expr::Expr;
use plan::{LookupJoin, LookupKind, Node};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::groups::evaluate_all;
use crate::pairs::{PairShape, keep_pairs};
use crate::source::{Access, Lookup, Matches};

/// A look-up join, ready to run.
pub(crate) struct LookupOp {
    node: usize,
    lookup: Arc<dyn Lookup>,
    keys: Vec<Expr>,
    key_schema: SchemaRef,
    inner_filter: Option<Expr>,
    kind: LookupKind,
    shape: PairShape,
}

impl LookupOp {
    pub(crate) fn new(node: &Node, join: &LookupJoin, lookup: Arc<dyn Lookup>) -> LookupOp {
        let field =
            |(i, e): (usize, &Expr)| Field::new(format!("key{i}"), e.data_type().clone(), true);
        let inner = join.table.schema.project(&join.columns);
        let (filter, output) = (join.filter.clone(), join.output.clone());
        LookupOp {
            node: node.id,
            lookup,
            keys: join.keys.clone(),
            key_schema: Arc::new(Schema::new(
                join.keys.iter().enumerate().map(field).collect::<Vec<_>>(),
            )),
            inner_filter: join.inner_filter.clone(),
            kind: join.kind,
            shape: PairShape::new(&join.outer.schema, &inner, filter, output, &node.schema),
        }
    }

    pub(crate) fn node(&self) -> usize {
        self.node
    }

    /// Outer rows that are best joined together.
    pub(crate) fn rows_at_once(&self) -> usize {
        self.lookup.keys_at_once()
    }

    /// Joins a batch of outer rows; the output keeps their order.
    pub(crate) async fn look_up(
        &self,
        outer: &RecordBatch,
        access: Access<'_>,
    ) -> SqlResult<RecordBatch> {
        let columns = evaluate_all(&self.keys, outer)?;
        let keys = batch::make(&self.key_schema, columns, outer.num_rows())?;
        let found = self.lookup.lookup(&keys, access).await?;
        self.join(outer, found)
    }

    fn join(&self, outer: &RecordBatch, found: Matches) -> SqlResult<RecordBatch> {
        let Matches { outer: mut at, inner: mut rows } = found;
        if at.len() != rows.num_rows() || at.null_count() > 0 {
            return Err(SqlError::internal("a look-up returned positions without rows"));
        }
        if let Some(filter) = &self.inner_filter {
            let value = filter.evaluate(&rows)?;
            (at, rows) = keep_pairs(&at, &rows, batch::mask(&value)?)?;
        }
        let (at, rows) = self.shape.passing_rows(outer, at, rows)?;
        match self.kind {
            LookupKind::Inner => {
                let all = (0..at.len() as u32).collect();
                self.shape.gather(outer, &at, &rows, &all)
            }
            LookupKind::Left => {
                let (at, positions) = with_lonely(outer.num_rows(), &at);
                self.shape.gather(outer, &at, &rows, &positions)
            }
            LookupKind::Semi | LookupKind::Anti => {
                let mask = partnered(outer.num_rows(), &at, self.kind == LookupKind::Semi);
                self.shape.left_only(&batch::keep(outer, &mask)?, None)
            }
        }
    }
}

/// Adds outer rows without partner, in their places, with a null as the partner's position.
fn with_lonely(row_count: usize, at: &UInt32Array) -> (UInt32Array, UInt32Array) {
    let (mut outer, mut inner) = (Vec::new(), Vec::new());
    let mut next = 0;
    for row in 0..row_count as u32 {
        let first = next;
        while next < at.len() && at.value(next) == row {
            outer.push(row);
            inner.push(Some(next as u32));
            next += 1;
        }
        if next == first {
            outer.push(row);
            inner.push(None);
        }
    }
    (outer.into(), inner.into())
}

/// Which rows have (or, for `wanted` false, have not) a partner.
fn partnered(row_count: usize, at: &UInt32Array, wanted: bool) -> BooleanArray {
    let mut mask = vec![!wanted; row_count];
    at.values().iter().for_each(|&i| mask[i as usize] = wanted);
    mask.into()
}
