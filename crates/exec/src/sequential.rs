//! One task over a run of a source: parts depth first, one after the other.

use std::sync::Arc;

use types::SqlResult;

use crate::flow::Flow;
use crate::preempt::breathe;
use crate::source::Part;
use crate::stage::{Piece, Stage};

/// Works on `pieces` in order.
pub(crate) async fn sequential(stage: Arc<Stage>, pieces: Vec<Piece>) -> SqlResult<()> {
    stage.part_task();
    let mut flow = Flow::new(&stage);
    let mut stack: Vec<Piece> = pieces.into_iter().rev().collect();
    while let Some(piece) = stack.pop() {
        breathe().await;
        if stage.is_stopped() {
            return Ok(());
        }
        match piece {
            Piece::Rows(rows) => flow.feed(stage.first, rows).await?,
            Piece::Part(part) => {
                let parts = step_into(&stage, &mut flow, part).await?;
                stack.extend(parts.into_iter().rev().map(Piece::Part));
            }
        }
    }
    flow.finish().await
}

/// Works on a part: its rows flow, its smaller parts are returned.
pub(crate) async fn step_into(stage: &Stage, flow: &mut Flow, part: Part) -> SqlResult<Vec<Part>> {
    let (rows, parts) = stage.step(part).await?;
    if let Some(rows) = rows {
        flow.feed(stage.first, rows).await?;
    }
    stage.part_done();
    Ok(parts)
}
