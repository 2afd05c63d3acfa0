//! Values of rows as a program has them.

use std::fmt;

use arrow_array::Array;
use arrow_schema::DataType;
use types::text::format_value;
use types::{SqlError, SqlResult};

use crate::result::ResultSet;

/// A value of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Datum {
    /// Null.
    #[default]
    Null,
    /// Of `boolean`.
    Bool(bool),
    /// Of a type of whole numbers.
    Int(i64),
    /// Of a type of floating numbers.
    Float(f64),
    /// A text, or a value of any other type as SQL writes it.
    Text(String),
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_deref().unwrap_or("null"))
    }
}

/// The values of a row, in the order of its columns.
pub type Row = Vec<Datum>;

impl Datum {
    /// As SQL writes it; `None` is null.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Datum::Null => None,
            Datum::Bool(value) => Some(value.to_string()),
            Datum::Int(value) => Some(value.to_string()),
            Datum::Float(value) => Some(float(*value)),
            Datum::Text(value) => Some(value.clone()),
        }
    }

    fn of(column: &dyn Array, row: usize) -> SqlResult<Datum> {
        let Some(text) = format_value(column, row) else { return Ok(Datum::Null) };
        let odd = || SqlError::internal(format!("\"{text}\" is no number"));
        match column.data_type() {
            DataType::Boolean => Ok(Datum::Bool(text.starts_with('t'))),
            DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                text.parse().map(Datum::Int).map_err(|_| odd())
            }
            DataType::Float32 | DataType::Float64 => {
                text.parse().map(Datum::Float).map_err(|_| odd())
            }
            _ => Ok(Datum::Text(text)),
        }
    }
}

fn float(value: f64) -> String {
    match value.is_infinite() {
        true if value > 0.0 => "Infinity".to_owned(),
        true => "-Infinity".to_owned(),
        false => format!("{value:?}"),
    }
}

impl ResultSet {
    /// Its rows.
    ///
    /// # Errors
    /// XX000 for numbers that are none.
    pub fn rows(&self) -> SqlResult<Vec<Row>> {
        let mut rows = vec![];
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let values = batch.columns().iter().map(|column| Datum::of(column, row));
                rows.push(values.collect::<SqlResult<Row>>()?);
            }
        }
        Ok(rows)
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Datum {
        Datum::Bool(value)
    }
}

impl From<i32> for Datum {
    fn from(value: i32) -> Datum {
        Datum::Int(value.into())
    }
}

impl From<i64> for Datum {
    fn from(value: i64) -> Datum {
        Datum::Int(value)
    }
}

impl From<f64> for Datum {
    fn from(value: f64) -> Datum {
        Datum::Float(value)
    }
}

impl From<&str> for Datum {
    fn from(value: &str) -> Datum {
        Datum::Text(value.to_owned())
    }
}

impl From<String> for Datum {
    fn from(value: String) -> Datum {
        Datum::Text(value)
    }
}

impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(value: Option<T>) -> Datum {
        value.map_or(Datum::Null, Into::into)
    }
}
