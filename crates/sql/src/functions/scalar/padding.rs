//! Functions that make texts longer, with PostgreSQL's limit on how long; and single characters.

use plan::limits;
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns::text;

/// Longest text that a function makes, in bytes: what PostgreSQL allocates at most at once.
const TEXT_BYTES_MAX: usize = 0x3fff_ffff;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("repeat", &[Ty::Text, Ty::Int], text, |args| {
        args.texts(|row| {
            let count = usize::try_from(args.int(1, row)).unwrap_or(0);
            let value = args.text(0).value(row);
            with_room(value.len().saturating_mul(count))?;
            Ok(Some(value.repeat(count)))
        })
    });
    functions.strict("lpad", &[Ty::Text, Ty::Int], text, |a| a.texts(|row| pad(a, row, true)));
    functions.strict("rpad", &[Ty::Text, Ty::Int], text, |a| a.texts(|row| pad(a, row, false)));
    functions.strict("lpad", &[Ty::Text, Ty::Int, Ty::Text], text, |args| {
        args.texts(|row| pad(args, row, true))
    });
    functions.strict("rpad", &[Ty::Text, Ty::Int, Ty::Text], text, |args| {
        args.texts(|row| pad(args, row, false))
    });
    functions.strict("chr", &[Ty::Int], text, |args| {
        args.texts(|row| character(args.int(0, row)).map(Some))
    });
}

/// The text with the fill on one side, or its first characters where it is longer.
fn pad(args: &Args<'_>, row: usize, left: bool) -> SqlResult<Option<String>> {
    let value = args.text(0).value(row);
    let fill = if args.arrays.len() > 2 { args.text(2).value(row) } else { " " };
    let wanted = usize::try_from(args.int(1, row)).unwrap_or(0);
    let length = value.chars().count();
    if length >= wanted || fill.is_empty() {
        return Ok(Some(value.chars().take(wanted).collect()));
    }
    // A character takes four bytes at most.
    if wanted > TEXT_BYTES_MAX / 4 {
        return Err(too_long());
    }
    with_room(value.len() + (wanted - length) * fill.len().min(4))?;
    let added: String = fill.chars().cycle().take(wanted - length).collect();
    Ok(Some(if left { added + value } else { value.to_owned() + &added }))
}

/// Says whether a text of so many bytes may be made.
///
/// # Errors
/// 54000 beyond what a text may have, 53200.
pub(crate) fn with_room(bytes: usize) -> SqlResult<()> {
    match bytes <= TEXT_BYTES_MAX {
        true => limits::room(bytes),
        false => Err(too_long()),
    }
}

fn too_long() -> SqlError {
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

fn character(code: i32) -> SqlResult<String> {
    if code == 0 {
        let message = "null character not permitted";
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let Ok(code) = u32::try_from(code) else {
        return Err(invalid_parameter("character number must be positive"));
    };
    char::from_u32(code).map(String::from).ok_or_else(|| {
        let message = format!("requested character too large for encoding: {code}");
        SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
    })
}
