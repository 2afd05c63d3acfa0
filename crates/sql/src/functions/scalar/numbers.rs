//! Functions of numbers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal256Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, Float64Array, Int32Array, Int64Array};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::numeric::{FREE, PRODUCT_SCALE, QUOTIENT, divide, divide_whole, multiply, round, wide};
use types::{SqlError, SqlResult, SqlState};

use crate::cast::strict;
use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns;
use crate::functions::scalar::returns::{double, int};

pub(crate) fn register(functions: &mut Functions) {
    functions.strict(
        "numeric_div",
        &[Ty::Num, Ty::Num],
        |_, _| QUOTIENT,
        |args| divide(args.arrays[0].as_ref(), args.arrays[1].as_ref()),
    );
    functions.strict(
        "numeric_mul",
        &[Ty::Num, Ty::Num],
        |args, _| DataType::Decimal256(76, product_scale(args)),
        |args| {
            let types = args.arrays.iter().map(|a| a.data_type().clone());
            let scale = product_scale(&types.collect::<Vec<_>>());
            multiply(args.arrays[0].as_ref(), args.arrays[1].as_ref(), scale)
        },
    );
    functions.strict(
        "div",
        &[Ty::Num, Ty::Num],
        |_, _| DataType::Decimal128(38, 0),
        |args| {
            let quotient = divide_whole(args.arrays[0].as_ref(), args.arrays[1].as_ref())?;
            rescale(&quotient, args.ty, |_| 0, true)
        },
    );
    for (name, cut) in [("round", false), ("trunc", true)] {
        let whole: fn(&Args<'_>) -> SqlResult<ArrayRef> = match cut {
            true => |args| rescale(&args.arrays[0], args.ty, |_| 0, true),
            false => |args| rescale(&args.arrays[0], args.ty, |_| 0, false),
        };
        let digits: fn(&Args<'_>) -> SqlResult<ArrayRef> = match cut {
            true => |args| rescale(&args.arrays[0], args.ty, |row| args.int(1, row), true),
            false => |args| rescale(&args.arrays[0], args.ty, |row| args.int(1, row), false),
        };
        functions.strict(name, &[Ty::Num], whole_type, whole);
        functions.strict(name, &[Ty::Num, Ty::Int], digits_type, digits);
    }
    functions.strict("round", &[Ty::Float], double, |args| float(args, f64::round_ties_even));
    functions.strict("trunc", &[Ty::Float], double, |args| float(args, f64::trunc));
    for name in ["ceil", "ceiling"] {
        functions.strict(name, &[Ty::Float], double, |args| float(args, f64::ceil));
        functions.strict(name, &[Ty::Num], whole_type, |args| toward(args, false));
    }
    functions.strict("floor", &[Ty::Float], double, |args| float(args, f64::floor));
    functions.strict("floor", &[Ty::Num], whole_type, |args| toward(args, true));
    functions.strict("sign", &[Ty::Float], double, |args| {
        float(args, |v| if v == 0.0 { 0.0 } else { v.signum() })
    });
    functions.strict(
        "sign",
        &[Ty::Num],
        |_, _| DataType::Decimal128(1, 0),
        |args| {
            let (values, _) = wide(args.arrays[0].as_ref())?;
            let sign = |v: arrow_buffer::i256| v.signum().to_i128();
            let signs: Decimal128Array = values.iter().map(|v| v.and_then(sign)).collect();
            Ok(Arc::new(signs.with_data_type(args.ty.clone())))
        },
    );
    others(functions);
}

