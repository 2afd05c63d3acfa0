//! Arrays and series as rows of a program.

use arrow_array::RecordBatch;
use plan::{Node, Operator, UnnestColumn};
use types::SqlResult;
use types::cells::Cells;

use super::{ROOM, Run, Stopped, batch_of_cells, push_batch};
use crate::batch;
use crate::map::Map;
use crate::unnest::Unnest;

impl Run<'_> {
    /// A row for each element of a row's arrays, or value of its series. Arrays have no form in a
    /// program: a projection below makes vectors.
    pub(super) async fn unnested(
        &self,
        node: &Node,
        (input, columns): (&Node, &[UnnestColumn]),
    ) -> Result<Cells, Stopped> {
        let rows = match &input.operator {
            Operator::Project { input: below, .. } => {
                let rows = batch_of_cells(&below.relaxed(), &self.rows(below).await?)?;
                self.within_limits(|| projected(input, &rows))?
            }
            _ => batch_of_cells(&input.relaxed(), &self.rows(input).await?)?,
        };
        let columns = (columns, Some(self.given));
        let unnest = Unnest::new(node.id, columns, node.relaxed(), ROOM.rows);
        let (mut made, mut left) = (Cells::new(node.schema.fields().len()), Some(rows));
        while let Some(rows) = left.filter(|rows| rows.num_rows() > 0) {
            let applied = unnest.apply(rows)?;
            for batch in &applied.out {
                push_batch(&mut made, batch)?;
            }
            left = applied.rest;
            if made.len() > ROOM.rows || made.memory() > ROOM.bytes {
                return Err(Stopped::TooMany);
            }
        }
        Ok(made)
    }
}

/// The rows of a projection over these.
fn projected(node: &Node, rows: &RecordBatch) -> SqlResult<RecordBatch> {
    let exprs = match &node.operator {
        Operator::Project { exprs, .. } => &exprs[..],
        _ => &[],
    };
    let columns = exprs.iter().map(|expr| expr.evaluate(rows)).collect::<SqlResult<Vec<_>>>()?;
    batch::make(&node.relaxed(), columns, rows.num_rows())
}
