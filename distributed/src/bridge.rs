//! Rows of a fragment over one partition: a task on a worker of the database makes them, a stream
//! of the library's runtime takes them. Between them is a queue of bounded length, whose two ends
//! wake each other across threads: batches pass it as they are, and who takes them sets the pace.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use engine::{Database, Partition, SqlResult};
use futures::channel::mpsc::{Receiver, Sender, channel};
use futures::{SinkExt, Stream, StreamExt, stream};
use plan::Plan;
use runtime::RemoteHandle;

use crate::local::{Local, failed};

/// Batches that wait: the next one is made while one is taken. A batch has some thousand rows.
const BATCHES_WAITING: usize = 4;

/// Workers take turns.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// The rows of a plan over a partition, with these names and types. Its task begins when rows are
/// asked for: a side of a join that is not wanted yet holds no memory. Dropping the stream ends the
/// task.
pub fn rows(
    local: &Local,
    plan: Arc<Plan>,
    partition: Partition,
    schema: SchemaRef,
) -> SendableRecordBatchStream {
    let (database, names) = (local.database().clone(), schema.clone());
    let begun = stream::once(async move { begin(database, plan, partition) });
    let rows = begun.flat_map(move |running| taken(running, names.clone()));
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

fn begin(database: Database, plan: Arc<Plan>, partition: Partition) -> Running {
    let (sender, batches) = channel(BATCHES_WAITING);
    let handle = database.runtime_handle();
    let worker = TURN.fetch_add(1, Ordering::Relaxed) % handle.workers();
    let task = handle.spawn_on(worker, move || run(database, plan, partition, sender));
    Running { batches, task: Task(task) }
}

fn taken(running: Running, schema: SchemaRef) -> impl Stream<Item = Result<RecordBatch>> {
    stream::try_unfold(running, move |mut running| {
        let schema = schema.clone();
        async move {
            let Some(batch) = running.batches.next().await else {
                return running.task.end().await.map(|()| None);
            };
            Ok(Some((under_names(&batch, schema)?, running)))
        }
    })
}

/// Makes the rows, in a task of the database.
async fn run(
    database: Database,
    plan: Arc<Plan>,
    partition: Partition,
    mut sender: Sender<RecordBatch>,
) -> SqlResult<()> {
    let mut session = database.session();
    let mut rows = session.partition_rows(&plan, partition)?;
    while let Some(batch) = rows.next().await? {
        if sender.send(batch).await.is_err() {
            break; // Nobody takes them any more.
        }
    }
    Ok(())
}

struct Running {
    batches: Receiver<RecordBatch>,
    task: Task,
}

/// A task that ends when nobody wants its rows.
struct Task(RemoteHandle<SqlResult<()>>);

impl Task {
    /// How it ended.
    async fn end(&mut self) -> Result<()> {
        let ended = (&mut self.0).await;
        ended.map_err(|aborted| exec_datafusion_err!("{aborted}"))?.map_err(failed)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The same columns as whoever is above names them.
fn under_names(batch: &RecordBatch, schema: SchemaRef) -> Result<RecordBatch> {
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &rows)?)
}
