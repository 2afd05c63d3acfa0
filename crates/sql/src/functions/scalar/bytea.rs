//! Functions of byte strings: single bytes and bits, hashes, texts in other encodings.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryViewArray, Int32Array, Int64Array};
use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns::{big, bytes, int, text};

pub(crate) fn register(functions: &mut Functions) {
    single_bytes(functions);
    single_bits(functions);
    hashes(functions);
    digests(functions);
    functions.strict("convert_from", &[Ty::Bytes, Ty::Text], text, |args| {
        args.texts(|row| decoded(value(args, row), args.text(1).value(row)).map(Some))
    });
    functions.strict("convert_to", &[Ty::Text, Ty::Text], bytes, |args| {
        byte_strings(args, |row| encoded(args.text(0).value(row), args.text(1).value(row)))
    });
}

/// The byte string that is the first argument.
pub(crate) fn value<'a>(args: &'a Args<'_>, row: usize) -> &'a [u8] {
    args.arrays[0].as_binary_view().value(row)
}

/// Byte strings of the rows without nulls.
pub(crate) fn byte_strings(
    args: &Args<'_>,
    f: impl Fn(usize) -> SqlResult<Vec<u8>>,
) -> SqlResult<ArrayRef> {
    Ok(Arc::new(args.each::<_, BinaryViewArray>(|row| f(row).map(Some))?))
}

fn single_bytes(functions: &mut Functions) {
    functions.strict("get_byte", &[Ty::Bytes, Ty::Int], int, |args| {
        let byte = |row: usize| {
            let value = value(args, row);
            let at = place(args.int(1, row).into(), value.len())?;
            Ok(Some(i32::from(value[at])))
        };
        Ok(Arc::new(args.each::<_, Int32Array>(byte)?))
    });
    functions.strict("set_byte", &[Ty::Bytes, Ty::Int, Ty::Int], bytes, |args| {
        byte_strings(args, |row| {
            let mut value = value(args, row).to_vec();
            let at = place(args.int(1, row).into(), value.len())?;
            // Of a larger number the last eight bits.
            value[at] = args.int(2, row) as u8;
            Ok(value)
        })
    });
}

fn single_bits(functions: &mut Functions) {
    functions.strict("get_bit", &[Ty::Bytes, Ty::Big], int, |args| {
        let bit = |row: usize| {
            let value = value(args, row);
            let at = place(args.big(1, row), value.len() * 8)?;
            Ok(Some(i32::from(value[at / 8] >> (at % 8) & 1)))
        };
        Ok(Arc::new(args.each::<_, Int32Array>(bit)?))
    });
    functions.strict("set_bit", &[Ty::Bytes, Ty::Big, Ty::Int], bytes, |args| {
        byte_strings(args, |row| {
            let mut value = value(args, row).to_vec();
            let at = place(args.big(1, row), value.len() * 8)?;
            let mask = 1 << (at % 8);
            match args.int(2, row) {
                0 => value[at / 8] &= !mask,
                1 => value[at / 8] |= mask,
                _ => return Err(invalid_parameter("new bit must be 0 or 1")),
            }
            Ok(value)
        })
    });
    functions.strict("bit_count", &[Ty::Bytes], big, |args| {
        let ones = |row| value(args, row).iter().map(|b| i64::from(b.count_ones())).sum();
        Ok(Arc::new(args.each::<_, Int64Array>(|row| Ok(Some(ones(row))))?))
    });
}

/// An index into so many bytes or bits.
fn place(index: i64, length: usize) -> SqlResult<usize> {
    usize::try_from(index).ok().filter(|at| *at < length).ok_or_else(|| {
        let last = length as i64 - 1;
        let message = format!("index {index} out of valid range, 0..{last}");
        SqlError::new(SqlState("2202E"), message)
    })
}

fn hashes(functions: &mut Functions) {
    functions.strict("sha224", &[Ty::Bytes], bytes, hashed::<Sha224>);
    functions.strict("sha256", &[Ty::Bytes], bytes, hashed::<Sha256>);
    functions.strict("sha384", &[Ty::Bytes], bytes, hashed::<Sha384>);
    functions.strict("sha512", &[Ty::Bytes], bytes, hashed::<Sha512>);
}

/// `digest` of the extension pgcrypto.
fn digests(functions: &mut Functions) {
    functions.strict("digest", &[Ty::Bytes, Ty::Text], bytes, |args| {
        byte_strings(args, |row| digest(value(args, row), args.text(1).value(row)))
    });
    functions.strict("digest", &[Ty::Text, Ty::Text], bytes, |args| {
        byte_strings(args, |row| {
            digest(args.text(0).value(row).as_bytes(), args.text(1).value(row))
        })
    });
}

