//! Columns of every type and many distributions, from a seed.
#![allow(dead_code, reason = "each test uses a part")]

use std::cmp::Ordering;
use std::sync::Arc;

use ::types::LogicalType;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::i256;
use stdx::Prng;

/// Every type that a block can hold.
pub const TYPES: [LogicalType; 21] = [
    LogicalType::Bool,
    LogicalType::Int16,
    LogicalType::Int32,
    LogicalType::Int64,
    LogicalType::Oid,
    LogicalType::Float32,
    LogicalType::Float64,
    LogicalType::Decimal { precision: 4, scale: 2 },
    LogicalType::Decimal { precision: 18, scale: 4 },
    LogicalType::Decimal { precision: 38, scale: 10 },
    LogicalType::Numeric,
    LogicalType::Text,
    LogicalType::Varchar(20),
    LogicalType::Char(4),
    LogicalType::Date,
    LogicalType::Time,
    LogicalType::Timestamp,
    LogicalType::TimestampTz,
    LogicalType::Interval,
    LogicalType::Bytea,
    LogicalType::Uuid,
];

/// Ways in which numbers of a column follow each other.
const SHAPES: u64 = 9;

/// A column of `rows` values; what they are like follows from the generator too.
pub fn column(ty: LogicalType, rows: usize, rng: &mut Prng) -> ArrayRef {
    let densities = [0.0, 0.0, 0.01, 0.5, 0.99, 1.0];
    let null_density = densities[rng.below(densities.len() as u64) as usize];
    let numbers = numbers(rows, rng);
    let nulls: Vec<bool> = (0..rows).map(|_| rng.chance(null_density)).collect();
    let values: Vec<Option<i64>> =
        numbers.into_iter().zip(nulls).map(|(n, null)| (!null).then_some(n)).collect();
    array(ty, &values, rng.below(4))
}

/// Numbers of one shape: constant, narrow, wide, ascending, in runs, few, multiples, extreme, or a
/// mixture.
pub fn numbers(rows: usize, rng: &mut Prng) -> Vec<i64> {
    let shape = rng.below(SHAPES);
    let base = [0, 1000, -70_000, i64::MIN, i64::MAX - 5000][rng.below(5) as usize];
    let few: Vec<i64> = (0..1 + rng.below(40)).map(|_| rng.next_u64() as i64).collect();
    let mut last = base;
    let mut number = |shape| {
        last = match shape {
            0 => base,
            1 => base.wrapping_add(rng.below(100) as i64),
            2 => rng.next_u64() as i64,
            3 => last.wrapping_add(rng.below(5) as i64),
            4 if rng.chance(0.95) => last,
            4 => rng.below(1000) as i64,
            5 => few[rng.below(few.len() as u64) as usize],
            6 => (rng.below(5000) as i64 - 2500) * 1_000_000,
            _ => [i64::MIN, i64::MAX, 0, -1, 1, i64::from(i32::MIN)][rng.below(6) as usize],
        };
        last
    };
    (0..rows)
        .map(|row| if shape == 8 { number(row as u64 / 600 % 8) } else { number(shape) })
        .collect()
}

/// The values as a vector of the type; `style` says how texts and floats look.
pub fn array(ty: LogicalType, values: &[Option<i64>], style: u64) -> ArrayRef {
    let each = || values.iter().copied();
    match ty {
        LogicalType::Bool => {
            Arc::new(BooleanArray::from_iter(each().map(|v| v.map(|v| v % 3 == 0))))
        }
        LogicalType::Int16 => primitive::<Int16Type>(ty, values, |v| v as i16),
        LogicalType::Int32 => primitive::<Int32Type>(ty, values, |v| v as i32),
        LogicalType::Date => primitive::<Date32Type>(ty, values, |v| v as i32),
        LogicalType::Int64 => primitive::<Int64Type>(ty, values, |v| v),
        LogicalType::Oid => primitive::<UInt32Type>(ty, values, |v| v as u32),
        LogicalType::Time => primitive::<Time64MicrosecondType>(ty, values, |v| v),
        LogicalType::Timestamp | LogicalType::TimestampTz => {
            primitive::<TimestampMicrosecondType>(ty, values, |v| v)
        }
        LogicalType::Float32 => primitive::<Float32Type>(ty, values, |v| float(v, style) as f32),
        LogicalType::Float64 => primitive::<Float64Type>(ty, values, |v| float(v, style)),
        LogicalType::Decimal { precision, .. } => {
            let bound = 10_i128.pow(precision.into());
            let wide = |v: i64| {
                let v = i128::from(v);
                if style == 0 && precision > 30 { v << 50 } else { v }
            };
            primitive::<Decimal128Type>(ty, values, |v| wide(v) % bound)
        }
        LogicalType::Numeric => primitive::<Decimal256Type>(ty, values, |v| numeric(v, style)),
        LogicalType::Interval => primitive::<IntervalMonthDayNanoType>(ty, values, |v| {
            IntervalMonthDayNano::new((v % 7) as i32, (v % 40) as i32, v)
        }),
        LogicalType::Uuid => {
            let bytes = each().map(|v| v.map(|v| uuid(v, style)));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 16).unwrap())
        }
        LogicalType::Bytea => {
            Arc::new(BinaryViewArray::from_iter(each().map(|v| v.map(|v| bytes(v, style)))))
        }
        _ => Arc::new(StringViewArray::from_iter(each().map(|v| v.map(|v| text(v, style))))),
    }
}

