//! Values of parameters, with their types.

use std::borrow::Cow;

use types::{Datum, LogicalType, SqlResult, array, oid};

/// The value of a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// In the form that the machine has for its type, or a text that is still to be read as one of
    /// it.
    pub value: Datum,
    /// Its type; `None` is an unknown literal, a text that takes the type that its place asks for.
    pub ty: Option<LogicalType>,
    /// The number of its type where that is another to clients than here.
    pub told: Option<u32>,
}

impl Parameter {
    /// A value of the type of this number; 0 is an unknown literal. One of `char(n)` loses the
    /// blanks at its end, which do not count there, and which no column of that type holds; so do
    /// the elements of an array of such.
    pub fn of_type(oid: u32, mut value: Datum) -> Parameter {
        match &mut value {
            Datum::Text(text) if oid == oid::BPCHAR => {
                text.truncate(text.trim_end_matches(' ').len());
            }
            Datum::Text(text) if oid::element_of(oid) == Some(oid::BPCHAR) => {
                *text = array::without_blanks(text).unwrap_or_else(|| std::mem::take(text));
            }
            _ => {}
        }
        let ty = match oid {
            // As many digits as are given.
            oid::NUMERIC => oid::parameter(oid, value.text(None).as_deref()),
            oid => oid::parameter(oid, None),
        };
        let told = matches!(oid, oid::VARCHAR | oid::BPCHAR | oid::NAME).then_some(oid);
        Parameter { value: value.of_type(ty), ty, told }
    }

    /// The value that a text is.
    ///
    /// # Errors
    /// As [`Datum::read`].
    pub fn read(oid: u32, text: &str) -> SqlResult<Parameter> {
        let value = match oid::parameter(oid, None) {
            Some(ty) => Datum::read(ty, text)?,
            None => Datum::Text(text.to_owned()),
        };
        Ok(Parameter::of_type(oid, value))
    }

    /// An unknown literal.
    pub fn unknown(text: impl Into<String>) -> Parameter {
        Parameter { value: Datum::Text(text.into()), ..Parameter::default() }
    }

    /// True if it is null.
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    /// Bytes of a text or of a byte string; none of a value that is a word.
    pub fn bytes(&self) -> usize {
        match &self.value {
            Datum::Text(text) => text.len(),
            Datum::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// As SQL writes it; `None` is null.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        self.value.text(self.ty)
    }
}