/// Errors: 22023 for a hash that nobody knows.
fn digest(value: &[u8], algorithm: &str) -> SqlResult<Vec<u8>> {
    Ok(match algorithm.to_ascii_lowercase().as_str() {
        "md5" => Md5::digest(value).to_vec(),
        "sha224" => Sha224::digest(value).to_vec(),
        "sha256" => Sha256::digest(value).to_vec(),
        "sha384" => Sha384::digest(value).to_vec(),
        "sha512" => Sha512::digest(value).to_vec(),
        "sha1" => {
            return Err(SqlError::unsupported("digest by sha1")
                .with_hint("There are md5, sha224, sha256, sha384 and sha512."));
        }
        _ => {
            let message = format!("Cannot use \"{algorithm}\": No such hash algorithm");
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    })
}

fn hashed<H: Digest>(args: &Args<'_>) -> SqlResult<ArrayRef> {
    byte_strings(args, |row| Ok(H::digest(value(args, row)).to_vec()))
}

/// An encoding of texts that we convert.
#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Utf8,
    Latin1,
    /// No encoding: bytes are taken as they are.
    Ascii,
}

/// Encodings that PostgreSQL converts besides, as letters and digits only.
const OTHER_ENCODINGS: [&str; 54] = [
    "eucjp",
    "euccn",
    "euckr",
    "euctw",
    "eucjis2004",
    "muleinternal",
    "latin2",
    "latin3",
    "latin4",
    "latin5",
    "latin6",
    "latin7",
    "latin8",
    "latin9",
    "latin10",
    "iso88592",
    "iso88593",
    "iso88594",
    "iso88595",
    "iso88596",
    "iso88597",
    "iso88598",
    "iso88599",
    "iso885910",
    "iso885913",
    "iso885914",
    "iso885915",
    "iso885916",
    "win",
    "win866",
    "win874",
    "win949",
    "win950",
    "win936",
    "win932",
    "win1250",
    "win1251",
    "win1252",
    "win1253",
    "win1254",
    "win1255",
    "win1256",
    "win1257",
    "win1258",
    "windows1250",
    "windows1251",
    "windows1252",
    "koi8",
    "koi8r",
    "koi8u",
    "sjis",
    "big5",
    "gbk",
    "gb18030",
];

/// The encoding of this name; `end` says which of the two it is.
fn encoding(name: &str, end: &str) -> SqlResult<Encoding> {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let plain = letters.collect::<String>().to_ascii_lowercase();
    match plain.as_str() {
        "utf8" | "unicode" => Ok(Encoding::Utf8),
        "latin1" | "iso88591" => Ok(Encoding::Latin1),
        "sqlascii" => Ok(Encoding::Ascii),
        known if OTHER_ENCODINGS.contains(&known) => {
            Err(SqlError::unsupported(format!("the encoding {name}")))
        }
        _ => Err(invalid_parameter(format!("invalid {end} encoding name \"{name}\""))),
    }
}

fn decoded(bytes: &[u8], name: &str) -> SqlResult<String> {
    let encoding = encoding(name, "source")?;
    if encoding == Encoding::Latin1 {
        return match bytes.contains(&0) {
            true => Err(invalid_sequence("LATIN1", &[0])),
            false => Ok(bytes.iter().copied().map(char::from).collect()),
        };
    }
    // No text has a zero byte, whatever the encoding.
    let before_zero = bytes.split(|b| *b == 0).next().unwrap_or_default();
    match std::str::from_utf8(before_zero) {
        Ok(_) if before_zero.len() < bytes.len() => Err(invalid_sequence("UTF8", &[0])),
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let rest = &bytes[error.valid_up_to()..];
            let shown = promised_length(rest[0]).min(rest.len());
            Err(invalid_sequence("UTF8", &rest[..shown]))
        }
    }
}

/// How many bytes a character has, as its first one says.
fn promised_length(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

fn invalid_sequence(encoding: &str, sequence: &[u8]) -> SqlError {
    let shown = listed(sequence);
    let message = format!("invalid byte sequence for encoding \"{encoding}\": {shown}");
    SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
}

/// `0xe2 0x82`
fn listed(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("0x{b:02x}")).collect::<Vec<_>>().join(" ")
}

fn encoded(text: &str, name: &str) -> SqlResult<Vec<u8>> {
    match encoding(name, "destination")? {
        Encoding::Utf8 | Encoding::Ascii => Ok(text.as_bytes().to_vec()),
        Encoding::Latin1 => text.chars().map(latin1).collect(),
    }
}

fn latin1(letter: char) -> SqlResult<u8> {
    u8::try_from(letter).map_err(|_| {
        let sequence = listed(letter.to_string().as_bytes());
        let message = format!(
            "character with byte sequence {sequence} in encoding \"UTF8\" has no equivalent in \
             encoding \"LATIN1\""
        );
        SqlError::new(SqlState("22P05"), message)
    })
}