/// What is neither rounding nor sign.
fn others(functions: &mut Functions) {
    functions.strict("width_bucket", &[Ty::Float, Ty::Float, Ty::Float, Ty::Int], int, |args| {
        Ok(Arc::new(args.each::<_, Int32Array>(|row| width_bucket(args, row).map(Some))?))
    });
    functions.strict(
        "factorial",
        &[Ty::Big],
        |_, _| DataType::Decimal128(38, 0),
        |args| {
            let values =
                args.each::<_, Decimal128Array>(|row| factorial(args.big(0, row)).map(Some));
            Ok(Arc::new(values?.with_data_type(args.ty.clone())))
        },
    );
    functions.strict("cbrt", &[Ty::Float], double, |args| float(args, f64::cbrt));
    functions.strict("scale", &[Ty::Num], int, |args| {
        let (_, scale) = wide(args.arrays[0].as_ref())?;
        Ok(Arc::new(args.each::<_, Int32Array>(|_| Ok(Some(i32::from(scale))))?))
    });
    functions.strict("mod", &[Ty::Big, Ty::Big], returns::big, |args| {
        Ok(Arc::new(args.each::<_, Int64Array>(|row| {
            let (a, b) = (args.big(0, row), args.big(1, row));
            if b == 0 {
                return Err(crate::error::division_by_zero());
            }
            Ok(Some(a.wrapping_rem(b)))
        })?))
    });
    functions.strict("float_div", &[Ty::Float, Ty::Float], double, |args| {
        let quotient = |row: usize| match args.float(1, row) {
            0.0 => Err(crate::error::division_by_zero()),
            divisor => Ok(Some(args.float(0, row) / divisor)),
        };
        Ok(Arc::new(args.each::<_, Float64Array>(quotient)?))
    });
    functions.strict("mod", &[Ty::Int, Ty::Int], int, |args| {
        Ok(Arc::new(args.each::<_, Int32Array>(|row| {
            let (a, b) = (args.int(0, row), args.int(1, row));
            if b == 0 {
                return Err(crate::error::division_by_zero());
            }
            Ok(Some(a.wrapping_rem(b)))
        })?))
    });
    functions.strict("mod", &[Ty::Num, Ty::Num], modulo_type, modulo);
}

/// Digits after the point that a product of decimals has.
fn product_scale(args: &[DataType]) -> i8 {
    let scale = |ty: &DataType| match ty {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => i16::from(*scale),
        _ => 0,
    };
    let exact = args.iter().map(scale).sum::<i16>();
    i8::try_from(exact).map_or(PRODUCT_SCALE, |exact| exact.min(PRODUCT_SCALE))
}

/// A decimal without digits after the point.
fn whole_type(args: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    match &args[0] {
        DataType::Decimal128(precision, scale) => {
            let whole = (*precision as i8 - scale + 1).clamp(1, 38);
            DataType::Decimal128(whole as u8, 0)
        }
        _ => DataType::Decimal128(38, 0),
    }
}

