//! However long a frame is, a call takes a bounded number of steps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::SqlResult;

use super::evaluation::STEPS_AT_ONCE;
use super::slide::Slide;
use super::sorted::{Begin, Sorted};
use crate::expr::function::{AggregateFunction, Groups, Single};

/// A sum that counts the rows that it takes in and out, in all.
#[derive(Debug)]
struct Counting {
    sum: i64,
    forgets: bool,
    touched: Arc<std::sync::atomic::AtomicUsize>,
}

impl Counting {
    fn add(&mut self, values: &[ArrayRef], sign: i64) {
        let values = values[0].as_primitive::<Int64Type>().values();
        self.sum += sign * values.iter().sum::<i64>();
        self.touched.fetch_add(values.len(), std::sync::atomic::Ordering::Relaxed);
    }
}

impl Single for Counting {
    fn update(&mut self, values: &[ArrayRef]) -> SqlResult<()> {
        self.add(values, 1);
        Ok(())
    }

    fn retract(&mut self, values: &[ArrayRef]) -> SqlResult<()> {
        self.add(values, -1);
        Ok(())
    }

    fn retracts(&self) -> bool {
        self.forgets
    }

    fn evaluate(&mut self) -> SqlResult<ScalarValue> {
        Ok(ScalarValue::Int64(Some(self.sum)))
    }

    fn state(&mut self) -> SqlResult<Vec<ArrayRef>> {
        Ok(vec![Arc::new(Int64Array::from(vec![self.sum]))])
    }

    fn merge(&mut self, states: &[ArrayRef]) -> SqlResult<()> {
        self.add(states, 1);
        Ok(())
    }
}

/// Makes such sums.
struct Sums {
    forgets: bool,
    touched: Arc<std::sync::atomic::AtomicUsize>,
}

impl AggregateFunction for Sums {
    fn state_types(&self) -> SqlResult<Vec<DataType>> {
        Ok(vec![DataType::Int64])
    }

    fn forgets(&self) -> bool {
        self.forgets
    }

    fn groups(&self) -> SqlResult<Box<dyn Groups>> {
        Err(types::SqlError::internal("frames have one group each"))
    }

    fn single(&self) -> SqlResult<Box<dyn Single>> {
        let (forgets, touched) = (self.forgets, Arc::clone(&self.touched));
        Ok(Box::new(Counting { sum: 0, forgets, touched }))
    }
}

const ROWS: usize = 40_000;

/// Sums over frames, 64 at a time; each call touches a bounded number of rows, and the sums are
/// right.
fn check(frame: impl Fn(usize) -> std::ops::Range<usize>, forgets: bool) {
    let touched = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let sums = Arc::new(Sums { forgets, touched: Arc::clone(&touched) });
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let mut slide = Slide::new(sums, vec![values]).unwrap();
    let sum = |rows: std::ops::Range<usize>| (rows.start + rows.end - 1) * rows.len() / 2;
    for first in (0..2048).step_by(64) {
        let frames: Vec<_> = (first..first + 64).map(&frame).collect();
        let found = loop {
            let before = touched.load(std::sync::atomic::Ordering::Relaxed);
            let found = slide.values(&frames, &mut { STEPS_AT_ONCE }).unwrap();
            let taken = touched.load(std::sync::atomic::Ordering::Relaxed) - before;
            assert!(taken <= 2 * STEPS_AT_ONCE, "{taken} rows in one call");
            if let Some(found) = found {
                break found;
            }
        };
        let expected = frames.iter().map(|f| Some(sum(f.clone()) as i64));
        assert!(found.as_primitive::<Int64Type>().iter().eq(expected));
    }
}

#[test]
fn frames_are_summed_in_bounded_steps() {
    for forgets in [true, false] {
        check(|row| 0..row + 1, forgets);
        check(|_| 0..ROWS, forgets);
        check(|row| row..ROWS, forgets);
        check(|row| row..row + 3, forgets);
        check(|row| row * 10..row * 10 + 19_000, forgets);
        check(|row| row / 64 * 64..row / 64 * 64 + 1500, forgets);
    }
}

#[test]
fn rows_know_their_partitions_and_peers() {
    use Begin::{Nothing, Partition, Peers};
    let mut sorted = Sorted::default();
    sorted.add(&[Partition, Nothing, Peers]);
    sorted.add(&[Nothing, Partition, Peers]);
    assert_eq!(sorted.row_count(), 6);
    let parts: Vec<_> = sorted.parts(1..5).collect();
    assert_eq!(parts, [(0..4, 1..4), (4..6, 4..5)]);
    assert_eq!(
        (0..6).map(|row| sorted.peers(row)).collect::<Vec<_>>(),
        [0..2, 0..2, 2..4, 2..4, 4..5, 5..6]
    );
    assert_eq!((3..5).map(|row| sorted.partition_number(row)).collect::<Vec<_>>(), [0, 1]);
}
