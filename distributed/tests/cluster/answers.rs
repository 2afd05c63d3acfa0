//! Answers beside those of this engine on one machine.

use std::process::Command;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use distributed::cluster::Cluster;
use engine::{Database, StatementResult};

use crate::{data, nodes};

/// Queries, each over the tables as rows and as columns where it names `lineitem`.
const QUERIES: &[&str] = &[
    "select count(*) from lineitem",
    "select sum(l_quantity) as q, min(l_shipdate) as d, max(l_comment) as c, count(l_comment) as n,
            sum(l_weight) as w, min(l_weight) as least from lineitem",
    "select l_returnflag, l_linestatus, sum(l_quantity) as q, sum(l_extendedprice) as e,
            sum(l_extendedprice * (1 - l_discount)) as net, avg(l_quantity) as avg_q,
            avg(l_discount) as avg_d, count(*) as n
       from lineitem where l_shipdate <= date '1998-09-02'
      group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus",
    "select sum(l_extendedprice * l_discount) as revenue from lineitem
      where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
        and l_discount between 0.05 and 0.07 and l_quantity < 24",
    "select l_comment, count(*) as n, sum(l_linenumber) as s from lineitem
      where l_comment is null or l_comment like 'comment 1%' group by l_comment",
    "select l_orderkey, sum(l_quantity) as q from lineitem group by l_orderkey
     having sum(l_quantity) > 150 order by q desc, l_orderkey limit 20",
    "select o_orderpriority, count(*) as n from orders join lineitem on l_orderkey = o_orderkey
      where l_returnflag = 'R' and o_orderdate >= date '1993-07-01' group by o_orderpriority",
    "select l_orderkey, o_orderdate, sum(l_extendedprice * (1 - l_discount)) as revenue
       from orders, lineitem where l_orderkey = o_orderkey and o_custkey < 100
        and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
      group by l_orderkey, o_orderdate order by revenue desc, l_orderkey limit 10",
    "select o_orderkey, o_orderpriority, l_linenumber from orders
       left join lineitem on l_orderkey = o_orderkey and l_quantity > 48 where o_orderkey < 300",
    "select distinct l_returnflag, l_comment from lineitem where l_linenumber = 2",
    "select count(distinct l_comment) as n from lineitem where l_weight > 50",
    "select l_orderkey, l_linenumber, l_comment from lineitem
      where l_shipdate = date '1995-06-17' or l_weight = 12.5",
    "select l_orderkey from lineitem where l_quantity = 17 order by l_orderkey, l_linenumber limit 7",
    "select o_orderstatus, count(*) filter (where o_totalprice > 10000) as dear, avg(o_totalprice)
            as avg_p from orders group by o_orderstatus",
    "select count(*) as n, sum(a) as s, min(b) as b from nothing",
    "select o_custkey from orders where o_orderkey in
       (select l_orderkey from lineitem where l_quantity = 50 and l_discount = 0.10)",
];

/// The rows as texts, in an order of their own unless the query has one. Numbers are written in one
/// way.
fn written(batches: &[RecordBatch], is_ordered: bool) -> Vec<Vec<String>> {
    let options = FormatOptions::new().with_null("NULL");
    let mut rows = vec![];
    for batch in batches {
        let columns = batch.columns().iter();
        let columns = columns.map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>().expect("values have texts");
        let row = |at| columns.iter().map(|column| plain(&column.value(at).to_string())).collect();
        rows.extend((0..batch.num_rows()).map(row).collect::<Vec<Vec<String>>>());
    }
    if !is_ordered {
        rows.sort();
    }
    rows
}

/// A number without zeros at its end.
fn plain(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(_) if value.contains('.') && !value.contains('e') => {
            value.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => value.to_owned(),
    }
}

/// Values are equal; averages to as many digits as both have.
fn equal(name: &str, one: &str, other: &str) -> bool {
    let close = |one: f64, other: f64| (one - other).abs() < 1e-5;
    match (one.parse(), other.parse()) {
        (Ok(one), Ok(other)) if name.starts_with("avg") => close(one, other),
        _ => one == other,
    }
}

fn alone(database: &Database, query: &str) -> Vec<RecordBatch> {
    let mut results = database.session().execute(query).expect(query);
    match results.pop() {
        Some(StatementResult::Rows(rows)) => rows.batches,
        other => panic!("{query} gives no rows: {other:?}"),
    }
}

/// Each query of the list, over rows and over columns.
fn queries() -> impl Iterator<Item = String> {
    let columns = QUERIES.iter().filter(|query| query.contains("lineitem"));
    let columns = columns.map(|query| query.replace("lineitem", "lines"));
    QUERIES.iter().map(|query| (*query).to_owned()).chain(columns)
}

/// Compares the answers to one query.
async fn check(cluster: &Cluster, database: &Database, query: &str) {
    let (schema, rows) = cluster.query(query).await.unwrap_or_else(|e| panic!("{query}: {e}"));
    let is_ordered = query.contains("order by");
    let (found, wanted) =
        (written(&rows, is_ordered), written(&alone(database, query), is_ordered));
    assert_eq!(found.len(), wanted.len(), "{query}: numbers of rows");
    for (found, wanted) in found.iter().zip(&wanted) {
        for (at, field) in schema.fields().iter().enumerate() {
            let (found, wanted) = (&found[at], &wanted[at]);
            assert!(equal(field.name(), found, wanted), "{query}: {found} instead of {wanted}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_answer_as_one_machine() {
    let workers = nodes::three();
    let (cluster, alone) = (nodes::coordinator(&workers), data::local());
    for query in queries() {
        check(&cluster, alone.database(), &query).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_one_process_answer_as_one_machine() {
    let (cluster, workers) = nodes::in_process().await;
    for query in queries() {
        check(&cluster, workers[0].database(), &query).await;
    }
}

/// A join whose sides are both exchanged by their keys: the library would send the smaller one to
/// all otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn both_sides_of_a_join_are_exchanged() {
    let (cluster, workers) = nodes::in_process().await;
    let cluster = cluster.without_broadcasts();
    let query = "select o_orderstatus, count(*) as n, sum(l_quantity) as q from lines
        join orders on l_orderkey = o_orderkey where l_discount > 0.02 group by o_orderstatus";
    let plan = cluster.explained(&format!("explain {query}")).await.expect("a plan");
    let plan = plan.expect("it is an EXPLAIN");
    assert!(plan.matches("NetworkShuffleExec").count() >= 3, "{plan}");
    check(&cluster, workers[0].database(), query).await;
}

#[test]
fn the_command_answers_and_explains() {
    let workers = nodes::three();
    let addresses = nodes::addresses(&workers);
    let run = |query: &str| {
        let mut command = Command::new(nodes::COMMAND);
        command.args(["sql", "--workers", &addresses, "--database"]).arg(data::copy());
        let output = command.arg(query).output().expect("a process");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let grouped = "select l_returnflag, sum(l_quantity) from lines where l_discount = 0.03
        group by l_returnflag";
    let plan = run(&format!("explain {grouped}"));
    for part in ["Stage 2", "tasks=3", "DovetailFragment", "Scan lines", "Filter", "Partial"] {
        assert!(plan.contains(part), "no {part} in {plan}");
    }
    assert!(!plan.contains("AggregateExec: mode=Partial,"), "{plan}");
    assert!(run("select count(*) as n from lineitem").contains("| 20000 |"));
}
