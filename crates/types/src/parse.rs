//! Values from their text form, with PostgreSQL's error messages.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BinaryViewBuilder, BooleanBuilder, Decimal128Builder, Decimal256Builder,
    FixedSizeBinaryBuilder, PrimitiveBuilder, StringViewBuilder,
};
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, ListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_cast::parse::Parser;

use crate::array::{parse_array, parse_bytes, parse_uuid};
use crate::blanks::trimmed;
use crate::datetime::{parse_date, parse_interval, parse_time, parse_timestamp, parse_timestamptz};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::logical::{ANY_LENGTH, Column, LogicalType};
use crate::numeric::{FREE_DIGITS, QUOTIENT_SCALE};

/// Builds a column from text fields.
pub struct ColumnParser {
    ty: LogicalType,
    name: String,
    nullable: bool,
    values: Values,
}

enum Values {
    Bool(BooleanBuilder),
    Int16(PrimitiveBuilder<Int16Type>),
    Int32(PrimitiveBuilder<Int32Type>),
    Int64(PrimitiveBuilder<Int64Type>),
    Oid(PrimitiveBuilder<UInt32Type>),
    Float32(PrimitiveBuilder<Float32Type>),
    Float64(PrimitiveBuilder<Float64Type>),
    Decimal(Decimal128Builder),
    Numeric(Decimal256Builder),
    Text(StringViewBuilder),
    Date(PrimitiveBuilder<Date32Type>),
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>),
    Time(PrimitiveBuilder<Time64MicrosecondType>),
    Interval(PrimitiveBuilder<IntervalMonthDayNanoType>),
    Bytes(BinaryViewBuilder),
    Uuid(FixedSizeBinaryBuilder),
    Array(Box<Lists>),
}

/// Arrays while they are read.
struct Lists {
    elements: ColumnParser,
    ends: Vec<usize>,
    valid: Vec<bool>,
}

impl Lists {
    fn new(element: LogicalType) -> Lists {
        let column = Column { name: String::new(), ty: element, nullable: true };
        Lists { elements: ColumnParser::new(&column), ends: vec![], valid: vec![] }
    }

    fn push(&mut self, elements: Option<Vec<Option<String>>>) -> SqlResult<()> {
        self.valid.push(elements.is_some());
        let elements = elements.unwrap_or_default();
        for (nth, element) in elements.iter().enumerate() {
            if let Err(error) = self.elements.push(element.as_deref()) {
                // The row has what came before it.
                self.ends.push(nth);
                return Err(error);
            }
        }
        self.ends.push(elements.len());
        Ok(())
    }

    fn finish(&mut self, ty: LogicalType) -> ArrayRef {
        let arrow_schema::DataType::List(field) = ty.arrow() else {
            unreachable!("lists are of an array type")
        };
        let lengths = std::mem::take(&mut self.ends);
        let nulls = NullBuffer::from(std::mem::take(&mut self.valid));
        let offsets = OffsetBuffer::from_lengths(lengths);
        Arc::new(ListArray::new(field, offsets, self.elements.finish(), Some(nulls)))
    }
}

