//! Functions of text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, Int32Array};
use arrow_schema::DataType;
use md5::{Digest, Md5};
use types::text::format_value;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::functions::scalar::encoding::{decode, encode, hex};
use crate::functions::scalar::overload::{Args, Functions, Overload, Ty, invalid_parameter};
use crate::functions::scalar::returns::{bytes, int, text};
use crate::quote::quote_ident;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("md5", &[Ty::Text], text, |args| {
        args.texts(|row| Ok(Some(hex(&Md5::digest(args.text(0).value(row))))))
    });
    functions.strict("md5", &[Ty::Bytes], text, |args| {
        let values = args.arrays[0].as_binary_view();
        args.texts(|row| Ok(Some(hex(&Md5::digest(values.value(row))))))
    });
    functions.strict("quote_ident", &[Ty::Text], text, |args| {
        args.texts(|row| Ok(Some(quote_ident(args.text(0).value(row)))))
    });
    functions.add(
        "format",
        Overload {
            params: &[Ty::Text, Ty::Any],
            variadic: true,
            result: text,
            nulls: true,
            body: |args| {
                let values = (0..args.rows).map(|row| match args.arrays[0].is_null(row) {
                    true => Ok(None),
                    false => format(args, row).map(Some),
                });
                Ok(Arc::new(values.collect::<SqlResult<arrow_array::StringViewArray>>()?))
            },
        },
    );
    bytes_and_lengths(functions);
    uuids(functions);
}

/// Encodings, lengths and parts.
fn bytes_and_lengths(functions: &mut Functions) {
    functions.strict("encode", &[Ty::Bytes, Ty::Text], text, |args| {
        let values = args.arrays[0].as_binary_view();
        args.texts(|row| encode(values.value(row), args.text(1).value(row)).map(Some))
    });
    functions.strict("decode", &[Ty::Text, Ty::Text], bytes, |args| {
        let decoded = args.each::<_, BinaryViewArray>(|row| {
            decode(args.text(0).value(row), args.text(1).value(row)).map(Some)
        });
        Ok(Arc::new(decoded?))
    });
    for name in ["length", "octet_length"] {
        functions.strict(name, &[Ty::Bytes], int, |args| {
            let values = args.arrays[0].as_binary_view();
            let length = |row: usize| Ok(Some(values.value(row).len() as i32));
            Ok(Arc::new(args.each::<_, Int32Array>(length)?))
        });
    }
    functions.strict("length", &[Ty::Text], int, characters);
    functions.strict("octet_length", &[Ty::Text], int, |args| {
        let length = |row: usize| Ok(Some(args.text(0).value(row).len() as i32));
        Ok(Arc::new(args.each::<_, Int32Array>(length)?))
    });
    functions.strict("to_hex", &[Ty::Big], text, |args| {
        args.texts(|row| Ok(Some(format!("{:x}", args.big(0, row)))))
    });
    functions.strict("to_hex", &[Ty::Int], text, |args| {
        args.texts(|row| Ok(Some(format!("{:x}", args.int(0, row)))))
    });
    functions.strict("split_part", &[Ty::Text, Ty::Text, Ty::Int], text, |args| {
        args.texts(|row| {
            split_part(args.text(0).value(row), args.text(1).value(row), args.int(2, row)).map(Some)
        })
    });
}

fn characters(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let length = |row: usize| Ok(Some(args.text(0).value(row).chars().count() as i32));
    Ok(Arc::new(args.each::<_, Int32Array>(length)?))
}

fn split_part(text: &str, delimiter: &str, position: i32) -> SqlResult<String> {
    if position == 0 {
        return Err(invalid_parameter("field position must not be zero"));
    }
    let parts: Vec<&str> =
        if delimiter.is_empty() { vec![text] } else { text.split(delimiter).collect() };
    let at = match position > 0 {
        true => Some(position as usize - 1),
        false => parts.len().checked_sub(position.unsigned_abs() as usize),
    };
    Ok(at.and_then(|i| parts.get(i)).copied().unwrap_or_default().to_owned())
}

pub(crate) fn quote_literal(text: &str) -> String {
    let quoted = format!("'{}'", text.replace('\'', "''").replace('\\', "\\\\"));
    if text.contains('\\') { format!("E{quoted}") } else { quoted }
}

/// `format(..)`: `%s`, `%I`, `%L` and `%%`, with positions and widths.
fn format(args: &Args<'_>, row: usize) -> SqlResult<String> {
    let template: Vec<char> = args.text(0).value(row).chars().collect();
    let (mut out, mut at, mut next) = (String::new(), 0, 1);
    while at < template.len() {
        if template[at] != '%' {
            out.push(template[at]);
            at += 1;
            continue;
        }
        at += 1;
        let number = |at: &mut usize| -> Option<usize> {
            let start = *at;
            while template.get(*at).is_some_and(char::is_ascii_digit) {
                *at += 1;
            }
            template[start..*at].iter().collect::<String>().parse().ok()
        };
        let mut count = number(&mut at);
        if template.get(at) == Some(&'$') && count.is_some() {
            next = count.take().unwrap_or(1);
            at += 1;
        }
        let left = template.get(at) == Some(&'-');
        at += usize::from(left);
        let width = count.or_else(|| number(&mut at)).unwrap_or(0);
        let kind = template.get(at).copied();
        at += 1;
        if kind == Some('%') {
            out.push('%');
            continue;
        }
        let Some(value) = args.arrays.get(next) else {
            return Err(invalid_parameter("too few arguments for format()"));
        };
        next += 1;
        let value = format_value(value.as_ref(), row);
        let piece = match (kind, value) {
            (Some('s'), value) => value.unwrap_or_default(),
            (Some('L'), None) => "NULL".to_owned(),
            (Some('L'), Some(value)) => quote_literal(&value),
            (Some('I'), Some(value)) => quote_ident(&value),
            (Some('I'), None) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(SqlError::new(SqlState("22004"), message));
            }
            (None, _) => return Err(invalid_parameter("unterminated format() type specifier")),
            (Some(c), _) => {
                let message = format!("unrecognized format() type specifier \"{c}\"");
                return Err(invalid_parameter(message));
            }
        };
        match left {
            true => out.push_str(&format!("{piece:<width$}")),
            false => out.push_str(&format!("{piece:>width$}")),
        }
    }
    Ok(out)
}

/// The casts between text and uuid, and arrays of it; and `pg_typeof`, which becomes its answer before it would run.
fn uuids(functions: &mut Functions) {
    const UUID: DataType = DataType::FixedSizeBinary(16);
    functions.strict(
        "uuid_in",
        &[Ty::Text],
        |_, _| UUID,
        |args| {
            crate::cast::text::cast_text(&args.arrays[0], &UUID).map_err(crate::error::from_library)
        },
    );
    functions.strict(
        "uuid_array_in",
        &[Ty::Text],
        |_, _| LogicalType::Uuid.array_of().arrow(),
        |args| {
            let arrays = LogicalType::Uuid.array_of().arrow();
            crate::cast::text::cast_text(&args.arrays[0], &arrays)
                .map_err(crate::error::from_library)
        },
    );
    functions.strict("uuid_out", &[Ty::Any], text, |args| {
        args.texts(|row| Ok(format_value(&args.arrays[0], row)))
    });
    functions.strict("pg_typeof", &[Ty::Any], text, |_| {
        Err(SqlError::internal("the type of a value is told when it is bound"))
    });
}
