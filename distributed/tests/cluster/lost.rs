//! Workers that are lost, and queries that nobody wants any more.

use std::time::{Duration, Instant};

use distributed::cluster::Cluster;
use futures::StreamExt;

use crate::nodes;

/// How soon a query has to end when a worker is lost.
const END: Duration = Duration::from_secs(5);

/// Pairs of rows, far more than there is time for.
const LONG: &str = "select count(*) from lineitem a join lines b
    on a.l_comment || b.l_comment like '%9 comment 9%' and a.l_quantity <> b.l_quantity";

/// How a query ends, and when after `lose` has been called in its middle.
async fn ended(cluster: Cluster, lose: impl FnOnce()) -> (Result<(), String>, Duration) {
    let query = tokio::spawn(async move {
        let ended = cluster.query(LONG).await;
        ended.map(|_| ()).map_err(|error| error.strip_backtrace())
    });
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(!query.is_finished(), "the query is not long enough: {:?}", query.await);
    lose();
    let since = Instant::now();
    let ended = tokio::time::timeout(END, query).await.expect("the query ends in time");
    (ended.expect("no panic"), since.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_ends_the_query_with_an_error() {
    let mut workers = nodes::three();
    let cluster = nodes::coordinator(&workers);
    let lost = workers[1].address.clone();
    let (ended, took) = ended(cluster, || workers[1].kill()).await;
    let error = ended.expect_err("a worker is gone");
    assert!(took < END, "{took:?}");
    assert!(error.contains(&lost), "{error}");
}

/// A worker that is stopped keeps its connections, and does not answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_hangs_ends_the_query_with_an_error() {
    let workers = nodes::three();
    let cluster = nodes::coordinator(&workers);
    let (ended, took) = ended(cluster, || workers[2].stop()).await;
    let error = ended.expect_err("a worker hangs");
    assert!(took < END, "{took:?}");
    assert!(error.contains(&workers[2].address), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_query_ends_its_tasks() {
    let (cluster, workers) = nodes::in_process().await;
    let busy = || workers.iter().map(|local| sessions(local.database())).sum::<usize>();
    let mut rows = cluster.stream("select * from lineitem").await.expect("a query");
    rows.next().await.expect("a batch").expect("no error");
    drop(rows);
    let since = Instant::now();
    while busy() > 0 && since.elapsed() < END {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(busy(), 0, "tasks that nobody wants");
    let again = cluster.query("select count(*) from lineitem").await;
    again.expect("workers go on");
}

fn sessions(database: &engine::Database) -> usize {
    database.activities().sessions().len()
}

/// A query that ends while its rows are still on their way has not been cut short.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_whole_table_arrive() {
    let (cluster, _) = nodes::in_process().await;
    let (_, rows) = cluster.query("select * from lines").await.expect("rows");
    assert_eq!(rows.iter().map(|batch| batch.num_rows()).sum::<usize>(), 20_010);
}
