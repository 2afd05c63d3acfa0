//! Rows of a program as relations.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray, StructArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use runtime::sim::Disk;
use types::SqlResult;

use super::Lent;
use crate::database::Database;
use crate::options::{Options, Simulation};
use crate::result::StatementResult;
use crate::session::state::Session;

fn database() -> Database {
    let simulation = Some(Simulation { disk: Disk::new(1), seed: 1 });
    let options = Options { simulation, workers: 1, memory_bytes: 24 << 20, ..Options::few() };
    Database::create(Path::new("/db"), options).expect("a database")
}

fn lent(columns: Vec<(&str, ArrayRef)>) -> SqlResult<Lent> {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays).expect("a batch");
    Lent::new(&schema, &[batch])
}

/// The rows of the last statement, in text, or the state of the error.
fn outcome(session: &mut Session, text: &str) -> String {
    let results = match session.execute(text) {
        Ok(results) => results,
        Err(error) => return error.state.0.to_owned(),
    };
    let Some(StatementResult::Rows(rows)) = results.last() else { return "done".to_owned() };
    let row = |batch: &RecordBatch, row: usize| {
        let cell =
            |array: &ArrayRef| types::text::format_value(array, row).unwrap_or("null".to_owned());
        batch.columns().iter().map(cell).collect::<Vec<_>>().join(",")
    };
    let of_batch = |batch: &RecordBatch| (0..batch.num_rows()).map(|at| row(batch, at)).collect();
    let rows: Vec<Vec<String>> = rows.batches.iter().map(of_batch).collect();
    rows.concat().join(" ")
}

#[test]
fn queries_read_what_is_lent_until_it_is_taken_back() {
    let db = database();
    let (mut session, mut other) = (db.session(), db.session());
    let numbers = Int64Array::from_iter_values(0..200_000);
    session.lend("n", lent(vec![("a", Arc::new(numbers))]).expect("lent"));
    let cases = [
        ("select count(*), sum(a), max(a) from n", "200000,19999900000,199999"),
        ("select count(*) from n x join n y using (a) where a < 10", "10"),
        ("create table t (b bigint); insert into t select a from n where a < 3", "done"),
        ("select b, (select count(*) from n where a < b) from t order by b", "0,0 1,1 2,2"),
        ("create view v as select a from n", "42P01"),
        ("insert into n values (1)", "42P01"),
        ("update n set a = 1", "42P01"),
        ("delete from n", "42P01"),
        ("drop table n", "42P01"),
        ("select count(*) from public.n", "42P01"),
    ];
    for (text, expected) in cases {
        assert_eq!(outcome(&mut session, text), expected, "{text}");
    }
    assert_eq!(outcome(&mut other, "select * from n"), "42P01");
    assert!(session.take_back("n") && !session.take_back("n"));
    assert_eq!(outcome(&mut session, "select * from n"), "42P01");
    drop((session, other));
    db.close().expect("closed");
}

#[test]
fn tables_come_first() {
    let db = database();
    let mut session = db.session();
    session.lend("t", lent(vec![("a", Arc::new(Int8Array::from(vec![1])))]).expect("lent"));
    let made = "select a from t; create table t (a int); insert into t values (2); select a from t";
    assert_eq!(outcome(&mut session, made), "2");
    assert_eq!(outcome(&mut session, "drop table t; select a from t"), "1");
    drop(session);
    db.close().expect("closed");
}

#[test]
fn other_types_are_converted_or_refused() {
    let db = database();
    let mut session = db.session();
    let words: DictionaryArray<Int32Type> = vec![Some("x"), None, Some("x")].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("tiny", Arc::new(Int8Array::from(vec![Some(-1), None, Some(3)]))),
        ("wide", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1]))),
        ("text", Arc::new(StringArray::from(vec!["a", "", "a text of more than twelve bytes"]))),
        ("word", Arc::new(words)),
    ];
    session.lend("t", lent(columns).expect("lent"));
    let expected = "-1,18446744073709551615,a,x null,0,,null \
                    3,1,a text of more than twelve bytes,x";
    assert_eq!(outcome(&mut session, "select * from t"), expected);
    drop(session);
    db.close().expect("closed");

    let one: ArrayRef = Arc::new(Int8Array::from(vec![1]));
    let twice = lent(vec![("a", one.clone()), ("a", one.clone())]).expect_err("a name twice");
    assert_eq!(twice.state.0, "42701");
    let fields = Fields::from(vec![Field::new("x", DataType::Int8, true)]);
    let record: ArrayRef = Arc::new(StructArray::new(fields, vec![one], None));
    let refused = lent(vec![("s", record)]).expect_err("a struct");
    assert_eq!((refused.state.0, refused.message.contains("struct")), ("0A000", true));
}
