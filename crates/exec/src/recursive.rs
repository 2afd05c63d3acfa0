//! `WITH RECURSIVE`: the step runs over the rows of the last round until a round has none.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_row::{OwnedRow, RowConverter, SortField};
use plan::{Node, Recursion};
use types::SqlResult;
use types::equality::{canonical, canonical_type};

use crate::batch;
use crate::collect::Collect;
use crate::drive::fill;
use crate::memory::Reservation;
use crate::notify::locked;
use crate::preempt::go_on;
use crate::run::Run;
use crate::scope::Scope;
use crate::target::Target;

/// All rows of all rounds.
pub(crate) async fn rounds(
    run: &Arc<Run>,
    node: &Node,
    recursion: &Recursion,
    memory: &Arc<Reservation>,
    scope: Arc<Scope>,
) -> SqlResult<Vec<RecordBatch>> {
    let mut seen = match recursion.distinct {
        true => Some(Seen::new(node)?),
        false => None,
    };
    let mut all = Vec::new();
    let mut source = &recursion.base;
    loop {
        go_on(&scope).await?;
        let sink = Arc::new(Collect::new(node.relaxed(), Arc::clone(memory), run.worker_count));
        fill(run, source, Arc::clone(&scope), Target::unordered(node, sink.clone())).await?;
        let mut rows = sink.finish()?;
        if let Some(seen) = &mut seen {
            rows = seen.new_rows(&rows, memory)?;
        }
        if rows.num_rows() == 0 {
            break;
        }
        locked(&run.work_tables).insert(node.id, rows.clone());
        all.push(rows);
        source = &recursion.step;
    }
    locked(&run.work_tables).remove(&node.id);
    Ok(all)
}

/// Bytes per remembered row beside its own: its place in the set, and its allocation.
const SEEN_BYTES: usize = 64;

/// Rows that were produced already.
struct Seen {
    converter: RowConverter,
    rows: HashSet<OwnedRow>,
}

impl Seen {
    fn new(node: &Node) -> SqlResult<Seen> {
        let fields = node.schema.fields().iter();
        let fields = fields.map(|f| SortField::new(canonical_type(f.data_type()))).collect();
        let converter = RowConverter::new(fields).map_err(batch::arrow)?;
        Ok(Seen { converter, rows: HashSet::new() })
    }

    fn new_rows(&mut self, rows: &RecordBatch, memory: &Reservation) -> SqlResult<RecordBatch> {
        let columns: Vec<ArrayRef> = rows.columns().iter().map(canonical).collect();
        let encoded = self.converter.convert_columns(&columns).map_err(batch::arrow)?;
        let mut kept: Vec<u32> = Vec::new();
        for (at, row) in encoded.iter().enumerate() {
            if self.rows.insert(row.owned()) {
                memory.grow(row.data().len() + SEEN_BYTES)?;
                kept.push(at as u32);
            }
        }
        batch::take(rows, &UInt32Array::from(kept))
    }
}
