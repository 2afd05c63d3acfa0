//! `format(..)`: `%s`, `%I`, `%L` and `%%`, with positions and widths.

use types::text::format_value;
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::overload::{Args, invalid_parameter};
use crate::functions::scalar::padding::with_room;
use crate::functions::scalar::strings::quote_literal;
use crate::quote::quote_ident;

/// A place of the template at which a value stands.
struct Specifier {
    /// The argument, if it is named.
    argument: Option<usize>,
    is_left: bool,
    width: Width,
    kind: char,
}

/// How many letters a value takes at least.
enum Width {
    Of(usize),
    /// The argument that is meant: the next, or that of a number.
    Argument(Option<usize>),
}

/// The template, which is the first argument, with the others where they belong.
pub(super) fn format(args: &Args<'_>, row: usize) -> SqlResult<String> {
    let mut rest = args.text(0).value(row);
    let (mut out, mut next) = (String::new(), 1);
    while let Some((plain, behind)) = rest.split_once('%') {
        out.push_str(plain);
        if let Some(behind) = behind.strip_prefix('%') {
            out.push('%');
            rest = behind;
            continue;
        }
        let (specifier, behind) = specifier(behind)?;
        rest = behind;
        put(&mut out, args, row, &specifier, &mut next)?;
    }
    out.push_str(rest);
    Ok(out)
}

/// Appends the value of a place.
fn put(
    out: &mut String,
    args: &Args<'_>,
    row: usize,
    specifier: &Specifier,
    next: &mut usize,
) -> SqlResult<()> {
    let mut argument = |named: Option<usize>| {
        let at = named.unwrap_or(*next);
        *next = at + 1;
        let value = args.arrays.get(at);
        value.ok_or_else(|| invalid_parameter("too few arguments for format()"))
    };
    let (is_left, width) = match specifier.width {
        Width::Of(letters) => (specifier.is_left, letters),
        Width::Argument(named) => {
            let letters = letters_of(format_value(argument(named)?.as_ref(), row))?;
            (specifier.is_left || letters < 0, letters.unsigned_abs() as usize)
        }
    };
    let value = format_value(argument(specifier.argument)?.as_ref(), row);
    let piece = match (specifier.kind, value) {
        ('L', None) => "NULL".to_owned(),
        ('L', Some(value)) => quote_literal(&value),
        ('I', Some(value)) => quote_ident(&value),
        ('I', None) => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(SqlError::new(SqlState("22004"), message));
        }
        (_, value) => value.unwrap_or_default(),
    };
    let blanks = width.saturating_sub(piece.chars().count());
    with_room(out.len() + piece.len() + blanks)?;
    let blanks = std::iter::repeat_n(' ', blanks);
    match is_left {
        true => {
            out.push_str(&piece);
            out.extend(blanks);
        }
        false => {
            out.extend(blanks);
            out.push_str(&piece);
        }
    }
    Ok(())
}

/// A width that an argument says.
fn letters_of(given: Option<String>) -> SqlResult<i32> {
    let Some(text) = given else { return Ok(0) };
    text.trim().parse().map_err(|_| {
        let message = format!("invalid input syntax for type integer: \"{text}\"");
        SqlError::new(SqlState("22P02"), message)
    })
}

/// The specifier behind a `%`, and the text behind that.
fn specifier(text: &str) -> SqlResult<(Specifier, &str)> {
    let (mut argument, mut width, mut is_left) = (None, None, false);
    let (first, mut rest) = number(text)?;
    match (first, rest.strip_prefix('$')) {
        (Some(0), Some(_)) => {
            return Err(invalid_parameter(
                "format specifies argument 0, but arguments are numbered from 1",
            ));
        }
        (Some(at), Some(behind)) => (argument, rest) = (Some(at), behind),
        (letters, _) => width = letters.map(Width::Of),
    }
    if width.is_none() {
        let flags = rest.trim_start_matches('-');
        (is_left, rest) = (flags.len() < rest.len(), flags);
        if let Some(behind) = rest.strip_prefix('*') {
            let (named, after) = number(behind)?;
            rest = match (named, after.strip_prefix('$')) {
                (Some(0), Some(_)) => {
                    return Err(invalid_parameter(
                        "format specifies argument 0, but arguments are numbered from 1",
                    ));
                }
                (Some(_), Some(after)) => after,
                (Some(_), None) => {
                    return Err(invalid_parameter(
                        "width argument position must be ended by \"$\"",
                    ));
                }
                (None, _) => after,
            };
            width = Some(Width::Argument(named));
        } else {
            let (letters, behind) = number(rest)?;
            (width, rest) = (letters.map(Width::Of), behind);
        }
    }
    let mut letters = rest.chars();
    match letters.next() {
        Some(kind @ ('s' | 'I' | 'L')) => {
            let width = width.unwrap_or(Width::Of(0));
            Ok((Specifier { argument, is_left, width, kind }, letters.as_str()))
        }
        Some(other) => {
            let message = format!("unrecognized format() type specifier \"{other}\"");
            Err(invalid_parameter(message).with_hint("For a single \"%\" use \"%%\"."))
        }
        None => Err(invalid_parameter("unterminated format() type specifier")
            .with_hint("For a single \"%\" use \"%%\".")),
    }
}

/// The number at the beginning of a text, if there is one, and what stands behind it.
fn number(text: &str) -> SqlResult<(Option<usize>, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    match (number, number.parse::<i32>()) {
        ("", _) => Ok((None, rest)),
        (_, Ok(number)) => Ok((Some(number as usize), rest)),
        _ => {
            let message = "number is out of range";
            Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
    }
}
