//! Partitions of a table: disjoint, and all of its rows between them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use distributed::bridge;
use distributed::fragment::Fragment;
use distributed::local::Local;
use distributed::lower;
use engine::Partition;
use futures::TryStreamExt;

use crate::data;

/// Keys of the rows of each partition.
async fn keys(local: &Local, table: &str, partitions: Vec<Partition>) -> Vec<Vec<i64>> {
    let def = local.table(table).expect("a table");
    let read = def.schema.project(&[0, 1]);
    let fragment = Fragment::of_table(table, local.state(), vec![0, 1], read.clone());
    let plan = lower::plan(&fragment, &def).expect("a plan");
    let mut found = vec![];
    for partition in partitions {
        let rows = bridge::rows(local, Arc::clone(&plan), partition, read.clone());
        let batches: Vec<_> = rows.try_collect().await.expect("rows");
        let of_batch = |batch: &arrow_array::RecordBatch| {
            batch.column(0).as_primitive::<Int64Type>().values().to_vec()
        };
        found.push(batches.iter().flat_map(of_batch).collect());
    }
    found
}

/// Partitions of so many counts have the rows of the table, and at least so many of them have some.
async fn check(table: &str, count: usize, with_rows_min: usize) {
    let local = data::local();
    let whole = keys(&local, table, vec![Partition::default()]).await.remove(0);
    let cut = local.partitions(table, count).await.expect("partitions");
    assert_eq!(cut.len(), count);
    let found = keys(&local, table, cut).await;
    let with_rows = found.iter().filter(|keys| !keys.is_empty()).count();
    assert!(with_rows >= with_rows_min, "{table} in {count}: {with_rows} have rows");
    let (mut found, mut whole) = (found.concat(), whole);
    found.sort_unstable();
    whole.sort_unstable();
    assert_eq!(found, whole, "{table} in {count} partitions");
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_have_all_rows_once() {
    for (table, count, with_rows_min) in [
        ("lineitem", 1, 1),
        ("lineitem", 6, 4),
        ("lineitem", 64, 5),
        ("lines", 1, 1),
        ("lines", 6, 5),
        ("lines", 64, 5),
        ("orders", 3, 1),
    ] {
        check(table, count, with_rows_min).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_table_has_partitions() {
    let local = data::local();
    let cut = local.partitions("nothing", 3).await.expect("partitions");
    assert_eq!(cut.len(), 3);
    assert_eq!(cut[1], Partition::none());
}
