//! Our tables as the library's planner sees them.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use engine::TableDef;

use crate::fragment::Fragment;
use crate::local::Local;
use crate::node::FragmentExec;

/// A table of the coordinator's database, cut into partitions when a query scans it.
#[derive(Debug)]
pub struct Table {
    local: Local,
    table: Arc<TableDef>,
    schema: SchemaRef,
    /// Partitions that a scan is cut into: those of all workers together.
    partition_count: usize,
}

impl Table {
    /// A table of this database.
    pub fn new(local: &Local, table: Arc<TableDef>, partition_count: usize) -> Table {
        let schema = table.schema.arrow();
        Table { local: local.clone(), table, schema, partition_count }
    }
}

#[async_trait]
impl TableProvider for Table {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let name = &self.table.name;
        let all = || (0..self.schema.fields().len()).collect();
        let columns = projection.cloned().unwrap_or_else(all);
        let read = self.table.schema.project(&columns);
        let fragment = Fragment::of_table(name, self.local.state(), columns, read);
        let partitions = self.local.partitions(name, self.partition_count).await?;
        Ok(Arc::new(FragmentExec::new(fragment, partitions, &self.local)?))
    }
}
