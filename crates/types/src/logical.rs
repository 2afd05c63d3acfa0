//! Logical column types and their Arrow representation.

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};

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
    /// `text`
    Text,
    /// `varchar(n)`: at most `n` characters.
    Varchar(u32),
    /// `char(n)`: at most `n` characters; trailing blanks are not significant and not stored.
    Char(u32),
    /// `date`
    Date,
    /// `timestamp`: microseconds, no time zone.
    Timestamp,
}

impl LogicalType {
    /// The Arrow type of a vector of this type. Strings are 16-byte views.
    pub fn arrow(self) -> DataType {
        match self {
            LogicalType::Bool => DataType::Boolean,
            LogicalType::Int16 => DataType::Int16,
            LogicalType::Int32 => DataType::Int32,
            LogicalType::Int64 => DataType::Int64,
            LogicalType::Float32 => DataType::Float32,
            LogicalType::Float64 => DataType::Float64,
            LogicalType::Decimal { precision, scale } => DataType::Decimal128(precision, scale),
            LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
                DataType::Utf8View
            }
            LogicalType::Date => DataType::Date32,
            LogicalType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        }
    }

    /// Typical bytes of a value in a stored row, for cost estimates before statistics exist.
    pub fn typical_width(self) -> usize {
        match self {
            LogicalType::Bool => 1,
            LogicalType::Int16 => 2,
            LogicalType::Int32 | LogicalType::Float32 | LogicalType::Date => 4,
            LogicalType::Int64 | LogicalType::Float64 | LogicalType::Timestamp => 8,
            LogicalType::Decimal { precision, .. } => {
                if precision <= 18 {
                    8
                } else {
                    16
                }
            }
            LogicalType::Text => 32,
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
            LogicalType::Text => f.write_str("text"),
            LogicalType::Varchar(n) => write!(f, "character varying({n})"),
            LogicalType::Char(n) => write!(f, "character({n})"),
            LogicalType::Date => f.write_str("date"),
            LogicalType::Timestamp => f.write_str("timestamp without time zone"),
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
