//! Every pair of equal keys is found, in the order of rows, whatever the form of the keys and however many
//! parts the table has.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema};

use super::{Extent, JoinTable};
use crate::jobs::Parallelism;
use crate::keys::{KeyBatch, KeyCoder};
use crate::pairs::Pairs;

/// More than the rows of one part.
const MANY: i64 = 70_000;

type Row = Option<i64>;

/// The key of a row in each of the forms.
#[derive(Clone, Copy, Debug)]
enum Form {
    Int,
    Wide,
    Bytes,
}

impl Form {
    fn columns(self, rows: &[Row]) -> Vec<ArrayRef> {
        let ints: ArrayRef = Arc::new(Int64Array::from(rows.to_vec()));
        let texts = || rows.iter().map(|row| row.map(|row| format!("a long key number {row}")));
        match self {
            Form::Int => vec![ints],
            Form::Wide => vec![Arc::clone(&ints), ints],
            Form::Bytes => vec![Arc::new(texts().collect::<StringViewArray>())],
        }
    }

    fn coder(self) -> KeyCoder {
        let types: &[DataType] = match self {
            Form::Int => &[DataType::Int64],
            Form::Wide => &[DataType::Int64, DataType::Int64],
            Form::Bytes => &[DataType::Utf8View],
        };
        KeyCoder::new(types.to_vec(), false).expect("there is such a coder")
    }

    fn encode(self, rows: &[Row]) -> KeyBatch {
        self.coder().encode(&self.columns(rows)).expect("keys are encoded")
    }

    fn table(self, rows: &[Row], batch_rows: usize) -> JoinTable {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
        let part = |rows: &[Row]| {
            let column: ArrayRef = Arc::new(Int64Array::from(rows.to_vec()));
            let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]);
            (batch.expect("a batch"), self.encode(rows))
        };
        let parts: Vec<_> = rows.chunks(batch_rows).map(part).collect();
        let runtime = runtime::Runtime::start(runtime::Config { workers: 1, ..Default::default() });
        let made = runtime.expect("a runtime starts").block_on(move || async move {
            let form = (&schema, &self.coder());
            JoinTable::of(form, parts, false, &Parallelism::One, vec![]).await
        });
        made.expect("it is made")
    }
}

/// Partners of each probe row by looking at all build rows of its key.
fn expected(build: &[Row], probe: &[Row], one_will_do: bool) -> Vec<(u32, u32)> {
    let mut rows_of = std::collections::BTreeMap::<i64, Vec<u32>>::new();
    for (at, key) in build.iter().enumerate() {
        key.iter().for_each(|key| rows_of.entry(*key).or_default().push(at as u32));
    }
    let partners = |(at, key): (usize, &Row)| {
        let rows = key.and_then(|key| rows_of.get(&key)).cloned().unwrap_or_default();
        let wanted = if one_will_do { 1 } else { rows.len() };
        rows.into_iter().take(wanted).map(move |row| (row, at as u32)).collect::<Vec<_>>()
    };
    probe.iter().enumerate().flat_map(partners).collect()
}

/// All pairs, as many at a time as make `enough`.
fn found(table: &JoinTable, probe: &KeyBatch, enough: usize, one_will_do: bool) -> Vec<(u32, u32)> {
    let (mut first, mut all) = (0, vec![]);
    while first < probe.hashes.len() {
        let mut pairs = Pairs::with_capacity(0);
        let passes = |row: usize| probe.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let extent = Extent { first, enough, one_will_do };
        first = table.find(probe, &extent, passes, &mut pairs);
        all.extend(pairs.left.into_iter().zip(pairs.right));
    }
    all
}

#[test]
fn every_pair_is_found_once() {
    let build: Vec<Row> = (0..MANY).map(|i| (i % 11 > 0).then_some(i * i % (MANY / 2))).collect();
    let probe: Vec<Row> = (0..5000).map(|i| (i % 13 > 0).then_some(i * 7)).collect();
    for form in [Form::Int, Form::Wide, Form::Bytes] {
        for (build, batch_rows) in [(&build[..], 3000), (&build[..900], 100), (&build[..0], 1)] {
            let table = form.table(build, batch_rows);
            let null_count = build.iter().filter(|row| row.is_none()).count();
            assert_eq!(table.null_rows.len(), null_count, "{form:?}");
            assert_eq!(table.rows.num_rows(), build.len(), "{form:?}");
            for (enough, one_will_do) in [(usize::MAX, false), (1000, false), (1, true)] {
                let pairs = found(&table, &form.encode(&probe), enough, one_will_do);
                let expected = expected(build, &probe, one_will_do);
                assert_eq!(pairs, expected, "{form:?}, {} rows, {enough}", build.len());
            }
        }
    }
}
