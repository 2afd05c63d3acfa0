//! Types as statements write them.

use datafusion_sql::sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, TimezoneInfo,
};
use types::moment::{DIGITS_MAX, Moment};
use types::{ANY_LENGTH, LogicalType, SqlError, SqlResult, SqlState};

use crate::parse::type_names;

/// The type that a PostgreSQL type name means.
pub(crate) fn column_type(ty: &DataType) -> SqlResult<LogicalType> {
    Ok(match ty {
        DataType::Bool | DataType::Boolean => LogicalType::Bool,
        DataType::SmallInt(None) | DataType::Int2(None) => LogicalType::Int16,
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => LogicalType::Int32,
        DataType::BigInt(None) | DataType::Int8(None) => LogicalType::Int64,
        DataType::Real | DataType::Float4 => LogicalType::Float32,
        DataType::DoublePrecision | DataType::Float8 => LogicalType::Float64,
        DataType::Double(ExactNumberInfo::None) => LogicalType::Float64,
        DataType::Float(ExactNumberInfo::None) => LogicalType::Float64,
        DataType::Float(ExactNumberInfo::Precision(bits @ 1..=53)) => {
            if *bits <= 24 {
                LogicalType::Float32
            } else {
                LogicalType::Float64
            }
        }
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => decimal(info)?,
        DataType::Text => LogicalType::Text,
        DataType::Varchar(None)
        | DataType::CharacterVarying(None)
        | DataType::CharVarying(None) => LogicalType::Varchar(ANY_LENGTH),
        DataType::Varchar(Some(length))
        | DataType::CharacterVarying(Some(length))
        | DataType::CharVarying(Some(length)) => LogicalType::Varchar(characters(length)?),
        DataType::Char(None) | DataType::Character(None) => LogicalType::Char(1),
        DataType::Char(Some(length)) | DataType::Character(Some(length)) => {
            LogicalType::Char(characters(length)?)
        }
        DataType::Date => LogicalType::Date,
        DataType::Timestamp(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            rounded(Moment::Timestamp, *digits)
        }
        DataType::Timestamp(digits, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => {
            rounded(Moment::TimestampTz, *digits)
        }
        DataType::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            rounded(Moment::Time, *digits)
        }
        DataType::Interval { fields: None, precision } => rounded(Moment::Interval, *precision),
        DataType::Interval { fields: Some(_), .. } => {
            let name = ty.to_string().to_lowercase();
            return Err(SqlError::unsupported(format!("the type {name}")));
        }
        DataType::Bytea => LogicalType::Bytea,
        DataType::Uuid => LogicalType::Uuid,
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element),
        ) => match column_type(element)? {
            // Dimensions are no part of the type.
            array @ LogicalType::Array(_) => array,
            element => element.array_of(),
        },
        DataType::Custom(name, modifiers) => type_names::named(name, modifiers)?,
        other => return Err(type_names::refused(&other.to_string().to_lowercase())),
    })
}

/// How a statement writes a type.
pub(crate) fn syntax(ty: LogicalType) -> DataType {
    match ty {
        LogicalType::Bool => DataType::Boolean,
        LogicalType::Int16 => DataType::SmallInt(None),
        LogicalType::Int32 => DataType::Integer(None),
        LogicalType::Int64 => DataType::BigInt(None),
        LogicalType::Float32 => DataType::Real,
        LogicalType::Float64 => DataType::DoublePrecision,
        LogicalType::Decimal { precision, scale } => {
            DataType::Numeric(ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into()))
        }
        LogicalType::Numeric => DataType::Numeric(ExactNumberInfo::None),
        LogicalType::Text => DataType::Text,
        LogicalType::Varchar(ANY_LENGTH) => DataType::CharacterVarying(None),
        LogicalType::Varchar(length) => DataType::CharacterVarying(Some(letters(length))),
        LogicalType::Char(length) => DataType::Character(Some(letters(length))),
        LogicalType::Date => DataType::Date,
        LogicalType::Timestamp => DataType::Timestamp(None, TimezoneInfo::WithoutTimeZone),
        LogicalType::Time => DataType::Time(None, TimezoneInfo::WithoutTimeZone),
        LogicalType::TimestampTz => DataType::Timestamp(None, TimezoneInfo::WithTimeZone),
        LogicalType::Interval => DataType::Interval { fields: None, precision: None },
        LogicalType::Bytea => DataType::Bytea,
        LogicalType::Uuid => DataType::Uuid,
        LogicalType::Oid => type_names::of_catalog_name("oid"),
        LogicalType::Rounded(moment, digits) => with_digits(moment, digits.into()),
        LogicalType::Array(element) => {
            DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(syntax(*element)), None))
        }
    }
}

fn with_digits(moment: Moment, digits: u64) -> DataType {
    let digits = Some(digits);
    match moment {
        Moment::Timestamp => DataType::Timestamp(digits, TimezoneInfo::WithoutTimeZone),
        Moment::TimestampTz => DataType::Timestamp(digits, TimezoneInfo::WithTimeZone),
        Moment::Time => DataType::Time(digits, TimezoneInfo::WithoutTimeZone),
        Moment::Interval => DataType::Interval { fields: None, precision: digits },
    }
}

fn letters(length: u32) -> CharacterLength {
    CharacterLength::IntegerLength { length: length.into(), unit: None }
}

/// A time, with the digits that its type names.
fn rounded(moment: Moment, digits: Option<u64>) -> LogicalType {
    match digits {
        Some(digits) => moment.with_digits(u8::try_from(digits).unwrap_or(DIGITS_MAX)),
        None => moment.plain(),
    }
}

fn decimal(info: &ExactNumberInfo) -> SqlResult<LogicalType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(LogicalType::Numeric),
        ExactNumberInfo::Precision(p) => (*p, 0),
        ExactNumberInfo::PrecisionAndScale(p, s) => (*p, *s),
    };
    let error = |message: String| SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let digits = u8::try_from(precision).ok().filter(|p| (1..=38).contains(p));
    let Some(digits) = digits else {
        return Err(error(format!("numeric precision {precision} must be between 1 and 38")));
    };
    match i8::try_from(scale) {
        Ok(scale) if (0..=digits as i8).contains(&scale) => {
            Ok(LogicalType::Decimal { precision: digits, scale })
        }
        _ => Err(error(format!("numeric scale {scale} must be between 0 and {digits}"))),
    }
}

fn characters(length: &CharacterLength) -> SqlResult<u32> {
    let error = || {
        SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("length {length} of a character type must be between 1 and 10485760"),
        )
    };
    match length {
        CharacterLength::IntegerLength { length, .. } if (1..=10_485_760).contains(length) => {
            u32::try_from(*length).map_err(|_| error())
        }
        _ => Err(error()),
    }
}

#[cfg(test)]
mod tests;
