//! The rows of a node that ask for subqueries.

use datafusion_common::Column;
use datafusion_expr::LogicalPlan;

/// The rows, without and with what they asked for.
pub(super) struct Asking {
    /// As they come: the domains of subqueries are taken from these. From `joined` each domain would have
    /// all subqueries before it once more, and a plan twice as many nodes for each.
    pub rows: LogicalPlan,
    /// With the values of the subqueries so far.
    pub joined: LogicalPlan,
}

impl Asking {
    pub fn new(rows: LogicalPlan) -> Asking {
        Asking { joined: rows.clone(), rows }
    }

    pub fn has_column(&self, column: &Column) -> bool {
        self.joined.schema().has_column(column)
    }

    /// Rows with all of these columns, and no less different ones than there are.
    pub fn with_columns(&self, columns: &[Column]) -> &LogicalPlan {
        match columns.iter().all(|column| self.rows.schema().has_column(column)) {
            true => &self.rows,
            false => &self.joined,
        }
    }
}
