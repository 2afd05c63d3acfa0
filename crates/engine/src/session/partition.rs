//! Partitions of tables for who runs a plan in several places at once: each place has one of them.

use std::sync::Arc;
use std::time::Duration;

use exec::LocalFuture;
use plan::{Access, Node, Operator, Plan};
use sql::parse::Privilege;
use types::{SqlError, SqlResult, SqlState};

use super::state::Session;
use crate::privileges;
use crate::relation::partition::{self, Partition};
use crate::stream::RowStream;
use crate::timeout::StatementTimeout;

impl Session {
    /// So many disjoint partitions that have all rows of a table between them, as it is now; small
    /// tables have some without rows. Call it in a task of the database's runtime.
    ///
    /// # Errors
    /// 42P01; 42501 for who may not read it; those of storage.
    pub fn partitions<'a>(
        &'a self,
        table: &'a str,
        count: usize,
    ) -> LocalFuture<'a, SqlResult<Vec<Partition>>> {
        Box::pin(async move {
            let snapshot = self.database().snapshot();
            privileges::relation(&snapshot, self.role(), table, Privilege::Select)?;
            partition::partitions(snapshot.table(table)?, count).await
        })
    }

    /// Begins to run a plan over one partition of the one table that it scans; the rows come as
    /// they are taken. It belongs to no transaction. Call it in a task of the database's runtime.
    ///
    /// # Errors
    /// 0A000 for a plan that does not scan exactly one table as a whole; 42501 for who may not read
    /// it.
    pub fn partition_rows(
        &mut self,
        plan: &Arc<Plan>,
        partition: Partition,
    ) -> SqlResult<RowStream> {
        if scans(&plan.root) != Some(1) {
            let message = "a plan over a partition scans one table as a whole";
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.check_reads(&plan.root)?;
        let (cancel, catalog) = (self.begin(), self.system_catalog());
        let timeout = StatementTimeout::start(&self.settings, &cancel);
        let run = self.planned_run(catalog, plan, Duration::ZERO, &cancel).within(partition);
        Ok(RowStream::start(run, self.activity().clone(), (cancel, timeout)))
    }
}

impl Session {
    /// Refuses a plan with a scan of a table that the role may not read: nobody asked when the plan
    /// was made, maybe elsewhere.
    fn check_reads(&self, node: &Node) -> SqlResult<()> {
        if let Operator::Scan(scan) = &node.operator {
            let (snapshot, name) = (self.database().snapshot(), &scan.table.name);
            privileges::relation(&snapshot, self.role(), name, Privilege::Select)?;
        }
        node.children().into_iter().try_for_each(|child| self.check_reads(child))
    }
}

/// How many tables are scanned as a whole below a node; `None` if rows come from elsewhere besides.
fn scans(node: &Node) -> Option<usize> {
    let here = match &node.operator {
        Operator::Scan(scan) if scan.table.id.is_system() => return None,
        Operator::Scan(scan) => usize::from(matches!(scan.access, Access::Full)),
        Operator::Filter { .. } | Operator::Project { .. } | Operator::Aggregate { .. } => 0,
        _ => return None,
    };
    node.children().into_iter().map(scans).try_fold(here, |sum, below| Some(sum + below?))
}
