//! Tables of groups are divided and merged by parts.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, StringViewArray};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use sql::parse_aggregate;

use super::*;

const PARTS: usize = 8;

fn grouping(input: &SchemaRef, group_by: &[usize]) -> Arc<Grouping> {
    let column =
        |at: &usize| Expr::column(*at, &format!("c{at}"), input.field(*at).data_type().clone());
    let group_by: Vec<Expr> = group_by.iter().map(column).collect();
    let count = parse_aggregate("count(*)", input).unwrap();
    let field = |(i, ty): (usize, DataType)| Field::new(format!("c{i}"), ty, true);
    let types = group_by.iter().map(|e| e.data_type().clone()).chain([DataType::Int64]);
    let output = Schema::new(types.enumerate().map(field).collect::<Vec<_>>());
    let grouping = Grouping::new(group_by, vec![count], Arc::clone(input), Arc::new(output));
    Arc::new(grouping.unwrap())
}

/// Rows of the keys 0 to 999, and some of null, for which `beneath` stands.
fn rows(beneath: i64) -> RecordBatch {
    let is_valid: NullBuffer = (0..1010).map(|i| i < 1000).collect::<Vec<bool>>().into();
    let keys: Vec<i64> = (0..1010).map(|i| if i < 1000 { i } else { beneath }).collect();
    let keys = Int64Array::new(ScalarBuffer::from(keys), Some(is_valid));
    let texts: StringViewArray = (0..1010).map(|i| Some(format!("t{}", i % 7))).collect();
    let schema = Schema::new(vec![
        Field::new("c0", DataType::Int64, true),
        Field::new("c1", DataType::Utf8View, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(keys), Arc::new(texts)]).unwrap()
}

/// The number of groups, and of their rows, when two tables are merged by parts.
fn merged(group_by: &[usize]) -> (usize, Vec<i64>) {
    let tables = [rows(-5), rows(77)];
    let grouping = grouping(&tables[0].schema(), group_by);
    let runtime = runtime::Runtime::start(runtime::Config::default()).unwrap();
    let counts = runtime.block_on(move || async move {
        let mut divided = vec![];
        for rows in tables {
            let mut groups = Groups::new(&grouping).unwrap();
            groups.update(&grouping, &rows).unwrap();
            divided.push(groups.divide(PARTS).await.unwrap());
        }
        let mut counts = vec![];
        for part in 0..PARTS {
            let mut groups = Groups::new(&grouping).unwrap();
            for table in &divided {
                groups.add_part(&grouping, table, part).await.unwrap();
            }
            let rows = groups.finish(&grouping).await.unwrap();
            let last = rows.columns().last().unwrap();
            counts.extend_from_slice(last.as_primitive::<Int64Type>().values());
        }
        counts
    });
    (counts.len(), counts)
}

#[test]
fn a_key_is_one_group_whatever_stands_for_null() {
    let (group_count, mut counts) = merged(&[0]);
    counts.sort_unstable();
    assert_eq!(group_count, 1001);
    assert!(counts[..1000].iter().all(|count| *count == 2), "each key once in each table");
    assert_eq!(counts[1000], 20, "all nulls are one group");
}

#[test]
fn keys_of_several_columns_are_one_group_each() {
    let (group_count, counts) = merged(&[0, 1]);
    // Null beside each of seven texts.
    assert_eq!(group_count, 1007);
    assert_eq!(counts.iter().sum::<i64>(), 2020);
}
