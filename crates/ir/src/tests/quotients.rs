//! Divisions: which rows refuse, and what casts between whole numbers are made of.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};

use super::run;
use crate::{Arithmetic, Builder, Operand, Program, Refused, Value};

fn divided(operation: Arithmetic) -> Program {
    let mut builder = Builder::default();
    let (l, r) = (Operand::Register(builder.column(0)), Operand::Register(builder.column(1)));
    let result = builder.compute(operation, l, r);
    builder.finish(result)
}

fn words(value: Value) -> Vec<Option<i64>> {
    let Value::Words(words) = value else { panic!("{value:?}") };
    let is_null = |row| words.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    words.values.iter().enumerate().map(|(row, word)| (!is_null(row)).then_some(*word)).collect()
}

#[test]
fn a_divisor_of_a_null_row_refuses_nothing() {
    let dividends: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), Some(8), None]));
    let divisors: ArrayRef = Arc::new(Int64Array::from(vec![Some(-2), None, None]));
    for (operation, expected) in [(Arithmetic::Divide, -3), (Arithmetic::Remainder, 1)] {
        let columns = [Arc::clone(&dividends), Arc::clone(&divisors)];
        let value = run(divided(operation), &columns).unwrap();
        assert_eq!(words(value), [Some(expected), None, None], "{operation:?}");
        let zeroes: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(0), Some(0)]));
        let refused = run(divided(operation), &[Arc::clone(&dividends), zeroes]);
        assert_eq!(refused.map(|_| ()), Err(Refused), "{operation:?}");
    }
}

#[test]
fn a_quotient_of_constants_is_refused_without_rows() {
    for operation in [Arithmetic::Divide, Arithmetic::Remainder] {
        let mut builder = Builder::default();
        let result = builder.compute(operation, Operand::Constant(1), Operand::Constant(0));
        assert!(builder.finish(result).run(&[], 0).is_err(), "{operation:?}");
    }
}

/// Casts between widths are ranges, those to decimals are products.
#[test]
fn casts_are_exact_or_refused() {
    let narrowed = |word: i64| {
        let mut builder = Builder::default();
        let column = builder.column(0);
        let result = builder.within(column, i16::MIN.into(), i16::MAX.into());
        run(builder.finish(result), &[Arc::new(Int64Array::from(vec![word]))]).map(words)
    };
    assert_eq!(narrowed(-32_768), Ok(vec![Some(-32_768)]));
    assert_eq!(narrowed(32_768), Err(Refused));
    let raised = |word: i64| {
        let mut builder = Builder::default();
        let column = Operand::Register(builder.column(0));
        let result = builder.compute(Arithmetic::Multiply, column, Operand::Constant(10_000));
        run(builder.finish(result), &[Arc::new(Int64Array::from(vec![word]))]).map(words)
    };
    assert_eq!(raised(-12), Ok(vec![Some(-120_000)]));
    assert_eq!(raised(i64::MAX / 1_000), Err(Refused));
}
