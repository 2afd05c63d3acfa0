//! The coordinator: plans queries over the tables of its database, has workers run them, and gives
//! the rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::{DataFusionError, Result, TableReference, not_impl_err, plan_err};
use datafusion::execution::context::SQLOptions;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedExt, DistributedLeafExec,
    ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse, SessionStateBuilderExt, WorkerResolver,
    display_plan_ascii,
};
use futures::TryStreamExt;
use url::Url;

use crate::channels::Channels;
use crate::codec::Codec;
use crate::cut::Cut;
use crate::local::Local;
use crate::node::FragmentExec;
use crate::table::Table;

/// A coordinator with its workers. Definitions are those of its own copy of the database file.
pub struct Cluster {
    context: SessionContext,
}

/// The workers, as they were named at the start.
struct Workers(Vec<Url>);

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}

/// The address of a worker as an URL.
///
/// # Errors
/// It is none.
pub fn address(text: &str) -> Result<Url> {
    match Url::parse(&format!("http://{text}")) {
        Ok(url) if url.port().is_some() => Ok(url),
        _ => plan_err!("\"{text}\" is no address of a worker: HOST:PORT is"),
    }
}

impl Cluster {
    /// A coordinator over these workers, of which each runs so many partitions of a table at once.
    ///
    /// # Errors
    /// There are fewer than two workers: with one the library has the coordinator run the query
    /// itself.
    pub fn new(local: &Local, workers: Vec<Url>, partitions: usize) -> Result<Cluster> {
        if workers.len() < 2 {
            return plan_err!("a cluster has at least two workers");
        }
        let partitions = partitions.max(1);
        let partition_count = workers.len() * partitions;
        let mut config = SessionConfig::new()
            .with_target_partitions(partitions.max(2))
            .with_information_schema(true)
            // Filters that a join finds while it runs do not reach fragments, which have left by
            // then.
            .set_bool("datafusion.optimizer.enable_dynamic_filter_pushdown", false);
        // Constants with a point are decimals, as in PostgreSQL.
        config.options_mut().sql_parser.parse_float_as_decimal = true;
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(config)
            .with_physical_optimizer_rule(Arc::new(Cut))
            .with_distributed_worker_resolver(Workers(workers))
            .with_distributed_channel_resolver(Channels::default())
            .with_distributed_user_codec(Codec(local.clone()))
            .with_distributed_planner()
            .with_distributed_desired_task_count_handler(task_count)
            .with_distributed_scale_up_leaf_node_handler(dealt)
            .build();
        let context = SessionContext::new_with_state(state);
        for table in local.database().tables() {
            let name = TableReference::bare(table.name.clone());
            context.register_table(name, Arc::new(Table::new(local, table, partition_count)))?;
        }
        Ok(Cluster { context })
    }

    /// The same, which exchanges both sides of each join by their keys, whatever their sizes.
    #[must_use]
    pub fn without_broadcasts(self) -> Cluster {
        let state = self.context.state_ref();
        let mut state = state.write();
        let optimizer = &mut state.config_mut().options_mut().optimizer;
        optimizer.hash_join_single_partition_threshold = 0;
        optimizer.hash_join_single_partition_threshold_rows = 0;
        drop(state);
        self
    }

    /// Begins to run a query; rows come as they are taken.
    ///
    /// # Errors
    /// Errors of the library's planner; fragments that this engine does not run; workers that are
    /// not there.
    pub async fn stream(&self, query: &str) -> Result<SendableRecordBatchStream> {
        let plan = self.plan(&self.context.state().create_logical_plan(query).await?).await?;
        execute_stream(plan, self.context.task_ctx())
    }

    /// All rows of a query.
    ///
    /// # Errors
    /// As [`Cluster::stream`], and what happens while it runs: the end of a worker among others.
    pub async fn query(&self, query: &str) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let rows = self.stream(query).await?;
        Ok((rows.schema(), rows.try_collect().await?))
    }

    /// The stages of a query, where they run, and the operators of our fragments, as text; `None`
    /// for a statement that is no EXPLAIN.
    ///
    /// # Errors
    /// As [`Cluster::stream`].
    pub async fn explained(&self, query: &str) -> Result<Option<String>> {
        let LogicalPlan::Explain(explain) = self.context.state().create_logical_plan(query).await?
        else {
            return Ok(None);
        };
        let plan = self.plan(&explain.plan).await?;
        Ok(Some(display_plan_ascii(plan.as_ref(), false)))
    }

    async fn plan(&self, query: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
        if matches!(query, LogicalPlan::Copy(_)) {
            return not_impl_err!("COPY is not distributed");
        }
        let queries = SQLOptions::new();
        let queries = queries.with_allow_ddl(false).with_allow_dml(false);
        queries.with_allow_statements(false).verify_plan(query)?;
        self.context.state().create_physical_plan(query).await
    }
}

/// Fragments run on all workers.
fn task_count(event: DesiredTaskCountEvent<'_>) -> Option<Result<DesiredTaskCountEventResponse>> {
    let node = event.plan.downcast_ref::<FragmentExec>()?;
    Some(Ok(DesiredTaskCountEventResponse::desired(node.partitions().len())))
}

/// Each task has its share of the partitions.
fn dealt(event: ScaleUpLeafNodeEvent<'_>) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let node = event.plan.downcast_ref::<FragmentExec>()?;
    let shares = node.dealt(event.task_count);
    let leaf = shares.and_then(|shares| {
        let shares = shares.into_iter().map(|share| Arc::new(share) as Arc<dyn ExecutionPlan>);
        DistributedLeafExec::try_new(Arc::clone(event.plan), shares)
    });
    Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
}
