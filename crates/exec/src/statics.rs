//! Static partitioning: the source is split once, by position, into runs of equal size.
//!
//! This is the scenario that the anagodb paper compares with (section 3.3): its weakness, that
//! partitions take very different times, is measured here and not mended.

use std::sync::Arc;

use types::SqlResult;

use crate::batch;
use crate::progress::PartitionTime;
use crate::sequential::sequential;
use crate::source::Part;
use crate::stage::{Piece, Stage};
use crate::timing::elapsed_ns;

/// Parts per partition aimed at, so that runs of whole parts differ little in size.
const PARTS_PER_PARTITION: usize = 4;

/// Splits `pieces` into `count` runs and starts a task for each, round robin over the workers.
pub(crate) async fn partition(
    stage: Arc<Stage>,
    pieces: Vec<Piece>,
    count: usize,
) -> SqlResult<()> {
    let wanted = count.saturating_mul(PARTS_PER_PARTITION);
    let mut pieces = cut_rows(pieces, wanted);
    // The parts of a breaker are as many as may be in memory at once.
    if stage.scan().is_some() {
        pieces = expand(&stage, pieces, wanted).await?;
    }
    for (partition, run) in runs(pieces, count).into_iter().enumerate() {
        let worker = partition % stage.run.worker_count;
        let inner = Arc::clone(&stage);
        stage.tasks.launch(worker, move || Box::pin(timed_run(inner, run, partition, worker)));
    }
    Ok(())
}

/// Cuts materialised rows into about `wanted` pieces of equal size.
fn cut_rows(pieces: Vec<Piece>, wanted: usize) -> Vec<Piece> {
    let row_count: usize = pieces.iter().map(Piece::row_count).sum();
    let size = row_count.div_ceil(wanted).max(1);
    let cut = |piece| match piece {
        Piece::Rows(rows) => batch::slices(&rows, size).into_iter().map(Piece::Rows).collect(),
        part => vec![part],
    };
    pieces.into_iter().flat_map(cut).collect()
}

async fn timed_run(
    stage: Arc<Stage>,
    run: Vec<Piece>,
    partition: usize,
    worker: usize,
) -> SqlResult<()> {
    let start = runtime::time::now();
    let node = stage.scan().map(|d| d.node);
    sequential(Arc::clone(&stage), run).await?;
    if let Some(node) = node {
        let time = PartitionTime { node, partition, worker, elapsed_ns: elapsed_ns(start) };
        stage.run.query.progress.partition_ended(time);
    }
    Ok(())
}

/// Splits parts level by level until there are `wanted` or they give rows instead of parts.
async fn expand(stage: &Stage, mut pieces: Vec<Piece>, wanted: usize) -> SqlResult<Vec<Piece>> {
    while pieces.len() < wanted {
        let mut next = Vec::new();
        let mut split = true;
        let mut first = true;
        for piece in pieces {
            match piece {
                Piece::Part(part) if split => {
                    let gave_rows = step_once(stage, part, &mut next).await?;
                    // All parts of a level are of one kind: where the first gives rows, so do the
                    // others, and reading them is the partitions' work.
                    split = !first || !gave_rows;
                    first = false;
                }
                other => next.push(other),
            }
        }
        pieces = next;
        if first || !split {
            break;
        }
    }
    Ok(pieces)
}

/// Replaces a part by its rows and smaller parts; true if it gave rows, or nothing.
async fn step_once(stage: &Stage, part: Part, next: &mut Vec<Piece>) -> SqlResult<bool> {
    let (rows, parts) = stage.step(part).await?;
    stage.part_done();
    let gave_rows = rows.is_some() || parts.is_empty();
    next.extend(rows.map(Piece::Rows));
    next.extend(parts.into_iter().map(Piece::Part));
    Ok(gave_rows)
}

/// Cuts into at most `count` contiguous runs whose lengths differ by at most one.
fn runs(pieces: Vec<Piece>, count: usize) -> Vec<Vec<Piece>> {
    let total = pieces.len();
    let count = count.min(total);
    let mut rest = pieces.into_iter();
    (0..count)
        .map(|i| rest.by_ref().take((i + 1) * total / count - i * total / count).collect())
        .collect()
}
