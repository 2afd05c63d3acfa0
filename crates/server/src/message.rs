//! What is in a message: numbers, strings, bytes. Reading beyond the end is an error, never a
//! panic.

use std::ffi::CStr;

use types::binary::utf8;
use types::{SqlError, SqlResult, SqlState};

/// Reads a body from its beginning.
pub(crate) struct Reader<'a>(pub &'a [u8]);

fn violation(what: &str) -> SqlError {
    SqlError::new(SqlState::PROTOCOL_VIOLATION, what.to_owned())
}

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, count: usize) -> SqlResult<&'a [u8]> {
        let (head, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| violation("insufficient data left in message"))?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> SqlResult<[u8; N]> {
        let bytes = self.bytes(N)?;
        Ok(*bytes.first_chunk().expect("as many bytes as were asked for"))
    }

    pub fn u8(&mut self) -> SqlResult<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn i16(&mut self) -> SqlResult<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn i32(&mut self) -> SqlResult<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn u32(&mut self) -> SqlResult<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A count of what follows.
    pub fn count(&mut self) -> SqlResult<usize> {
        self.array().map(u16::from_be_bytes).map(usize::from)
    }

    /// A string that ends with a zero byte.
    pub fn string(&mut self) -> SqlResult<&'a str> {
        let bytes = CStr::from_bytes_until_nul(self.0);
        let bytes = bytes.map_err(|_| violation("invalid string in message"))?.to_bytes();
        let text = utf8(bytes)?;
        self.0 = &self.0[bytes.len() + 1..];
        Ok(text)
    }

    /// Nothing may be left.
    pub fn end(&self) -> SqlResult<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(violation("invalid message format")),
        }
    }
}

/// `Parse`: a statement's name, its text, and types of its parameters.
pub(crate) struct Parse<'a> {
    pub name: &'a str,
    pub text: &'a str,
    pub oids: Vec<u32>,
}

impl<'a> Parse<'a> {
    pub fn read(body: &'a [u8]) -> SqlResult<Parse<'a>> {
        let mut reader = Reader(body);
        let (name, text) = (reader.string()?, reader.string()?);
        let count = reader.count()?;
        let oids = (0..count).map(|_| reader.u32()).collect::<SqlResult<Vec<u32>>>()?;
        reader.end()?;
        Ok(Parse { name, text, oids })
    }
}

/// What `Describe` and `Close` name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named<'a> {
    Statement(&'a str),
    Portal(&'a str),
}

impl<'a> Named<'a> {
    /// Reads the body of the message called `what`.
    pub fn read(body: &'a [u8], what: &str) -> SqlResult<Named<'a>> {
        let mut reader = Reader(body);
        let (kind, name) = (reader.u8()?, reader.string()?);
        reader.end()?;
        match kind {
            b'S' => Ok(Named::Statement(name)),
            b'P' => Ok(Named::Portal(name)),
            other => Err(violation(&format!("invalid {what} message subtype {other}"))),
        }
    }
}

/// Reads `Execute`: a portal and the most rows that are wanted, 0 for all.
pub(crate) fn execute(body: &[u8]) -> SqlResult<(&str, i32)> {
    let mut reader = Reader(body);
    let read = (reader.string()?, reader.i32()?);
    reader.end()?;
    Ok(read)
}

/// `Bind`: a statement, its parameters, the formats of the result.
pub(crate) struct Bind<'a> {
    pub portal: &'a str,
    pub statement: &'a str,
    /// Format and bytes of each; `None` is null.
    pub parameters: Vec<(i16, Option<&'a [u8]>)>,
    pub formats: Vec<i16>,
}

impl<'a> Bind<'a> {
    pub fn read(body: &'a [u8]) -> SqlResult<Bind<'a>> {
        let mut reader = Reader(body);
        let (portal, statement) = (reader.string()?, reader.string()?);
        let formats = formats(&mut reader)?;
        let count = reader.count()?;
        if formats.len() > 1 && formats.len() != count {
            let (has, given) = (count, formats.len());
            let message =
                format!("bind message has {given} parameter formats but {has} parameters");
            return Err(violation(&message));
        }
        let mut parameters = Vec::new();
        for index in 0..count {
            let format = format_at(&formats, index);
            let value = match reader.i32()? {
                -1 => None,
                len => {
                    let len = usize::try_from(len).map_err(|_| violation("a negative length"))?;
                    Some(reader.bytes(len)?)
                }
            };
            parameters.push((format, value));
        }
        let formats = self::formats(&mut reader)?;
        reader.end()?;
        Ok(Bind { portal, statement, parameters, formats })
    }
}

fn formats(reader: &mut Reader<'_>) -> SqlResult<Vec<i16>> {
    let count = reader.count()?;
    (0..count)
        .map(|_| match reader.i16()? {
            format @ (0 | 1) => Ok(format),
            other => Err(SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unsupported format code: {other}"),
            )),
        })
        .collect()
}

/// The format of column or parameter `index`: none given is text, one given is for all.
pub(crate) fn format_at(formats: &[i16], index: usize) -> i16 {
    match formats {
        [] => 0,
        [one] => *one,
        many => many.get(index).copied().unwrap_or(0),
    }
}
