//! Columns as benchmarks and tables of business have them, one for each encoding and width.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float64Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringViewArray};
use arrow_buffer::i256;
use stdx::Prng;
use types::LogicalType;

/// Rows of a column: 128 vectors, whose decoded bytes exceed a first and second level cache.
const ROWS: usize = 128 << 10;

/// A column and its name.
pub struct Column {
    pub name: &'static str,
    pub ty: LogicalType,
    pub array: ArrayRef,
}

impl Column {
    /// Bytes that decoding writes: values, or views and text.
    pub fn decoded_bytes(&self) -> usize {
        match self.ty {
            LogicalType::Text => self.text_bytes() + 16 * self.array.len(),
            ty => ty.arrow().primitive_width().unwrap_or(16) * self.array.len(),
        }
    }

    /// Bytes without an encoding: decimals of 18 digits in 8, text with offsets of 4.
    pub fn plain_bytes(&self) -> usize {
        match self.ty {
            LogicalType::Text => self.text_bytes() + 4 * self.array.len(),
            ty => ty.typical_width() * self.array.len(),
        }
    }

    fn text_bytes(&self) -> usize {
        self.array.as_string_view().iter().flatten().map(str::len).sum()
    }
}

/// All columns.
pub fn all() -> Vec<Column> {
    let mut rng = Prng::new(1);
    let mut columns = words(&mut rng);
    columns.extend(numbers(&mut rng));
    columns.extend(texts(&mut rng));
    columns
}

fn words(rng: &mut Prng) -> Vec<Column> {
    let few: Vec<i64> = (0..12).map(|_| rng.next_u64() as i64).collect();
    let mut last = 0;
    vec![
        int64("bigint 3 bits", |_| rng.below(8) as i64),
        int64("bigint 10 bits", |_| rng.below(1000) as i64),
        int64("bigint 21 bits", |_| rng.below(2_000_000) as i64),
        int64("bigint 40 bits", |_| rng.below(1 << 40) as i64),
        int64("bigint random", |_| rng.next_u64() as i64),
        int64("bigint constant", |_| 7),
        int64("bigint few, far apart", |_| few[rng.below(12) as usize]),
        int64("bigint in runs of 20", |row| (row / 20 * 7919 % 1_000_003) as i64),
        int64("order key, ascending", |row| (row / 4 * 8 + row % 4) as i64),
        int64("sequence with gaps", |_| {
            last += 1 + rng.below(50) as i64;
            last
        }),
        column::<Int32Type>("integer 17 bits", LogicalType::Int32, |_| rng.below(100_000) as i32),
        column::<Date32Type>("date of seven years", LogicalType::Date, |_| {
            8000 + rng.below(2500) as i32
        }),
        column::<TimestampMicrosecondType>(
            "timestamp, whole seconds",
            LogicalType::Timestamp,
            |_| 1_700_000_000_000_000 + rng.below(86_400) as i64 * 1_000_000,
        ),
    ]
}

fn numbers(rng: &mut Prng) -> Vec<Column> {
    let price = LogicalType::Decimal { precision: 15, scale: 2 };
    let long = LogicalType::Decimal { precision: 38, scale: 10 };
    vec![
        column::<Decimal128Type>("numeric(15,2) price", price, |_| {
            90_000 + rng.below(10_000_000) as i128
        }),
        column::<Decimal128Type>("numeric(38,10) price", long, |_| {
            rng.below(10_000_000) as i128 * 100_000_000
        }),
        column::<Decimal256Type>("numeric, two digits", LogicalType::Numeric, |_| {
            let unit = i256::from_i128(10_i128.pow(18));
            i256::from(rng.below(1_000_000) as i64).wrapping_mul(unit)
        }),
        column::<Float64Type>("double, two digits", LogicalType::Float64, |_| {
            rng.below(1_000_000) as f64 / 100.0
        }),
        column::<Float64Type>("double, some random", LogicalType::Float64, |row| {
            let random = rng.unit();
            if row % 100 == 0 { random } else { rng.below(10_000) as f64 / 10.0 }
        }),
        column::<Float64Type>("double random", LogicalType::Float64, |_| rng.unit()),
    ]
}

fn texts(rng: &mut Prng) -> Vec<Column> {
    const MODES: [&str; 7] = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];
    const WORDS: [&str; 24] = [
        "carefully",
        "quickly",
        "furiously",
        "ironic",
        "final",
        "pending",
        "regular",
        "express",
        "special",
        "requests",
        "deposits",
        "accounts",
        "packages",
        "theodolites",
        "instructions",
        "foxes",
        "sleep",
        "haggle",
        "nag",
        "wake",
        "above the",
        "across the",
        "among the",
        "slyly",
    ];
    let word = |rng: &mut Prng| WORDS[rng.below(24) as usize];
    let url = |rng: &mut Prng| {
        let (a, b, c) = (word(rng), word(rng), rng.below(100_000));
        format!("https://www.example.com/{a}/{b}?id={c}")
    };
    let comment = |rng: &mut Prng| {
        let words: Vec<&str> = (0..3 + rng.below(5)).map(|_| word(rng)).collect();
        words.join(" ")
    };
    vec![
        text("text of seven values", |_| MODES[rng.below(7) as usize].to_string()),
        text("text, new values each 5000", |row| {
            let group = row / 5000;
            format!("customer segment {} of group {group}", rng.below(40) + group as u64 * 1000)
        }),
        text("text, keys", |_| format!("Customer#{:09}", rng.below(150_000))),
        text("text, comments", |_| comment(rng)),
        text("text, urls", |_| url(rng)),
        text("text random", |_| (0..12).map(|_| char::from(33 + rng.below(94) as u8)).collect()),
    ]
}

fn int64(name: &'static str, value: impl FnMut(usize) -> i64) -> Column {
    column::<Int64Type>(name, LogicalType::Int64, value)
}

fn column<T: ArrowPrimitiveType>(
    name: &'static str,
    ty: LogicalType,
    value: impl FnMut(usize) -> T::Native,
) -> Column {
    let values: Vec<T::Native> = (0..ROWS).map(value).collect();
    let array = PrimitiveArray::<T>::new(values.into(), None).with_data_type(ty.arrow());
    Column { name, ty, array: Arc::new(array) }
}

fn text(name: &'static str, value: impl FnMut(usize) -> String) -> Column {
    let values: Vec<String> = (0..ROWS).map(value).collect();
    let array = StringViewArray::from_iter_values(values);
    Column { name, ty: LogicalType::Text, array: Arc::new(array) }
}
