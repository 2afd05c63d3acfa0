//! The tables of all workers made one.

use std::sync::Arc;

use arrow_array::RecordBatch;
use types::SqlResult;

use crate::groups::{Divided, Grouping, Groups};
use crate::jobs::{Job, Parallelism, Results};
use crate::preempt::go_on;
use crate::scope::Scope;

/// So many groups in all are merged by all workers; fewer are done before these have begun.
const SHARED_GROUPS_MIN: usize = 16_384;

/// Groups of a part, about: with the places of their keys they fit a core's second cache.
const PART_GROUPS: usize = 8192;

/// Parts at most: the states of each are gathered from all over those of the workers.
const PARTS_MAX: usize = 1024;

/// Parts for each worker, so that the slower of two does fewer of them.
const PARTS_PER_WORKER: usize = 4;

/// One row for each group of all tables, in batches of any size.
pub(super) async fn merged(
    grouping: &Arc<Grouping>,
    mut tables: Vec<Groups>,
    parallelism: Parallelism<'_>,
    scope: &Scope,
) -> SqlResult<Vec<RecordBatch>> {
    let total = tables.iter().map(Groups::count).sum::<usize>();
    if tables.len() > 1 && total >= SHARED_GROUPS_MIN && parallelism.count() > 1 {
        return by_parts(grouping, tables, total, parallelism).await;
    }
    while tables.len() > 1
        && let Some(groups) = tables.pop()
    {
        if let Some(all) = tables.last_mut() {
            all.merge(grouping, groups, scope).await?;
        }
    }
    go_on(scope).await?;
    let all = match tables.pop() {
        Some(groups) => groups,
        None => Groups::new(grouping)?,
    };
    Ok(vec![all.finish(grouping).await?])
}

async fn by_parts(
    grouping: &Arc<Grouping>,
    tables: Vec<Groups>,
    total: usize,
    parallelism: Parallelism<'_>,
) -> SqlResult<Vec<RecordBatch>> {
    let wanted = (total / PART_GROUPS).max(parallelism.count() * PARTS_PER_WORKER);
    let part_count = wanted.next_power_of_two().min(PARTS_MAX);
    let divided = Results::of(tables.len());
    let divide = tables.into_iter().enumerate().map(|(at, groups)| -> Job {
        let slot = divided.slot(at);
        Box::new(move || {
            Box::pin(async move {
                slot.put(groups.divide(part_count).await?);
                Ok(())
            })
        })
    });
    parallelism.run_all(divide.collect()).await?;
    let tables: Arc<[Divided]> = divided.take().into();
    let results = Results::of(part_count);
    let with_groups = (0..part_count).filter(|part| tables.iter().any(|t| !t.is_empty(*part)));
    let merge = with_groups.map(|part| -> Job {
        let (grouping, tables) = (Arc::clone(grouping), Arc::clone(&tables));
        let slot = results.slot(part);
        Box::new(move || {
            Box::pin(async move {
                let mut groups = Groups::new(&grouping)?;
                for table in &*tables {
                    groups.add_part(&grouping, table, part).await?;
                }
                slot.put(groups.finish(&grouping).await?);
                Ok(())
            })
        })
    });
    parallelism.run_all(merge.collect()).await?;
    Ok(results.take())
}
