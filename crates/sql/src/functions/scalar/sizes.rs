//! Sizes: of values, in bytes as PostgreSQL stores them in a row, and as texts such as `1.5 GB`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array};
use arrow_buffer::i256;
use arrow_schema::DataType;
use types::numeric::{wide, without_exponent};
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns::{big, int};

/// Bytes of a length, but for short values.
const LENGTH: usize = 4;
/// Longest value that has one byte for its length, which counts itself.
const SHORT_MAX: usize = 126;
/// What an array has before its elements, without its length: the number of dimensions, the place of the
/// elements, their type.
const ARRAY_HEAD: usize = 12;
/// The length and the lower bound of a dimension.
const DIMENSION: usize = 8;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("pg_column_size", &[Ty::Any], int, |args| {
        let size = |row| match args.arrays[0].data_type() {
            DataType::Null => Ok(None),
            _ => Ok(Some(size_of(&args.arrays[0], row)? as i32)),
        };
        Ok(Arc::new(args.each::<_, Int32Array>(size)?))
    });
    functions.strict("pg_size_bytes", &[Ty::Text], big, |args| {
        Ok(Arc::new(args.each::<_, Int64Array>(|row| bytes_of(args, row).map(Some))?))
    });
}

fn size_of(array: &ArrayRef, row: usize) -> SqlResult<usize> {
    Ok(varying(array, row)?.map_or_else(|| fixed(array.data_type()), with_length))
}

/// The size of a value whose type has values of one size.
fn fixed(ty: &DataType) -> usize {
    match ty {
        DataType::Boolean => 1,
        DataType::FixedSizeBinary(size) => *size as usize,
        ty => ty.primitive_width().unwrap_or_default(),
    }
}

/// The size of a value whose type has values of any size, without its length.
fn varying(array: &ArrayRef, row: usize) -> SqlResult<Option<usize>> {
    Ok(Some(match array.data_type() {
        DataType::Decimal128(..) | DataType::Decimal256(..) => {
            let (values, scale) = wide(array.slice(row, 1).as_ref())?;
            numeric_size(values.value(0), scale)
        }
        DataType::Utf8View => array.as_string_view().value(row).len(),
        DataType::BinaryView => array.as_binary_view().value(row).len(),
        DataType::List(_) => list_size(&array.as_list::<i32>().value(row))?,
        _ => return Ok(None),
    }))
}

/// A value of any length, with what says how long it is.
fn with_length(size: usize) -> usize {
    size + if size <= SHORT_MAX { 1 } else { LENGTH }
}

/// Two bytes of sign and scale, and two for each four digits, counted from the point.
fn numeric_size(value: i256, scale: i8) -> usize {
    let digits = value.wrapping_abs().to_string();
    let scale = usize::try_from(scale).unwrap_or(0);
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    let whole = format!("{:0>width$}", whole, width = whole.len().next_multiple_of(4));
    let fraction = format!("{:0<width$}", fraction, width = scale.next_multiple_of(4));
    let all = whole + &fraction;
    let groups: Vec<&[u8]> = all.as_bytes().chunks(4).collect();
    let used = |group: &&[u8]| group.iter().any(|digit| *digit != b'0');
    match (groups.iter().position(used), groups.iter().rposition(used)) {
        (Some(first), Some(last)) => 2 + 2 * (last - first + 1),
        _ => 2,
    }
}

fn list_size(elements: &ArrayRef) -> SqlResult<usize> {
    if elements.is_empty() {
        return Ok(ARRAY_HEAD);
    }
    // One bit for each element where one is null; the elements begin at a multiple of eight bytes.
    let nulls = if elements.null_count() > 0 { elements.len().div_ceil(8) } else { 0 };
    let mut size = (LENGTH + ARRAY_HEAD + DIMENSION + nulls).next_multiple_of(8) - LENGTH;
    for row in (0..elements.len()).filter(|row| elements.is_valid(*row)) {
        size += match varying(elements, row)? {
            Some(size) => (LENGTH + size).next_multiple_of(LENGTH),
            None => fixed(elements.data_type()),
        };
    }
    Ok(size)
}

const UNITS: [(&str, u32); 7] =
    [("", 0), ("bytes", 0), ("kb", 10), ("mb", 20), ("gb", 30), ("tb", 40), ("pb", 50)];

fn bytes_of(args: &Args<'_>, row: usize) -> SqlResult<i64> {
    let given = args.text(0).value(row);
    let invalid = || invalid_parameter(format!("invalid size: \"{given}\""));
    let (number, unit) = given.trim().split_at(number_length(given.trim()));
    let unit = unit.trim();
    let (mantissa, scale) = decimal_of(number).ok_or_else(invalid)?;
    let known = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name));
    let Some((_, shift)) = known else {
        return Err(invalid()
            .with_detail(format!("Invalid size unit: \"{unit}\"."))
            .with_hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."));
    };
    let out_of_range =
        || SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    let bytes = mantissa.checked_mul(i256::from_i128(1 << shift)).ok_or_else(out_of_range)?;
    let unit = i256::from_i128(10).checked_pow(scale).ok_or_else(out_of_range)?;
    let rounded = types::numeric::round(bytes, scale as i8, 0, false);
    let whole = rounded.checked_div(unit).and_then(i256::to_i128);
    whole.and_then(|whole| i64::try_from(whole).ok()).ok_or_else(out_of_range)
}

/// How much of the text is a number.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = |at: usize| usize::from(text[at..].starts_with(['+', '-']));
    let mut at = sign(0);
    at += digits(at);
    if text[at..].starts_with('.') {
        at += 1 + digits(at + 1);
    }
    if text[at..].starts_with(['e', 'E']) {
        let first = at + 1 + sign(at + 1);
        // Without digits the letter belongs to the unit.
        match digits(first) {
            0 => {}
            count => at = first + count,
        }
    }
    at
}

/// The digits of a number and how many of them are behind the point.
fn decimal_of(number: &str) -> Option<(i256, u32)> {
    // A number without a digit would be read as zero.
    let mantissa = number.split(['e', 'E']).next()?;
    if !mantissa.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let plain = without_exponent(number.trim_start_matches('+'))?;
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    // More digits than these have no part in the bytes.
    let fraction = &fraction[..fraction.len().min(30)];
    let value = i256::from_string(&format!("{whole}{fraction}"))?;
    Some((value, fraction.len() as u32))
}
