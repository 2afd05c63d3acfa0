//! Logical column types and their Arrow representation.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, Field, IntervalUnit, Schema as ArrowSchema, SchemaRef, TimeUnit};

use crate::moment::Moment;
use crate::numeric::FREE;

/// A column type as SQL names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogicalType {
    /// `boolean`
    Bool,
    /// `smallint`
    Int16,
    /// `integer`
    Int32,
    /// `bigint`
    Int64,
    /// `real`
    Float32,
    /// `double precision`
    Float64,
    /// `numeric(precision, scale)`, at most 38 digits, exact.
    Decimal {
        /// All digits.
        precision: u8,
        /// Digits after the point.
        scale: i8,
    },
    /// `numeric` without a precision: 20 digits after the point, in 256 bits.
    Numeric,
    /// `text`
    Text,
    /// `varchar(n)`: at most `n` characters; [`ANY_LENGTH`] of them without a length.
    Varchar(u32),
    /// `char(n)`: at most `n` characters; trailing blanks are not significant and not stored.
    Char(u32),
    /// `date`
    Date,
    /// `timestamp`: microseconds, no time zone.
    Timestamp,
    /// `time`: microseconds since midnight.
    Time,
    /// `timestamptz`: an instant, microseconds since 1970 in UTC.
    TimestampTz,
    /// `interval`: months, days, and a time with the resolution of a microsecond.
    Interval,
    /// `bytea`
    Bytea,
    /// `uuid`
    Uuid,
    /// `oid`: the number of an object of the catalog.
    Oid,
    /// A time with fewer digits than microseconds; made by [`Moment::with_digits`].
    Rounded(Moment, u8),
    /// An array of one dimension; made by [`LogicalType::array_of`].
    Array(&'static LogicalType),
}

/// The length of a `varchar` that has none: more than a text can have.
pub const ANY_LENGTH: u32 = u32::MAX;

/// The zone of `timestamptz` vectors: instants are kept in UTC.
pub const UTC: &str = "+00:00";

/// Element types that arrays were made of; as many as there are types in use.
static ELEMENTS: Mutex<Vec<&'static LogicalType>> = Mutex::new(Vec::new());

impl LogicalType {
    /// The type without the number of digits that times are kept with.
    pub fn plain(self) -> LogicalType {
        match self {
            LogicalType::Rounded(moment, _) => moment.plain(),
            other => other,
        }
    }

    /// The type of such times that keeps so many digits of a second; `None` of what is no time.
    pub fn with_digits(self, digits: u8) -> Option<LogicalType> {
        let moment = match self.plain() {
            LogicalType::Timestamp => Moment::Timestamp,
            LogicalType::TimestampTz => Moment::TimestampTz,
            LogicalType::Time => Moment::Time,
            LogicalType::Interval => Moment::Interval,
            _ => return None,
        };
        Some(moment.with_digits(digits))
    }

    /// True if values are texts or bytes of any length.
    pub fn is_long(self) -> bool {
        matches!(self, LogicalType::Text | LogicalType::Varchar(ANY_LENGTH) | LogicalType::Bytea)
    }

    /// The type without limits of the lengths of texts.
    pub fn without_length(self) -> LogicalType {
        match self {
            LogicalType::Varchar(_) | LogicalType::Char(_) => LogicalType::Text,
            LogicalType::Array(element) => element.without_length().array_of(),
            other => other,
        }
    }

    /// True if vectors of its Arrow type may hold values that a column of this type cuts, rounds or
    /// refuses.
    pub fn has_limit(self) -> bool {
        match self {
            LogicalType::Varchar(ANY_LENGTH) => false,
            LogicalType::Varchar(_) | LogicalType::Char(_) | LogicalType::Rounded(..) => true,
            LogicalType::Array(element) => element.has_limit(),
            _ => false,
        }
    }