fn primitive<T: ArrowPrimitiveType>(
    ty: LogicalType,
    values: &[Option<i64>],
    map: impl Fn(i64) -> T::Native,
) -> ArrayRef {
    let array = PrimitiveArray::<T>::from_iter(values.iter().map(|v| v.map(&map)));
    Arc::new(array.with_data_type(ty.arrow()))
}

fn float(v: i64, style: u64) -> f64 {
    match style {
        0 => (v % 1_000_000) as f64 / 100.0,
        1 => f64::from_bits(v as u64),
        2 if v % 50 == 0 => f64::from_bits(v as u64),
        2 => (v % 100_000) as f64 * 0.1,
        _ => [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, 1.5][v.unsigned_abs() as usize % 6],
    }
}

fn numeric(v: i64, style: u64) -> i256 {
    let scale = i256::from_i128(10_i128.pow(20));
    let v = i256::from(v);
    match style {
        0 => v,
        1 => v.wrapping_mul(scale),
        2 => v.wrapping_mul(i256::from_i128(10_i128.pow(18))),
        _ => v.wrapping_mul(scale).wrapping_mul(scale).wrapping_add(v),
    }
}

fn uuid(v: i64, style: u64) -> [u8; 16] {
    let v = if style == 0 { v % 20 } else { v };
    (v as u128).wrapping_mul(0x1234_5678_9abc_def1_0f1e_2d3c_4b5a_6978).to_be_bytes()
}

fn text(v: i64, style: u64) -> String {
    match style {
        0 => format!("customer number {v:012} of the north"),
        1 => "é".repeat(v.unsigned_abs() as usize % 5) + &"x".repeat(v.unsigned_abs() as usize % 9),
        2 => format!("{v}"),
        _ => ["", "MAIL", "TRUCK", "REG AIR", "prefixes that agree a", "prefixes that agree b"]
            [v.unsigned_abs() as usize % 6]
            .to_string(),
    }
}

fn bytes(v: i64, style: u64) -> Vec<u8> {
    match style {
        0 => v.to_be_bytes().repeat(3),
        1 => vec![255; v.unsigned_abs() as usize % 12],
        2 => vec![0; v.unsigned_abs() as usize % 3],
        _ => v.to_le_bytes()[..v.unsigned_abs() as usize % 9].to_vec(),
    }
}

/// The order of two values that are not null, as SQL has it; `None` for types without one.
pub fn order(ty: LogicalType, a: &ArrayRef, i: usize, b: &ArrayRef, j: usize) -> Option<Ordering> {
    fn by<T: ArrowPrimitiveType>(a: &ArrayRef, i: usize, b: &ArrayRef, j: usize) -> Option<Ordering>
    where
        T::Native: Ord,
    {
        Some(a.as_primitive::<T>().value(i).cmp(&b.as_primitive::<T>().value(j)))
    }
    let floats = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
        (false, false) => a.partial_cmp(&b),
        (a, b) => Some(a.cmp(&b)),
    };
    match ty {
        LogicalType::Bool => Some(a.as_boolean().value(i).cmp(&b.as_boolean().value(j))),
        LogicalType::Int16 => by::<Int16Type>(a, i, b, j),
        LogicalType::Int32 => by::<Int32Type>(a, i, b, j),
        LogicalType::Date => by::<Date32Type>(a, i, b, j),
        LogicalType::Int64 => by::<Int64Type>(a, i, b, j),
        LogicalType::Oid => by::<UInt32Type>(a, i, b, j),
        LogicalType::Time => by::<Time64MicrosecondType>(a, i, b, j),
        LogicalType::Timestamp | LogicalType::TimestampTz => {
            by::<TimestampMicrosecondType>(a, i, b, j)
        }
        LogicalType::Float32 => {
            let (a, b) = (a.as_primitive::<Float32Type>(), b.as_primitive::<Float32Type>());
            floats(a.value(i).into(), b.value(j).into())
        }
        LogicalType::Float64 => {
            let (a, b) = (a.as_primitive::<Float64Type>(), b.as_primitive::<Float64Type>());
            floats(a.value(i), b.value(j))
        }
        LogicalType::Decimal { .. } => by::<Decimal128Type>(a, i, b, j),
        LogicalType::Numeric => by::<Decimal256Type>(a, i, b, j),
        LogicalType::Uuid => {
            Some(a.as_fixed_size_binary().value(i).cmp(b.as_fixed_size_binary().value(j)))
        }
        LogicalType::Bytea => Some(a.as_binary_view().value(i).cmp(b.as_binary_view().value(j))),
        LogicalType::Interval | LogicalType::Array(_) => None,
        _ => Some(a.as_string_view().value(i).cmp(b.as_string_view().value(j))),
    }
}

/// Numbers of seeds: `DOVETAIL_SEEDS` of them, else `default`.
pub fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("DOVETAIL_FIRST_SEED").unwrap_or(0);
    first..first + number("DOVETAIL_SEEDS").unwrap_or(default)
}
