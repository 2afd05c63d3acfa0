//! Greatest common divisors and least common multiples.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal256Type;
use arrow_array::{ArrayRef, Decimal256Array, Int32Array, Int64Array};
use arrow_buffer::i256;
use arrow_schema::DataType;
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::numbers::{as_wide, modulo_type};
use crate::functions::scalar::overload::{Args, Functions, Ty};
use crate::functions::scalar::returns::{big, int};

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("gcd", &[Ty::Int, Ty::Int], int, |args| integers(args, divisor));
    functions.strict("lcm", &[Ty::Int, Ty::Int], int, |args| integers(args, multiple));
    functions.strict("gcd", &[Ty::Big, Ty::Big], big, |args| long_integers(args, divisor));
    functions.strict("lcm", &[Ty::Big, Ty::Big], big, |args| long_integers(args, multiple));
    functions.strict("gcd", &[Ty::Num, Ty::Num], modulo_type, |args| numbers(args, divisor));
    functions.strict(
        "lcm",
        &[Ty::Num, Ty::Num],
        |_, _| types::numeric::FREE,
        |args| numbers(args, multiple),
    );
}

type Operation = fn(i256, i256) -> Option<i256>;

fn divisor(left: i256, right: i256) -> Option<i256> {
    let (mut a, mut b) = (left, right);
    while b != i256::ZERO {
        (a, b) = (b, a.checked_rem(b)?);
    }
    a.checked_abs()
}

fn multiple(left: i256, right: i256) -> Option<i256> {
    match divisor(left, right)? {
        i256::ZERO => Some(i256::ZERO),
        common => left.checked_div(common)?.checked_mul(right)?.checked_abs(),
    }
}

fn out_of_range(ty: &str) -> SqlError {
    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{ty} out of range"))
}

fn integers(args: &Args<'_>, of: Operation) -> SqlResult<ArrayRef> {
    let value = |i: usize, row: usize| i256::from_i128(args.int(i, row).into());
    let result = |row: usize| {
        let whole = of(value(0, row), value(1, row)).and_then(i256::to_i128);
        let narrow = whole.and_then(|whole| i32::try_from(whole).ok());
        narrow.map(Some).ok_or_else(|| out_of_range("integer"))
    };
    Ok(Arc::new(args.each::<_, Int32Array>(result)?))
}

fn long_integers(args: &Args<'_>, of: Operation) -> SqlResult<ArrayRef> {
    let value = |i: usize, row: usize| i256::from_i128(args.big(i, row).into());
    let result = |row: usize| {
        let whole = of(value(0, row), value(1, row)).and_then(i256::to_i128);
        let narrow = whole.and_then(|whole| i64::try_from(whole).ok());
        narrow.map(Some).ok_or_else(|| out_of_range("bigint"))
    };
    Ok(Arc::new(args.each::<_, Int64Array>(result)?))
}

/// Decimals of one scale are whole numbers of its last digit.
fn numbers(args: &Args<'_>, of: Operation) -> SqlResult<ArrayRef> {
    let scale = match args.ty {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        other => return Err(SqlError::internal(format!("{other} is no decimal"))),
    };
    let ty = DataType::Decimal256(76, scale);
    let (left, right) = (as_wide(&args.arrays[0], &ty)?, as_wide(&args.arrays[1], &ty)?);
    let (left, right) =
        (left.as_primitive::<Decimal256Type>(), right.as_primitive::<Decimal256Type>());
    let result = |row: usize| {
        let found = of(left.value(row), right.value(row));
        found.map(Some).ok_or_else(|| out_of_range("numeric"))
    };
    let values = args.each::<_, Decimal256Array>(result)?;
    as_wide(&(Arc::new(values.with_data_type(ty)) as ArrayRef), args.ty)
}
