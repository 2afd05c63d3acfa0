//! Refusals, and how clear they are.

use distributed::cluster::{Cluster, address};

use crate::{data, nodes};

async fn refused(cluster: &Cluster, query: &str) -> String {
    match cluster.query(query).await {
        Ok((_, rows)) => panic!("{query} gives {rows:?}"),
        Err(error) => error.strip_backtrace(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fragments_that_are_not_ours_are_errors() {
    let (cluster, _) = nodes::in_process().await;
    for (query, part) in [
        ("select stddev(l_quantity) from lineitem", "is not computed in fragments"),
        (
            "select count(distinct l_comment), count(distinct l_linenumber) from lineitem",
            "is not computed in fragments",
        ),
        ("select l_returnflag from lineitem where random() < 0.5", "another value on each node"),
        (
            "select l_returnflag, l_linestatus, count(*) from lineitem
             group by grouping sets ((l_returnflag), (l_linestatus))",
            "GROUPING SETS",
        ),
        ("select nothing_like_that from lineitem", "nothing_like_that"),
        ("select * from no_such_table", "no_such_table"),
        ("create table t (a int)", "DDL not supported"),
        ("insert into nothing values (1, 'a')", "DML not supported"),
    ] {
        let error = refused(&cluster, query).await;
        assert!(error.contains(part), "{query}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_a_fragment_ends_its_query_alone() {
    let (cluster, _) = nodes::in_process().await;
    let error = refused(&cluster, "select 1 / (l_linenumber - l_linenumber) from lineitem").await;
    assert!(error.to_lowercase().contains("divide by zero"), "{error}");
    let (_, rows) = cluster.query("select count(*) from lineitem").await.expect("the next query");
    assert_eq!(rows.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_another_state_is_refused() {
    let other = data::made("other", "create table orders (o_orderkey bigint primary key)");
    let workers = [nodes::Process::start(), nodes::Process::over(&other)];
    let cluster = nodes::coordinator(&workers);
    let error = refused(&cluster, "select count(*) from orders").await;
    assert!(error.contains("is not a copy of the coordinator's"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_not_there_is_named() {
    // Nobody listens at these ports.
    let urls = ["127.0.0.1:1", "127.0.0.1:2"].map(|port| address(port).expect("an address"));
    let one = Cluster::new(&data::local(), urls[..1].to_vec(), 2);
    assert!(one.is_err(), "one worker is no cluster");
    let cluster = Cluster::new(&data::local(), urls.to_vec(), 2).expect("a coordinator");
    let error = refused(&cluster, "select count(*) from orders").await;
    assert!(error.contains("worker 127.0.0.1:"), "{error}");
}