impl ColumnParser {
    /// A parser of the column's type that keeps its constraints.
    pub fn new(column: &Column) -> ColumnParser {
        let values = match column.ty.plain() {
            LogicalType::Bool => Values::Bool(BooleanBuilder::new()),
            LogicalType::Int16 => Values::Int16(PrimitiveBuilder::new()),
            LogicalType::Int32 => Values::Int32(PrimitiveBuilder::new()),
            LogicalType::Int64 => Values::Int64(PrimitiveBuilder::new()),
            LogicalType::Oid => Values::Oid(PrimitiveBuilder::new()),
            LogicalType::Float32 => Values::Float32(PrimitiveBuilder::new()),
            LogicalType::Float64 => Values::Float64(PrimitiveBuilder::new()),
            LogicalType::Decimal { .. } => {
                Values::Decimal(Decimal128Builder::new().with_data_type(column.ty.arrow()))
            }
            LogicalType::Numeric => {
                Values::Numeric(Decimal256Builder::new().with_data_type(column.ty.arrow()))
            }
            LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
                Values::Text(StringViewBuilder::new())
            }
            LogicalType::Date => Values::Date(PrimitiveBuilder::new()),
            LogicalType::Timestamp | LogicalType::TimestampTz => {
                Values::Timestamp(PrimitiveBuilder::new().with_data_type(column.ty.arrow()))
            }
            LogicalType::Time => Values::Time(PrimitiveBuilder::new()),
            LogicalType::Interval => Values::Interval(PrimitiveBuilder::new()),
            LogicalType::Bytea => Values::Bytes(BinaryViewBuilder::new()),
            LogicalType::Uuid => Values::Uuid(FixedSizeBinaryBuilder::new(16)),
            LogicalType::Rounded(..) => unreachable!("a plain type keeps all digits"),
            LogicalType::Array(element) => Values::Array(Box::new(Lists::new(*element))),
        };
        let Column { name, ty, nullable } = column.clone();
        ColumnParser { ty, name, nullable, values }
    }

    /// Appends a field; `None` is null.
    pub fn push(&mut self, field: Option<&str>) -> SqlResult<()> {
        let Some(text) = field else { return self.push_null() };
        let ty = self.ty.plain();
        match &mut self.values {
            Values::Bool(b) => b.append_value(parse_bool(text)?),
            Values::Int16(b) => b.append_value(parse_integer(text, ty)?),
            Values::Int32(b) => b.append_value(parse_integer(text, ty)?),
            Values::Int64(b) => b.append_value(parse_integer(text, ty)?),
            Values::Oid(b) => b.append_value(parse_integer(text, ty)?),
            Values::Float32(b) => b.append_value(parse_float::<Float32Type>(text, ty)?),
            Values::Float64(b) => b.append_value(parse_float::<Float64Type>(text, ty)?),
            Values::Decimal(b) => b.append_value(parse_decimal(text, ty)?),
            Values::Numeric(b) => b.append_value(parse_numeric(text)?),
            Values::Text(b) => b.append_value(fit_text(text, ty)?),
            Values::Date(b) => b.append_value(parse_date(text)?),
            Values::Timestamp(b) if ty == LogicalType::TimestampTz => {
                b.append_value(parse_timestamptz(text)?);
            }
            Values::Timestamp(b) => b.append_value(parse_timestamp(text)?),
            Values::Time(b) => b.append_value(parse_time(text)?),
            Values::Interval(b) => b.append_value(parse_interval(text)?),
            Values::Bytes(b) => b.append_value(parse_bytes(text)?),
            Values::Uuid(b) => {
                let uuid = parse_uuid(text)?;
                b.append_value(uuid).map_err(|e| SqlError::internal(e.to_string()))?;
            }
            Values::Array(lists) => lists.push(Some(parse_array(text)?))?,
        }
        Ok(())
    }

    fn push_null(&mut self) -> SqlResult<()> {
        if !self.nullable {
            let message =
                format!("null value in column \"{}\" violates not-null constraint", self.name);
            let error = SqlError::new(SqlState::NOT_NULL_VIOLATION, message);
            return Err(error.of_column(&self.name));
        }
        self.append_null();
        Ok(())
    }

    /// Appends a null where there are fewer rows than `rows`, whatever the column allows: for a row that was
    /// given up halfway, and is taken out later.
    pub fn fill(&mut self, rows: usize) {
        if self.len() < rows {
            self.append_null();
        }
        assert_eq!(
            self.len(),
            rows,
            "a row is in all columns or in those before the one that failed"
        );
    }

    fn len(&self) -> usize {
        match &self.values {
            Values::Bool(b) => b.len(),
            Values::Int16(b) => b.len(),
            Values::Int32(b) => b.len(),
            Values::Int64(b) => b.len(),
            Values::Oid(b) => b.len(),
            Values::Float32(b) => b.len(),
            Values::Float64(b) => b.len(),
            Values::Decimal(b) => b.len(),
            Values::Numeric(b) => b.len(),
            Values::Text(b) => b.len(),
            Values::Date(b) => b.len(),
            Values::Timestamp(b) => b.len(),
            Values::Time(b) => b.len(),
            Values::Interval(b) => b.len(),
            Values::Bytes(b) => b.len(),
            Values::Uuid(b) => b.len(),
            Values::Array(lists) => lists.ends.len(),
        }
    }

    fn append_null(&mut self) {
        match &mut self.values {
            Values::Bool(b) => b.append_null(),
            Values::Int16(b) => b.append_null(),
            Values::Int32(b) => b.append_null(),
            Values::Int64(b) => b.append_null(),
            Values::Oid(b) => b.append_null(),
            Values::Float32(b) => b.append_null(),
            Values::Float64(b) => b.append_null(),
            Values::Decimal(b) => b.append_null(),
            Values::Numeric(b) => b.append_null(),
            Values::Text(b) => b.append_null(),
            Values::Date(b) => b.append_null(),
            Values::Timestamp(b) => b.append_null(),
            Values::Time(b) => b.append_null(),
            Values::Interval(b) => b.append_null(),
            Values::Bytes(b) => b.append_null(),
            Values::Uuid(b) => b.append_null(),
            Values::Array(lists) => {
                lists.valid.push(false);
                lists.ends.push(0);
            }
        }
    }

    /// The column so far; the parser is empty afterwards.
    pub fn finish(&mut self) -> ArrayRef {
        match self.ty {
            LogicalType::Rounded(_, digits) => crate::moment::rounded(&self.taken(), digits),
            _ => self.taken(),
        }
    }

    fn taken(&mut self) -> ArrayRef {
        match &mut self.values {
            Values::Bool(b) => Arc::new(b.finish()),
            Values::Int16(b) => Arc::new(b.finish()),
            Values::Int32(b) => Arc::new(b.finish()),
            Values::Int64(b) => Arc::new(b.finish()),
            Values::Oid(b) => Arc::new(b.finish()),
            Values::Float32(b) => Arc::new(b.finish()),
            Values::Float64(b) => Arc::new(b.finish()),
            Values::Decimal(b) => Arc::new(b.finish()),
            Values::Numeric(b) => Arc::new(b.finish()),
            Values::Text(b) => Arc::new(b.finish()),
            Values::Date(b) => Arc::new(b.finish()),
            Values::Timestamp(b) => Arc::new(b.finish()),
            Values::Time(b) => Arc::new(b.finish()),
            Values::Interval(b) => Arc::new(b.finish()),
            Values::Bytes(b) => Arc::new(b.finish()),
            Values::Uuid(b) => Arc::new(b.finish()),
            Values::Array(lists) => lists.finish(self.ty),
        }
    }
}

