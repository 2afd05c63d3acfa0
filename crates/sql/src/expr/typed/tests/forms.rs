//! Batches whose columns have values of every size, and lie in memory in every form that vectors have.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int16Array, Int32Array,
    Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use stdx::Prng;

/// Numbers of rows: none, one, a word of bits and one less and more, several words.
const ROW_COUNTS: [u64; 8] = [0, 1, 7, 63, 64, 65, 150, 150];

/// Rows that a batch is cut or selected from have so many more, at most.
const MORE_ROWS: u64 = 90;

const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

/// Texts with and without bytes outside of their views, some the beginnings of others.
pub(super) const TEXTS: [&str; 9] = [
    "",
    "MAIL",
    "REG AIR",
    "forest green",
    "forest greens",
    "a longer text than 12",
    "for",
    "42",
    "großer Wald",
];

/// A batch of any form: its columns flat, constant or of few values, all of it cut out of another, or
/// selected from one.
pub(super) fn batch(random: &mut Prng) -> RecordBatch {
    let rows = ROW_COUNTS[random.below(ROW_COUNTS.len() as u64) as usize];
    let more = random.below(MORE_ROWS);
    match random.below(3) {
        0 => flat(random, rows as usize),
        1 => {
            let first = random.below(more + 1) as usize;
            flat(random, (rows + more) as usize).slice(first, rows as usize)
        }
        _ => {
            let whole = flat(random, (rows + more) as usize);
            let share = random.unit();
            let kept = (0..whole.num_rows()).map(|_| Some(random.chance(share)));
            filter_record_batch(&whole, &kept.collect::<BooleanArray>()).unwrap()
        }
    }
}

fn flat(random: &mut Prng, rows: usize) -> RecordBatch {
    let mut values = Values::new(random, rows);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(values.cast::<i64>(50, i64::MAX.into()).collect::<Int64Array>())),
        ("b", Arc::new(values.cast::<i32>(50, i32::MAX.into()).collect::<Int32Array>())),
        ("c", Arc::new(values.cast::<i16>(100, i16::MAX.into()).collect::<Int16Array>())),
        ("d", values.decimals(1000, 15, 2)),
        ("e", values.decimals(1000, 18, 0)),
        ("f", values.decimals(1000, 38, 4)),
        ("g", values.decimals(9, 4, 3)),
        ("day", Arc::new(values.cast::<i32>(9000, 20_000).collect::<Date32Array>())),
        ("t", values.moments()),
        ("x", Arc::new(values.floats().collect::<Float64Array>())),
        ("p", Arc::new(values.truths().collect::<BooleanArray>())),
        ("q", Arc::new(values.truths().collect::<BooleanArray>())),
        ("s", Arc::new(values.texts().collect::<StringViewArray>())),
        ("u", Arc::new(values.texts().collect::<StringViewArray>())),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, repeated(random, array), true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// At times the column has one value only, or few, which its rows refer to.
fn repeated(random: &mut Prng, array: ArrayRef) -> ArrayRef {
    let distinct = match random.below(6) {
        0 => 1,
        1 => 1 + random.below(5),
        _ => return array,
    };
    let distinct = distinct.min(array.len() as u64);
    let rows: UInt32Array = (0..array.len()).map(|_| Some(random.below(distinct) as u32)).collect();
    take(&array, &rows, None).unwrap()
}

/// What the columns of one batch are made of: small values, or some of them as large as their types
/// allow, without nulls or with many.
struct Values<'a> {
    random: &'a mut Prng,
    rows: usize,
    has_large: bool,
    null_share: f64,
}

impl<'a> Values<'a> {
    fn new(random: &'a mut Prng, rows: usize) -> Values<'a> {
        let has_large = random.chance(0.3);
        let null_share = [0.0, 0.2, 0.4, 1.0][random.below(4) as usize];
        Values { has_large, null_share: null_share * random.unit().sqrt(), random, rows }
    }

    fn numbers(&mut self, small: u64, max: i128) -> Vec<Option<i128>> {
        (0..self.rows).map(|_| self.number(small, max)).collect()
    }

    fn number(&mut self, small: u64, max: i128) -> Option<i128> {
        if self.random.chance(self.null_share) {
            return None;
        }
        let is_extreme = self.has_large && self.random.chance(0.05);
        let size = match is_extreme {
            true => max - i128::from(self.random.below(3)),
            false => self.random.below(small).into(),
        };
        Some(if self.random.chance(0.4) { -size } else { size })
    }

    fn cast<T: TryFrom<i128>>(&mut self, small: u64, max: i128) -> impl Iterator<Item = Option<T>> {
        self.numbers(small, max).into_iter().map(|value| value.and_then(|v| T::try_from(v).ok()))
    }

    fn decimals(&mut self, small: u64, digits: u8, scale: i8) -> ArrayRef {
        let values = Decimal128Array::from(self.numbers(small, 10i128.pow(digits.into()) - 1));
        Arc::new(values.with_precision_and_scale(digits, scale).unwrap())
    }

    fn moments(&mut self) -> ArrayRef {
        let days: Vec<Option<i64>> = self.cast(9000, 20_000).collect();
        let within = |day: i64| day * MICROSECONDS_A_DAY + day % 24 * 3_600_000_001;
        let moments = days.into_iter().map(|day| day.map(within));
        Arc::new(moments.collect::<TimestampMicrosecondArray>())
    }

    fn floats(&mut self) -> impl Iterator<Item = Option<f64>> {
        let halves: Vec<Option<i32>> = self.cast(40, i32::MAX.into()).collect();
        halves.into_iter().map(|half| half.map(|half| f64::from(half) / 2.0))
    }

    fn truths(&mut self) -> impl Iterator<Item = Option<bool>> {
        self.cast::<i32>(2, 1).map(|value| value.map(|value| value == 0))
    }

    fn texts(&mut self) -> impl Iterator<Item = Option<&'static str>> {
        let places = self.cast::<i32>(TEXTS.len() as u64, TEXTS.len() as i128 - 1);
        places.map(|place| place.map(|at| TEXTS[at.unsigned_abs() as usize % TEXTS.len()]))
    }
}
