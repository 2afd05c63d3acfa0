//! Functions of text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, Int32Array};
use arrow_schema::DataType;
use md5::{Digest, Md5};
use types::text::format_value;
use types::{LogicalType, SqlError, SqlResult};

use crate::functions::scalar::encoding::{decode, encode, hex};
use crate::functions::scalar::format;
use crate::functions::scalar::overload::{Args, Functions, Overload, Ty, invalid_parameter};
use crate::functions::scalar::padding::with_room;
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
    functions.strict("replace", &[Ty::Text, Ty::Text, Ty::Text], text, |args| {
        args.texts(|row| {
            let [value, from, to] = [0, 1, 2].map(|i| args.text(i).value(row));
            replaced(value, from, to).map(Some)
        })
    });
    functions.add(
        "format",
        Overload {
            params: &[Ty::Text, Ty::Any],
            variadic: true,
            result: text,
            nulls: true,
            body: |args| {
                let values = |row: usize| match args.arrays[0].is_null(row) {
                    true => Ok(None),
                    false => format::format(args, row).map(Some),
                };
                args.texts_or_null(values)
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

/// The text with `to` wherever `from` stands; nothing stands nowhere.
fn replaced(text: &str, from: &str, to: &str) -> SqlResult<String> {
    if from.is_empty() {
        return Ok(text.to_owned());
    }
    let count = if to.len() > from.len() { text.matches(from).count() } else { 0 };
    with_room(
        text.len().saturating_add((to.len() - from.len().min(to.len())).saturating_mul(count)),
    )?;
    Ok(text.replace(from, to))
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
