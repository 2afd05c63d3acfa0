//! Rows of a program that come of several nodes, or go to several.

use plan::{CteScan, Node, Operator};
use types::SqlError;
use types::cells::Cells;

use super::{ROOM, Run, Stopped};

impl Run<'_> {
    /// The rows of a query of `WITH`, which is computed when they are asked for first.
    pub(super) async fn shared(&self, scan: &CteScan) -> Result<Cells, Stopped> {
        let known = self.shared.borrow().get(&scan.number).cloned();
        let rows = match known {
            Some(rows) => rows,
            None => {
                let none = || SqlError::internal(format!("no query of the name {}", scan.name));
                let query = query(&self.plan.root, scan.number).ok_or_else(none)?;
                let rows = self.rows(query).await?;
                self.shared.borrow_mut().insert(scan.number, rows.clone());
                rows
            }
        };
        Ok(rows.columns(&scan.columns))
    }

    /// The rows of all inputs, one after the other.
    pub(super) async fn united(&self, inputs: &[Node]) -> Result<Cells, Stopped> {
        let mut all = Cells::new(inputs.first().map_or(0, |input| input.schema.fields().len()));
        for input in inputs {
            let rows = self.rows(input).await?;
            for row in 0..rows.len() {
                rows.row(row).for_each(|value| all.push(value));
                all.end_row();
            }
            if all.len() > ROOM.rows || all.memory() > ROOM.bytes {
                return Err(Stopped::TooMany);
            }
        }
        Ok(all)
    }
}

/// The query of `WITH` with this number, at or below a node.
fn query(node: &Node, number: usize) -> Option<&Node> {
    if let Operator::CteScan(CteScan { number: its, query: Some(query), .. }) = &node.operator
        && *its == number
    {
        return Some(query);
    }
    node.children().into_iter().find_map(|child| query(child, number))
}