/// A decimal with as many digits after the point as the constant says.
fn digits_type(args: &[DataType], values: &[Option<&ScalarValue>]) -> DataType {
    let scale = match &args[0] {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    let digits = match values.get(1) {
        Some(Some(ScalarValue::Int32(Some(n)))) => (*n).clamp(0, 30) as i8,
        Some(Some(ScalarValue::Int64(Some(n)))) => (*n).clamp(0, 30) as i8,
        _ => scale.min(20),
    };
    DataType::Decimal128(38, digits)
}

/// Rounds each value to so many digits, and gives it the scale of `to`.
fn rescale(
    array: &ArrayRef,
    to: &DataType,
    digits: impl Fn(usize) -> i32,
    cut: bool,
) -> SqlResult<ArrayRef> {
    let DataType::Decimal128(precision, target) = to else {
        return Err(SqlError::internal("a rounded number is a decimal of 128 bits"));
    };
    let (values, scale) = wide(array.as_ref())?;
    let value = |row: usize| -> SqlResult<Option<i128>> {
        if values.is_null(row) {
            return Ok(None);
        }
        let rounded = round(values.value(row), scale, digits(row), cut);
        fit(rounded, scale, *precision, *target).map(Some)
    };
    let values = (0..values.len()).map(value).collect::<SqlResult<Decimal128Array>>()?;
    Ok(Arc::new(values.with_data_type(to.clone())))
}

/// The number with another scale; an error when it has too many digits.
fn fit(value: arrow_buffer::i256, scale: i8, precision: u8, target: i8) -> SqlResult<i128> {
    let rounded = round(value, scale, i32::from(target), false);
    let ten = arrow_buffer::i256::from_i128(10);
    let power = ten.checked_pow(u32::from((target - scale).unsigned_abs()));
    let shifted = power.and_then(|p| match target >= scale {
        true => rounded.checked_mul(p),
        false => rounded.checked_div(p),
    });
    let narrow = shifted.and_then(arrow_buffer::i256::to_i128);
    let limit = 10u128.pow(u32::from(precision));
    narrow.filter(|v| v.unsigned_abs() < limit).ok_or_else(|| {
        SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow")
    })
}

/// `floor` and `ceil` of decimals.
fn toward(args: &Args<'_>, down: bool) -> SqlResult<ArrayRef> {
    let (values, scale) = wide(args.arrays[0].as_ref())?;
    let DataType::Decimal128(precision, _) = args.ty else {
        return Err(SqlError::internal("a whole number is a decimal of 128 bits"));
    };
    let one = arrow_buffer::i256::from_i128(10).wrapping_pow(scale.max(0) as u32);
    let value = |row: usize| -> SqlResult<Option<i128>> {
        if values.is_null(row) {
            return Ok(None);
        }
        let value = values.value(row);
        let cut = round(value, scale, 0, true);
        let moved = match (cut == value, down, value.is_negative()) {
            (false, true, true) => cut.wrapping_sub(one),
            (false, false, false) => cut.wrapping_add(one),
            _ => cut,
        };
        fit(moved, scale, *precision, 0).map(Some)
    };
    let values = (0..values.len()).map(value).collect::<SqlResult<Decimal128Array>>()?;
    Ok(Arc::new(values.with_data_type(args.ty.clone())))
}

fn float(args: &Args<'_>, f: fn(f64) -> f64) -> SqlResult<ArrayRef> {
    Ok(Arc::new(args.each::<_, Float64Array>(|row| Ok(Some(f(args.float(0, row)))))?))
}

/// A rest has no more digits before the point than either number.
pub(crate) fn modulo_type(args: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    let digits = |ty: &DataType| match ty {
        DataType::Decimal128(p, s) => (i16::from(*p), *s),
        DataType::Decimal256(p, s) => (i16::from(*p), *s),
        _ => (19, 0),
    };
    if args.contains(&FREE) {
        return FREE;
    }
    let [left, right] = [digits(&args[0]), digits(&args[1])];
    let scale = left.1.max(right.1).min(types::numeric::QUOTIENT_SCALE);
    let whole = (left.0 - i16::from(left.1)).min(right.0 - i16::from(right.1));
    match whole + i16::from(scale) <= 38 {
        true => DataType::Decimal128(38, scale),
        false => DataType::Decimal256(76, scale),
    }
}

/// The decimals as another type of decimal.
pub(crate) fn as_wide(array: &ArrayRef, to: &DataType) -> SqlResult<ArrayRef> {
    arrow_cast::cast_with_options(array, to, &strict::STRICT_CAST).map_err(crate::error::from_arrow)
}

fn modulo(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let wide = match args.ty {
        DataType::Decimal128(_, scale) => DataType::Decimal256(76, *scale),
        other => other.clone(),
    };
    let (left, right) = (as_wide(&args.arrays[0], &wide)?, as_wide(&args.arrays[1], &wide)?);
    let (left, right) =
        (left.as_primitive::<Decimal256Type>(), right.as_primitive::<Decimal256Type>());
    let rest = |row: usize| match right.value(row) {
        arrow_buffer::i256::ZERO => Err(crate::error::division_by_zero()),
        divisor => Ok(left.value(row).checked_rem(divisor)),
    };
    let values = args.each::<_, arrow_array::Decimal256Array>(rest)?;
    as_wide(&(Arc::new(values.with_data_type(wide)) as ArrayRef), args.ty)
}

fn width_bucket(args: &Args<'_>, row: usize) -> SqlResult<i32> {
    let (v, low, high) = (args.float(0, row), args.float(1, row), args.float(2, row));
    let count = args.int(3, row);
    if count <= 0 {
        return Err(SqlError::new(SqlState("2201G"), "count must be greater than zero"));
    }
    if low == high || !low.is_finite() || !high.is_finite() || v.is_nan() {
        return Err(SqlError::new(SqlState("2201G"), "lower bound cannot equal upper bound"));
    }
    let share = (v - low) / (high - low);
    let before = if low < high { v < low } else { v > low };
    let after = if low < high { v >= high } else { v <= high };
    Ok(if before {
        0
    } else if after {
        count.saturating_add(1)
    } else {
        (share * f64::from(count)) as i32 + 1
    })
}

fn factorial(n: i64) -> SqlResult<i128> {
    if n < 0 {
        return Err(SqlError::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            "factorial of a negative number is undefined",
        ));
    }
    let product = (1..=i128::from(n.min(40))).try_fold(1i128, i128::checked_mul);
    product.filter(|p| *p < 10i128.pow(38)).ok_or_else(|| {
        invalid_parameter("value overflows numeric format")
            .with_hint("numbers have at most 38 digits here")
    })
}
