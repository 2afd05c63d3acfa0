//! Queries of `WITH` that are computed once: their rows are put away before anything reads them, in
//! memory or, where they do not fit, in the temporary file, and are read as often as they are named.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sql::plan::{CteScan, Node, Operator, Plan};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::drive::fill;
use crate::footprint::batch_bytes;
use crate::notify::locked;
use crate::run::Run;
use crate::scope::Scope;
use crate::sink::{Locals, Sink, Target};
use crate::source::{Access, LocalFuture, Part, Source, Step};
use crate::spill::Block;
use crate::workspace::{Turns, Workspace};

/// Computes all such queries of a plan: each after those that it reads. An error of a value is one of
/// who reads it.
pub(crate) async fn put_away(run: &Arc<Run>, plan: &Plan) -> SqlResult<()> {
    let mut queries = vec![];
    find(&plan.root, &mut queries);
    queries.sort_by_key(|(_, number, _)| *number);
    for (node, number, query) in queries {
        let sink = Arc::new(Gather::new(run.workspace(node, "CTE scan")));
        let target = Target::Sink { sink: sink.clone(), node: node.id, ordered: true };
        let inside = Scope::catching(&run.root);
        let filled = inside.judge(fill(run, query, Arc::clone(&inside), target).await)?;
        let rows = filled.map(|()| Arc::new(sink.finish()));
        locked(&run.queries).insert(number, rows);
    }
    Ok(())
}

/// The scans that have the plans of their queries.
fn find<'a>(node: &'a Node, found: &mut Vec<(&'a Node, usize, &'a Node)>) {
    if let Operator::CteScan(CteScan { number, query: Some(query), .. }) = &node.operator {
        found.push((node, *number, query));
    }
    node.children().into_iter().for_each(|child| find(child, found));
}

/// The rows of a query that has been computed, for one of its scans.
pub(crate) fn rows(run: &Run, node: &Node, scan: &CteScan) -> SqlResult<Arc<dyn Source>> {
    let rows = locked(&run.queries).get(&scan.number).cloned();
    let rows = rows.ok_or_else(|| SqlError::internal("a query that was not computed"))??;
    let (columns, schema) = (scan.columns.clone(), batch::relaxed(&node.schema));
    Ok(Arc::new(Reader { rows, columns, schema }))
}

/// Rows that were put away: those on disk before those in memory, worker by worker.
pub(crate) struct PutAway {
    lots: Vec<Lot>,
    space: Workspace,
}

/// What one worker gathered. Where the order of the rows is to be kept, one worker gathers all.
#[derive(Default)]
struct Lot {
    blocks: Vec<Block>,
    batches: Vec<RecordBatch>,
    /// Bytes of `batches` as they are counted in the reservation.
    bytes: usize,
}

/// Gathers the rows of a query.
struct Gather {
    space: Workspace,
    lots: Locals<Lot>,
    turns: Turns,
}

impl Gather {
    fn new(space: Workspace) -> Gather {
        let (lots, turns) = (Locals::new(space.worker_count), Turns::new(space.worker_count));
        Gather { space, lots, turns }
    }

    fn finish(&self) -> PutAway {
        PutAway { lots: self.lots.take(), space: self.space.clone() }
    }
}

impl Sink for Gather {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<Option<RecordBatch>> {
        let mut lot = self.lots.of(worker);
        let rows = batch::compact(rows);
        let bytes = batch_bytes(&rows);
        if !self.space.memory.try_grow(bytes) {
            if !lot.batches.is_empty() {
                return self.space.refuse(rows, bytes);
            }
            self.space.grow_least(bytes)?;
        }
        lot.bytes += bytes;
        lot.batches.push(rows);
        Ok(None)
    }

    fn relieve<'a>(&'a self, worker: usize) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            let Some(_turn) = self.turns.take(worker).await else { return Ok(()) };
            let (batches, bytes) = {
                let mut lot = self.lots.of(worker);
                (std::mem::take(&mut lot.batches), std::mem::take(&mut lot.bytes))
            };
            let rows = batches.into_iter().map(Ok);
            let blocks = self.space.spill.write_all(rows, self.space.figures()).await?;
            self.lots.of(worker).blocks.extend(blocks);
            self.space.memory.shrink(bytes);
            Ok(())
        })
    }
}

/// One scan of the rows.
struct Reader {
    rows: Arc<PutAway>,
    columns: Vec<usize>,
    schema: SchemaRef,
}

/// A batch, where it lies.
enum Place {
    Disk(Block),
    Memory(RecordBatch),
}

impl Source for Reader {
    fn roots(&self) -> Vec<Part> {
        let places = self.rows.lots.iter().flat_map(|lot| {
            let disk = lot.blocks.iter().map(|block| Place::Disk(*block));
            disk.chain(lot.batches.iter().cloned().map(Place::Memory))
        });
        places.map(|place| Part(Box::new(place))).collect()
    }

    fn step<'a>(&'a self, part: Part, _access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            let place = part.0.downcast::<Place>();
            let rows = match *place.map_err(|_| SqlError::internal("a part of another source"))? {
                Place::Memory(rows) => rows,
                Place::Disk(block) => {
                    let space = &self.rows.space;
                    space.spill.read(block, space.figures()).await?
                }
            };
            let rows = batch::project(&rows, &self.columns, &self.schema)?;
            Ok(Step { rows: Some(rows), parts: vec![] })
        })
    }
}