fn invalid(text: &str, ty: LogicalType) -> SqlError {
    let name = match ty {
        LogicalType::Decimal { .. } => "numeric".to_owned(),
        _ => ty.to_string(),
    };
    let message = format!("invalid input syntax for type {name}: \"{text}\"");
    SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
}

pub(crate) fn parse_bool(text: &str) -> SqlResult<bool> {
    match trimmed(text).to_ascii_lowercase().as_str() {
        "t" | "tr" | "tru" | "true" | "y" | "ye" | "yes" | "on" | "1" => Ok(true),
        "f" | "fa" | "fal" | "fals" | "false" | "n" | "no" | "of" | "off" | "0" => Ok(false),
        _ => Err(invalid(text, LogicalType::Bool)),
    }
}

pub(crate) fn parse_integer<T: TryFrom<i128>>(text: &str, ty: LogicalType) -> SqlResult<T> {
    let wide: i128 = trimmed(text).parse().map_err(|_| invalid(text, ty))?;
    T::try_from(wide).map_err(|_| {
        let message = format!("value \"{text}\" is out of range for type {ty}");
        SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    })
}

pub(crate) fn parse_float<T: ArrowPrimitiveType + Parser>(
    text: &str,
    ty: LogicalType,
) -> SqlResult<T::Native>
where
    T::Native: Into<f64>,
{
    in_range(T::parse(trimmed(text)).ok_or_else(|| invalid(text, ty))?, text, ty)
}

