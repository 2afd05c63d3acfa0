//! Floats: PostgreSQL's errors as refusals, its order, one NaN.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array};
use arrow_schema::DataType;

use super::{answers, run};
use crate::{Builder, Comparison, FloatArithmetic, Operand, Program, Refused, Register};

/// Floats at which things end; the second NaN has a sign and other bits.
fn edges() -> Vec<f64> {
    let (least, largest) = (f64::from_bits(1), f64::MAX);
    let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
    let positive = [0.0, least, f64::MIN_POSITIVE, 1e-200, 0.5, 1.0, 3.0, 1e200, largest];
    let mut all: Vec<f64> = positive.iter().flat_map(|value| [*value, -value]).collect();
    all.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, odd_nan]);
    all
}

fn pairs() -> Vec<(f64, f64)> {
    edges().into_iter().flat_map(|l| edges().into_iter().map(move |r| (l, r))).collect()
}

fn program(make: impl Fn(&mut Builder, Operand, Operand) -> Register) -> Program {
    let mut builder = Builder::default();
    let (l, r) = (Operand::Register(builder.column(0)), Operand::Register(builder.column(1)));
    let result = make(&mut builder, l, r);
    builder.finish(result)
}

fn columns(l: Option<f64>, r: Option<f64>) -> [ArrayRef; 2] {
    [l, r].map(|value| Arc::new(Float64Array::from(vec![value])) as _)
}

/// The bits of the first row.
fn computed(program: Program, columns: &[ArrayRef]) -> Result<u64, Refused> {
    let array = run(program, columns)?.into_array(&DataType::Float64)?;
    Ok(array.as_primitive::<Float64Type>().value(0).to_bits())
}

/// The results of `float8pl` and its like.
fn expected(operation: FloatArithmetic, l: f64, r: f64) -> Result<u64, Refused> {
    let result = match operation {
        FloatArithmetic::Add => l + r,
        FloatArithmetic::Subtract => l - r,
        FloatArithmetic::Multiply => l * r,
        FloatArithmetic::Divide if r == 0.0 && !l.is_nan() => return Err(Refused),
        FloatArithmetic::Divide => l / r,
    };
    let overflows = result.is_infinite() && !l.is_infinite() && !r.is_infinite();
    let underflows = match operation {
        FloatArithmetic::Multiply => result == 0.0 && l != 0.0 && r != 0.0,
        FloatArithmetic::Divide => result == 0.0 && l != 0.0 && !r.is_infinite(),
        FloatArithmetic::Add | FloatArithmetic::Subtract => false,
    };
    match result {
        _ if overflows || underflows => Err(Refused),
        result if result.is_nan() => Ok(f64::NAN.to_bits()),
        result => Ok(result.to_bits()),
    }
}

#[test]
fn arithmetic_is_that_of_postgresql() {
    use FloatArithmetic::{Add, Divide, Multiply, Subtract};
    for operation in [Add, Subtract, Multiply, Divide] {
        for (l, r) in pairs() {
            let made = || program(|builder, l, r| builder.compute_floats(operation, l, r));
            let got = computed(made(), &columns(Some(l), Some(r)));
            assert_eq!(got, expected(operation, l, r), "{l:?} {operation:?} {r:?}");
            assert!(computed(made(), &columns(None, Some(r))).is_ok(), "a null refuses");
            let constant =
                program(|builder, l, _| builder.compute_floats(operation, l, Operand::float(r)));
            assert_eq!(computed(constant, &columns(Some(l), None)), got);
        }
    }
}

/// The order in which a NaN is the greatest, and the zeroes are equal.
fn order(l: f64, r: f64) -> Ordering {
    l.partial_cmp(&r).unwrap_or_else(|| l.is_nan().cmp(&r.is_nan()))
}

#[test]
fn comparisons_are_those_of_postgresql() {
    let comparisons: [(Comparison, fn(Ordering) -> bool); 6] = [
        (Comparison::Equal, Ordering::is_eq),
        (Comparison::NotEqual, Ordering::is_ne),
        (Comparison::Less, Ordering::is_lt),
        (Comparison::LessOrEqual, Ordering::is_le),
        (Comparison::Greater, Ordering::is_gt),
        (Comparison::GreaterOrEqual, Ordering::is_ge),
    ];
    for (comparison, holds) in comparisons {
        for (l, r) in pairs() {
            let compared = program(|builder, l, r| builder.compare_floats(comparison, l, r));
            let got = answers(compared, &columns(Some(l), Some(r)))[0];
            assert_eq!(got, Some(holds(order(l, r))), "{l:?} {comparison:?} {r:?}");
        }
    }
}

#[test]
fn words_become_the_floats_next_to_them() {
    let words = [0, -1, i64::MAX, i64::MIN, (1 << 53) + 1, -(1 << 53) - 3];
    for word in words {
        let mut builder = Builder::default();
        let column = builder.column(0);
        let result = builder.to_float(column);
        let columns: [ArrayRef; 1] = [Arc::new(Int64Array::from(vec![word]))];
        let got = computed(builder.finish(result), &columns);
        assert_eq!(got, Ok((word as f64).to_bits()), "{word}");
    }
}

#[test]
fn a_choice_keeps_floats_as_they_are() {
    let odd = f64::from_bits(0xfff8_0000_0000_0001);
    let mut builder = Builder::default();
    let (condition, column) = (builder.column(0), builder.column(1));
    let then = Some(Operand::Register(column));
    let result = builder.choose(condition, then, Some(Operand::float(-0.0)));
    let truths: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![odd, 1.0, 1.0]));
    let value = run(builder.finish(result), &[truths, floats]).unwrap();
    let array = value.into_array(&DataType::Float64).unwrap();
    let bits = array.as_primitive::<Float64Type>().iter().map(|value| value.unwrap().to_bits());
    let zero = (-0.0f64).to_bits();
    assert_eq!(bits.collect::<Vec<_>>(), [odd.to_bits(), zero, zero]);
}

#[test]
fn words_and_floats_are_not_mixed() {
    let mixed = program(|builder, l, _| {
        builder.compute_floats(FloatArithmetic::Add, l, Operand::Constant(1))
    });
    assert_eq!(computed(mixed, &columns(Some(1.0), None)), Err(Refused));
    let mixed = program(|builder, l, _| builder.compare(Comparison::Less, l, l));
    assert!(run(mixed, &columns(Some(1.0), None)).is_err());
}
