//! `dovetail-cluster`: workers, and queries over them.
#![allow(clippy::disallowed_methods)] // beside the simulated world, with a runtime of the library's own

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;
use datafusion::common::{DataFusionError, Result};
use distributed::cluster::{Cluster, address};
use distributed::local::Local;
use distributed::worker;
use tokio::net::TcpListener;

/// Queries over many machines: each node opens its own copy of one database file, read only.
///
/// Stop the server that writes the file, or take a backup, and give each node a copy: nodes whose
/// copies are of different states refuse each other's queries. A node locks its copy, so two nodes
/// of one machine need two.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs stages of queries over its copy of the database file, until it is stopped.
    Worker {
        /// Where coordinators and other workers connect: ADDRESS:PORT. Nothing is encrypted, and
        /// nobody is asked who he is: a network of the cluster's own is meant.
        #[arg(long)]
        listen: SocketAddr,
        #[command(flatten)]
        node: Node,
    },
    /// Runs a query over workers and prints its rows; EXPLAIN prints stages and operators.
    Sql {
        /// The workers, two at least: HOST:PORT, with commas between them.
        #[arg(long, value_delimiter = ',', required = true)]
        workers: Vec<String>,
        /// Partitions of a table that each worker runs at once.
        #[arg(long, default_value_t = 2)]
        partitions: usize,
        #[command(flatten)]
        node: Node,
        /// One query.
        query: String,
    },
}

#[derive(Args)]
struct Node {
    /// This node's copy of the database file. It is only read, and locked meanwhile.
    #[arg(long)]
    database: PathBuf,
    /// Memory of the database in MiB; what the library takes comes on top.
    #[arg(long, default_value_t = 256)]
    memory: usize,
}

// Operators of the library compute for long between two awaits: more threads than these have at
// once leave some that answer peers, who would take the worker for lost.
#[tokio::main(flavor = "multi_thread", worker_threads = 16)]
async fn main() -> ExitCode {
    match run(Arguments::parse().command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dovetail-cluster: {}", error.strip_backtrace());
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<()> {
    match command {
        Command::Worker { listen, node } => {
            let local = open(node).await?;
            let listener = TcpListener::bind(listen).await?;
            println!("listening on {}", listener.local_addr()?);
            worker::serve(&local, listener).await
        }
        Command::Sql { workers, partitions, node, query } => {
            let workers = workers.iter().map(|text| address(text)).collect::<Result<_>>()?;
            let local = open(node).await?;
            let answered = answer(&Cluster::new(&local, workers, partitions)?, &query).await;
            println!("{}", answered?);
            Ok(())
        }
    }
}

/// Opens the file on a thread that may block.
async fn open(node: Node) -> Result<Local> {
    let opening = move || Local::open(&node.database, node.memory << 20, None);
    let opened = tokio::task::spawn_blocking(opening).await;
    opened.map_err(|error| DataFusionError::External(Box::new(error)))?
}

/// The rows of a query as a table, or its plan.
async fn answer(cluster: &Cluster, query: &str) -> Result<String> {
    if let Some(plan) = cluster.explained(query).await? {
        return Ok(plan);
    }
    let (schema, rows) = cluster.query(query).await?;
    Ok(pretty_format_batches_with_schema(schema, &rows)?.to_string())
}