/// A number that is infinite, or zero, must have been written so.
fn in_range<F: Copy + Into<f64>>(value: F, text: &str, ty: LogicalType) -> SqlResult<F> {
    let mantissa = || text.split(['e', 'E']).next().unwrap_or_default().bytes();
    let lost = match value.into() {
        infinite if infinite.is_infinite() => mantissa().any(|b| b.is_ascii_digit()),
        zero => zero == 0.0 && mantissa().any(|b| matches!(b, b'1'..=b'9')),
    };
    match lost {
        true => {
            let message = format!("\"{}\" is out of range for type {ty}", trimmed(text));
            Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
        false => Ok(value),
    }
}

/// Exact; digits beyond the scale are rounded half away from zero, as PostgreSQL does.
fn parse_decimal(text: &str, ty: LogicalType) -> SqlResult<i128> {
    let LogicalType::Decimal { precision, scale } = ty else { unreachable!("a decimal column") };
    let plain = plain_decimal(text, ty)?;
    let Digits { negative, whole, fraction } = digits(&plain, text, ty)?;
    let scale = usize::try_from(scale).expect("scales are not negative");
    let kept = &fraction[..fraction.len().min(scale)];
    let mut value = 0i128;
    for digit in whole.bytes().chain(kept.bytes()) {
        value = push_digit(value, digit, precision)?;
    }
    for _ in kept.len()..scale {
        value = push_digit(value, b'0', precision)?;
    }
    if fraction.as_bytes().get(scale).is_some_and(|&b| b >= b'5') {
        value += 1;
    }
    if value >= 10i128.pow(u32::from(precision)) {
        return Err(overflow(precision));
    }
    Ok(if negative { -value } else { value })
}

/// The same for a number without a precision.
fn parse_numeric(text: &str) -> SqlResult<i256> {
    let ty = LogicalType::Numeric;
    let plain = plain_decimal(text, ty)?;
    let Digits { negative, whole, fraction } = digits(&plain, text, ty)?;
    let scale = usize::try_from(QUOTIENT_SCALE).expect("the scale is not negative");
    let kept = &fraction[..fraction.len().min(scale)];
    let padded =
        format!("{}{kept}{}", whole.trim_start_matches('0'), "0".repeat(scale - kept.len()));
    let up = fraction.as_bytes().get(scale).is_some_and(|&b| b >= b'5');
    let value =
        if padded.len() > usize::from(FREE_DIGITS) { None } else { i256::from_string(&padded) };
    let value = value.and_then(|v| v.checked_add(if up { i256::ONE } else { i256::ZERO }));
    let overflow = |hint: String| {
        let message = "numeric field overflow";
        SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message).with_hint(hint)
    };
    let Some(value) = value else {
        let whole = FREE_DIGITS - QUOTIENT_SCALE.unsigned_abs();
        let hint = format!("numbers have at most {whole} digits before the point here");
        return Err(overflow(hint));
    };
    // A number of which no digit is left would be another one.
    if value == i256::ZERO && fraction.bytes().any(|b| b != b'0') {
        let hint = format!("numbers have at most {QUOTIENT_SCALE} digits behind the point here");
        return Err(overflow(hint));
    }
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// The text without blanks and exponent.
fn plain_decimal(text: &str, ty: LogicalType) -> SqlResult<Cow<'_, str>> {
    if is_special(trimmed(text)) {
        return Err(SqlError::unsupported("NaN and infinity as numeric")
            .with_hint("double precision has them"));
    }
    crate::numeric::without_exponent(trimmed(text)).ok_or_else(|| invalid(text, ty))
}

fn is_special(text: &str) -> bool {
    let word = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    matches!(word.as_str(), "nan" | "inf" | "infinity")
}

/// The parts of a number in text.
struct Digits<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

fn digits<'a>(plain: &'a str, text: &str, ty: LogicalType) -> SqlResult<Digits<'a>> {
    let (negative, digits) = match plain.as_bytes() {
        [b'-', ..] => (true, &plain[1..]),
        [b'+', ..] => (false, &plain[1..]),
        _ => (false, plain),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return Err(invalid(text, ty));
    }
    Ok(Digits { negative, whole, fraction })
}

fn push_digit(value: i128, digit: u8, precision: u8) -> SqlResult<i128> {
    let next = value.checked_mul(10).and_then(|v| v.checked_add(i128::from(digit - b'0')));
    next.ok_or_else(|| overflow(precision))
}

fn overflow(precision: u8) -> SqlError {
    let detail = format!("A field with precision {precision} must hold fewer digits.");
    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow")
        .with_detail(detail)
}

/// Checks the length of `varchar(n)` and `char(n)`; blanks past the end are cut, as SQL has it.
pub fn fit_text(text: &str, ty: LogicalType) -> SqlResult<&str> {
    if text.as_bytes().contains(&0) {
        let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
        return Err(SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message));
    }
    let (limit, text) = match ty {
        LogicalType::Varchar(ANY_LENGTH) => return Ok(text),
        LogicalType::Char(n) => (n, text.trim_end_matches(' ')),
        LogicalType::Varchar(n) => (n, text),
        _ => return Ok(text),
    };
    match text.char_indices().nth(limit as usize) {
        None => Ok(text),
        Some((end, _)) if text[end..].bytes().all(|b| b == b' ') => Ok(&text[..end]),
        Some(_) => {
            let message = format!("value too long for type {ty}");
            Err(SqlError::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, message))
        }
    }
}
