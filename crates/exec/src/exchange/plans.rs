//! Plans that end at exchanges, and plans that begin at them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use plan::catalog::{TableDef, TableId, TableStorage};
use plan::{Access, LookupJoin, Node, Operator, Plan, Scan};
use types::{Column, LogicalType, Schema, SqlError, SqlResult};

use super::{ExchangeControl, Incoming, Outgoing};
use crate::execute::execute;
use crate::query::{Output, Query};
use crate::source::{Lookup, ScanFilter, Source, Tables};

/// Tables among which are inputs from exchanges, by the ids of their scans.
pub struct Inputs {
    tables: Arc<dyn Tables>,
    inputs: HashMap<TableId, Arc<Incoming>>,
}

impl Inputs {
    /// The inputs beside the tables of the node.
    pub fn new(
        tables: Arc<dyn Tables>,
        inputs: impl IntoIterator<Item = (TableId, Arc<Incoming>)>,
    ) -> Inputs {
        Inputs { tables, inputs: inputs.into_iter().collect() }
    }
}

impl Tables for Inputs {
    fn source(&self, scan: &Scan, filters: &[ScanFilter]) -> SqlResult<Arc<dyn Source>> {
        match self.inputs.get(&scan.table.id) {
            Some(input) => Ok(Arc::clone(input) as Arc<dyn Source>),
            None => self.tables.source(scan, filters),
        }
    }

    fn lookup(&self, join: &LookupJoin) -> SqlResult<Arc<dyn Lookup>> {
        self.tables.lookup(join)
    }
}

/// The leaf of a plan that reads what an exchange brings: all columns of `schema`. Its id is that
/// of the input.
///
/// # Errors
/// 0A000: a column of a type that tables do not have.
pub fn scan_of_exchange(id: TableId, schema: &SchemaRef) -> SqlResult<Node> {
    let column = |field: &Arc<arrow_schema::Field>| {
        let ty = LogicalType::of_arrow(field.data_type());
        let ty = ty.ok_or_else(|| SqlError::unsupported(format!("{} here", field.data_type())))?;
        Ok(Column { name: field.name().clone(), ty, nullable: true })
    };
    let columns = schema.fields().iter().map(column).collect::<SqlResult<Vec<_>>>()?;
    let all: Vec<usize> = (0..columns.len()).collect();
    let table = TableDef {
        id,
        name: "an exchange".to_owned(),
        schema: Schema { columns },
        storage: TableStorage::Row,
        primary_key: vec![],
        indexes: vec![],
        statistics: Arc::default(),
        constraints: Arc::default(),
    };
    let scan = Scan {
        table: Arc::new(table),
        access: Access::Full,
        slot: None,
        columns: all.clone(),
        restrictions: vec![],
        filter: None,
        output: all,
        first: None,
        as_words: false,
    };
    Ok(Node::new(Operator::Scan(scan), Arc::clone(schema), 0.0, 0.0))
}

/// Runs a plan whose rows go into an exchange, to its end. An error of the plan is one of the
/// exchange.
///
/// # Errors
/// Those of the plan and of the exchange.
pub async fn send_rows(
    plan: Arc<Plan>,
    tables: Arc<dyn Tables>,
    query: Arc<Query>,
    outgoing: Arc<Outgoing>,
) -> SqlResult<()> {
    let output = Arc::clone(&outgoing) as Arc<dyn Output>;
    match execute(plan, tables, query, output).await {
        Ok(()) => outgoing.finish().await,
        Err(error) => {
            outgoing.shared.fail(error.clone());
            Err(error)
        }
    }
}

/// Runs a plan over `inputs`, of exchanges that `controls` end: with the error of the plan, if it
/// has one.
///
/// # Errors
/// Those of the plan and of the exchanges.
pub async fn receive_rows(
    plan: Arc<Plan>,
    inputs: Inputs,
    query: Arc<Query>,
    output: Arc<dyn Output>,
    controls: &[ExchangeControl],
) -> SqlResult<()> {
    let result = execute(plan, Arc::new(inputs), query, output).await;
    if let Err(error) = &result {
        controls.iter().for_each(|control| control.fail(error.clone()));
    }
    result
}
