//! The sink of grouping and aggregation: a table per worker, merged at the end.

use arrow_array::RecordBatch;
use types::SqlResult;

use crate::batch;
use crate::groups::{Grouping, Groups};
use crate::scope::Scope;
use crate::sink::{Locals, Sink};
use crate::stage::go_on;

/// Groups and aggregates rows.
pub(crate) struct AggregateSink {
    grouping: Grouping,
    locals: Locals<Local>,
    batch_rows: usize,
}

#[derive(Default)]
struct Local {
    /// Small batches wait here for company: expressions cost per batch.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    groups: Option<Groups>,
}

impl AggregateSink {
    pub(crate) fn new(grouping: Grouping, worker_count: usize, batch_rows: usize) -> AggregateSink {
        AggregateSink { grouping, locals: Locals::new(worker_count), batch_rows }
    }

    /// Merges the workers' groups; one row per group.
    pub(crate) async fn finish(&self, scope: &Scope) -> SqlResult<Vec<RecordBatch>> {
        let mut all: Option<Groups> = None;
        for mut local in self.locals.take() {
            self.flush(&mut local)?;
            let Some(groups) = local.groups else { continue };
            match &mut all {
                None => all = Some(groups),
                Some(all) => all.merge(&self.grouping, groups, scope).await?,
            }
        }
        go_on(scope).await?;
        let all = all.map_or_else(|| Groups::new(&self.grouping), Ok)?;
        Ok(batch::slices(&all.finish(&self.grouping)?, self.batch_rows))
    }

    fn flush(&self, local: &mut Local) -> SqlResult<()> {
        if local.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut local.waiting);
        local.waiting_rows = 0;
        let rows = match waiting.as_slice() {
            [one] => one.clone(),
            many => batch::concat(&self.grouping.input, many)?,
        };
        let groups = match &mut local.groups {
            Some(groups) => groups,
            empty => empty.insert(Groups::new(&self.grouping)?),
        };
        groups.update(&self.grouping, &rows)
    }
}

impl Sink for AggregateSink {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<()> {
        let mut local = self.locals.of(worker);
        local.waiting_rows += rows.num_rows();
        if local.waiting_rows >= self.batch_rows {
            local.waiting.push(rows);
            return self.flush(&mut local);
        }
        // Few rows that wait may point into the strings of many.
        local.waiting.push(batch::compact(rows));
        Ok(())
    }
}
