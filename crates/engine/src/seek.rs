//! A look-up of one row by its whole primary key: one descent, without the machinery of a query.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use runtime::IoCounters;
use sql::plan::{self, IndexRef, Operator, Plan, Scan};
use types::row::BatchBuilder;
use types::{SqlError, SqlResult};

use crate::catalog::{Snapshot, TableEntry};
use crate::source::encode;
use crate::visible::{Entries, VisibleTree};

/// The scan of a plan that is nothing but a scan of a clustered tree; what it is restricted by
/// comes with each execution.
fn bare_scan(plan: &Plan) -> Option<&Scan> {
    let Operator::Scan(scan) = &plan.root.operator else { return None };
    let plan::Access::Range { index: IndexRef::Primary, fetch: false, .. } = scan.access else {
        return None;
    };
    scan.filter.is_none().then_some(scan)
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
        let [range] = ranges.as_slice() else { return Ok(None) };
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

    /// The row, or none.
    pub(crate) async fn run(self, io: &IoCounters) -> SqlResult<Vec<RecordBatch>> {
        let mut found = Found { seek: &self, row: None };
        self.tree.get(&self.key, io, &mut found).await?;
        let Some(mut builder) = found.row else { return Ok(vec![]) };
        let columns = builder.finish_columns();
        let output = self.scan.output.iter().map(|&i| columns[i].clone()).collect();
        let row = RecordBatch::try_new(self.schema.clone(), output);
        row.map(|row| vec![row]).map_err(|e| SqlError::internal(e.to_string()))
    }
}

/// The row, if it was found.
struct Found<'a> {
    seek: &'a Seek<'a>,
    row: Option<BatchBuilder>,
}

impl Entries for Found<'_> {
    fn restart(&mut self) {
        self.row = None;
    }

    fn take(&mut self, _: usize, key: &[u8], value: &[u8]) {
        let Seek { scan, entry, .. } = self.seek;
        let mut row = BatchBuilder::new(entry.layout.clone(), &scan.columns, 1);
        row.push(key, value);
        self.row = Some(row);
    }
}
