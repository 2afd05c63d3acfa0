//! A look-up of one row by its whole primary key: one descent, without the machinery of a query.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use exec::Matches;
use plan::{self, IndexRef, Operator, Plan, Scan};
use runtime::IoCounters;
use storage::Depth;
use txn::visible::VisibleTree;
use types::{SqlError, SqlResult};

use super::keys::encode;
use super::lookup::in_order;
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;

/// The scan of a plan that is nothing but a scan of a clustered tree; what it is restricted by
/// comes with each execution.
fn bare_scan(plan: &Plan) -> Option<&Scan> {
    let Operator::Scan(scan) = &plan.root.operator else { return None };
    let plan::Access::Range { index: IndexRef::Primary, fetch: false, .. } = scan.access else {
        return None;
    };
    scan.filter.is_none().then_some(scan)
}

/// The rows that many look-ups have found, in the order of their keys' positions.
#[derive(Debug)]
pub struct FoundRows {
    /// The rows, with the columns of the statement.
    pub rows: RecordBatch,
    /// For each row the position of the values that it was found by.
    pub positions: Vec<usize>,
}

/// A row to be found.
pub(crate) struct Seek<'a> {
    scan: &'a Scan,
    schema: &'a SchemaRef,
    entry: Arc<TableEntry>,
    tree: VisibleTree,
    key: Vec<u8>,
}

impl<'a> Seek<'a> {
    /// The look-up that `plan` is with the values of `access`, when it asks for at most one row of a
    /// table of `snapshot` and needs nothing but that row.
    pub(crate) fn of(
        plan: &'a Plan,
        access: &plan::Access,
        snapshot: &Snapshot,
    ) -> SqlResult<Option<Seek<'a>>> {
        let (Some(scan), plan::Access::Range { ranges, .. }) = (bare_scan(plan), access) else {
            return Ok(None);
        };
        let Ok(entry) = snapshot.table(&scan.table.name) else { return Ok(None) };
        let keys = &entry.layout.key;
        let [range] = &ranges[..] else { return Ok(None) };
        if entry.def.id != scan.table.id
            || entry.def.primary_key.is_empty()
            || range.prefix.len() != keys.len()
        {
            return Ok(None);
        }
        let (entry, key) = (entry.clone(), encode(keys, &range.prefix)?);
        let tree = snapshot.visible(entry.tree.clone());
        Ok(Some(Seek { scan, schema: &plan.root.schema, entry, tree, key }))
    }

    /// The key of another execution of the same plan.
    pub(crate) fn key_of(&self, access: &plan::Access) -> SqlResult<Option<Vec<u8>>> {
        let plan::Access::Range { ranges, .. } = access else { return Ok(None) };
        let [range] = &ranges[..] else { return Ok(None) };
        encode(&self.entry.layout.key, &range.prefix).map(Some)
    }

    /// The rows with these keys, each with what `positions` has for its key, in that order.
    pub(crate) async fn run_many(
        &self,
        keys: &[Vec<u8>],
        positions: &[usize],
        io: &IoCounters,
    ) -> SqlResult<FoundRows> {
        let mut found = self.reader(keys.len()).with_positions();
        self.tree.get_batch(keys, Depth::Many, io, &mut found).await?;
        let count = found.positions.len();
        let rows = self.output(found.builder().finish_columns(), count)?;
        let Matches { outer, inner: rows } = in_order(found.positions, rows)?;
        let positions = outer.values().iter().map(|place| positions[*place as usize]).collect();
        Ok(FoundRows { rows, positions })
    }

    fn reader(&self, room: usize) -> Rows<'_> {
        Rows::new(&self.entry.layout, &self.scan.columns, room)
    }

    /// The columns that the statement asks for.
    fn output(&self, columns: Vec<ArrayRef>, row_count: usize) -> SqlResult<RecordBatch> {
        let output = self.scan.output.iter().map(|&i| columns[i].clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(self.schema.clone(), output, &options)
            .map_err(|e| SqlError::internal(e.to_string()))
    }

    /// The row, or none.
    pub(crate) async fn run(self, io: &IoCounters) -> SqlResult<Vec<RecordBatch>> {
        let mut found = self.reader(1);
        self.tree.get(&self.key, io, &mut found).await?;
        let Some(mut builder) = found.found() else { return Ok(vec![]) };
        self.output(builder.finish_columns(), 1).map(|row| vec![row])
    }
}
