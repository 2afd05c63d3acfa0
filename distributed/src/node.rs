//! A fragment as one opaque node of the library's plans: the library places and connects it, this
//! engine runs it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, exec_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, StatisticsArgs,
};
use engine::Partition;
use futures::StreamExt;
use plan::Plan;

use crate::bridge;
use crate::fragment::Fragment;
use crate::local::{Local, failed};
use crate::lower;

/// A fragment over some partitions of its table: one partition of the library for each.
#[derive(Debug)]
pub struct FragmentExec {
    fragment: Fragment,
    partitions: Vec<Partition>,
    local: Local,
    plan: Arc<Plan>,
    /// Rows of the whole table.
    table_rows: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl FragmentExec {
    /// A fragment over partitions of a table of this node.
    ///
    /// # Errors
    /// Steps that this engine does not run; a table that is not here, or in another state than
    /// where its partitions
    /// were cut.
    pub fn new(fragment: Fragment, partitions: Vec<Partition>, local: &Local) -> Result<Self> {
        if fragment.state != local.state() {
            return Err(exec_datafusion_err!(
                "the database of this node ({}) is not a copy of the coordinator's: \
                 all nodes of a cluster open copies of one file",
                local.database().path().display()
            ));
        }
        let table = local.table(&fragment.table)?;
        let plan = lower::plan(&fragment, &table).map_err(failed)?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(fragment.schema()),
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = properties.with_scheduling_type(SchedulingType::Cooperative);
        Ok(FragmentExec {
            fragment,
            partitions,
            local: local.clone(),
            plan,
            table_rows: usize::try_from(table.statistics.row_count).unwrap_or(usize::MAX),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Another fragment over the same partitions.
    ///
    /// # Errors
    /// As [`FragmentExec::new`].
    pub fn with(&self, fragment: Fragment) -> Result<Self> {
        FragmentExec::new(fragment, self.partitions.clone(), &self.local)
    }

    /// The same over its share of the partitions for each of so many tasks: as many for each, dealt
    /// out in turn.
    ///
    /// # Errors
    /// As [`FragmentExec::new`].
    pub fn dealt(&self, task_count: usize) -> Result<Vec<Self>> {
        let share = self.partitions.len().div_ceil(task_count);
        let of_task = |task: usize| {
            let mut own: Vec<Partition> =
                self.partitions.iter().skip(task).step_by(task_count).cloned().collect();
            own.resize(share, Partition::none());
            FragmentExec::new(self.fragment.clone(), own, &self.local)
        };
        (0..task_count).map(of_task).collect()
    }

    /// The description.
    pub fn fragment(&self) -> &Fragment {
        &self.fragment
    }

    /// The partitions.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }
}

impl DisplayAs for FragmentExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DovetailFragment: partitions={}, {}", self.partitions.len(), self.fragment)
    }
}

impl ExecutionPlan for FragmentExec {
    fn name(&self) -> &str {
        "DovetailFragment"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, at: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partition = self.partitions.get(at).cloned();
        let partition = partition.ok_or_else(|| exec_datafusion_err!("no partition {at}"))?;
        let schema = self.schema();
        let rows = bridge::rows(&self.local, self.plan.clone(), partition, schema.clone());
        let measured = BaselineMetrics::new(&self.metrics, at);
        let rows = rows.map(move |batch| batch.map(|batch| batch.record_output(&measured)));
        Ok(Box::pin(cooperative(RecordBatchStreamAdapter::new(schema, rows))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut known = Statistics::new_unknown(&self.schema());
        if self.fragment.steps.is_empty() {
            let parts = args.partition().map_or(1, |_| self.partitions.len().max(1));
            known.num_rows = Precision::Inexact(self.table_rows / parts);
        }
        Ok(Arc::new(known))
    }
}