    /// The Arrow type of a vector of this type. Strings are 16-byte views.
    pub fn arrow(self) -> DataType {
        match self {
            LogicalType::Bool => DataType::Boolean,
            LogicalType::Int16 => DataType::Int16,
            LogicalType::Int32 => DataType::Int32,
            LogicalType::Int64 => DataType::Int64,
            LogicalType::Oid => DataType::UInt32,
            LogicalType::Float32 => DataType::Float32,
            LogicalType::Float64 => DataType::Float64,
            LogicalType::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
            LogicalType::Numeric => FREE,
            LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
                DataType::Utf8View
            }
            LogicalType::Date => DataType::Date32,
            LogicalType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            LogicalType::Time => DataType::Time64(TimeUnit::Microsecond),
            LogicalType::TimestampTz => {
                DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
            }
            LogicalType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            LogicalType::Bytea => DataType::BinaryView,
            LogicalType::Uuid => DataType::FixedSizeBinary(16),
            LogicalType::Rounded(moment, _) => moment.plain().arrow(),
            LogicalType::Array(element) => {
                DataType::List(Arc::new(Field::new_list_field(element.arrow(), true)))
            }
        }
    }

    /// The array type with elements of this type.
    pub fn array_of(self) -> LogicalType {
        let element = self;
        let mut known = ELEMENTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.iter().find(|e| ***e == element) {
            return LogicalType::Array(found);
        }
        let kept: &'static LogicalType = Box::leak(Box::new(element));
        known.push(kept);
        LogicalType::Array(kept)
    }

    /// The type of a column that can take vectors of this Arrow type, if there is one.
    pub fn of_arrow(ty: &DataType) -> Option<LogicalType> {
        Some(match ty {
            DataType::Boolean => LogicalType::Bool,
            DataType::Int16 => LogicalType::Int16,
            DataType::Int32 => LogicalType::Int32,
            DataType::Int64 => LogicalType::Int64,
            DataType::UInt32 => LogicalType::Oid,
            DataType::Float32 => LogicalType::Float32,
            DataType::Float64 => LogicalType::Float64,
            DataType::Decimal128(precision, scale) => {
                LogicalType::Decimal { precision: *precision, scale: *scale }
            }
            DataType::Decimal256(..) => LogicalType::Numeric,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => LogicalType::Text,
            DataType::Date32 => LogicalType::Date,
            DataType::Time64(TimeUnit::Microsecond) => LogicalType::Time,
            DataType::Timestamp(TimeUnit::Microsecond, None) => LogicalType::Timestamp,
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => LogicalType::TimestampTz,
            DataType::Interval(IntervalUnit::MonthDayNano) => LogicalType::Interval,
            DataType::Binary | DataType::BinaryView => LogicalType::Bytea,
            DataType::FixedSizeBinary(16) => LogicalType::Uuid,
            DataType::List(field) => LogicalType::of_arrow(field.data_type())?.array_of(),
            _ => return None,
        })
    }

    /// Whether a column of this type may be part of a key.
    pub fn may_be_key(self) -> bool {
        !matches!(self.plain(), LogicalType::Interval | LogicalType::Array(_))
    }

    /// Typical bytes of a value in a stored row, for cost estimates before statistics exist.
    pub fn typical_width(self) -> usize {
        match self {
            LogicalType::Rounded(moment, _) => moment.plain().typical_width(),
            LogicalType::Bool => 1,
            LogicalType::Int16 => 2,
            LogicalType::Int32 | LogicalType::Float32 | LogicalType::Date | LogicalType::Oid => 4,
            LogicalType::Int64
            | LogicalType::Float64
            | LogicalType::Timestamp
            | LogicalType::TimestampTz
            | LogicalType::Time => 8,
            LogicalType::Interval | LogicalType::Uuid => 16,
            LogicalType::Decimal { precision, .. } => {
                if precision <= 18 {
                    8
                } else {
                    16
                }
            }
            LogicalType::Numeric => 10,
            LogicalType::Text
            | LogicalType::Varchar(ANY_LENGTH)
            | LogicalType::Bytea
            | LogicalType::Array(_) => 32,
            LogicalType::Varchar(n) | LogicalType::Char(n) => (n as usize).div_ceil(2).min(64) + 2,
        }
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogicalType::Bool => f.write_str("boolean"),
            LogicalType::Int16 => f.write_str("smallint"),
            LogicalType::Int32 => f.write_str("integer"),
            LogicalType::Int64 => f.write_str("bigint"),
            LogicalType::Float32 => f.write_str("real"),
            LogicalType::Float64 => f.write_str("double precision"),
            LogicalType::Decimal { precision, scale } => write!(f, "numeric({precision},{scale})"),
            LogicalType::Numeric => f.write_str("numeric"),
            LogicalType::Text => f.write_str("text"),
            LogicalType::Varchar(ANY_LENGTH) => f.write_str("character varying"),
            LogicalType::Varchar(n) => write!(f, "character varying({n})"),
            LogicalType::Char(n) => write!(f, "character({n})"),
            LogicalType::Date => f.write_str("date"),
            LogicalType::Timestamp => f.write_str("timestamp without time zone"),
            LogicalType::Time => f.write_str("time without time zone"),
            LogicalType::TimestampTz => f.write_str("timestamp with time zone"),
            LogicalType::Interval => f.write_str("interval"),
            LogicalType::Bytea => f.write_str("bytea"),
            LogicalType::Uuid => f.write_str("uuid"),
            LogicalType::Oid => f.write_str("oid"),
            LogicalType::Rounded(moment, digits) => f.write_str(&moment.name(*digits)),
            LogicalType::Array(element) => write!(f, "{element}[]"),
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, lower case unless it was quoted.
    pub name: String,
    /// The type.
    pub ty: LogicalType,
    /// Whether null is allowed.
    pub nullable: bool,
}

/// The columns of a table, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Schema {
    /// The columns.
    pub columns: Vec<Column>,
}

impl Schema {
    /// The Arrow schema of the columns at `ordinals`.
    pub fn project(&self, ordinals: &[usize]) -> SchemaRef {
        let field = |&i: &usize| {
            let c = &self.columns[i];
            Field::new(&c.name, c.ty.arrow(), c.nullable)
        };
        Arc::new(ArrowSchema::new(ordinals.iter().map(field).collect::<Vec<_>>()))
    }

    /// The Arrow schema of all columns.
    pub fn arrow(&self) -> SchemaRef {
        self.project(&(0..self.columns.len()).collect::<Vec<_>>())
    }

    /// The ordinal of the column named `name`.
    pub fn ordinal(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}
