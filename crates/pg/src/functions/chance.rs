//! Chance and time: random numbers, UUIDs, and waiting.

use std::time::Duration;

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::view::View;

const TEXT: LogicalType = LogicalType::Text;
const DOUBLE: LogicalType = LogicalType::Float64;
const UUID: LogicalType = LogicalType::Uuid;

/// Functions that give something else each time.
pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("random", DOUBLE, 0, 0, false, random),
    Definition("setseed", TEXT, 1, 1, true, setseed),
    Definition("gen_random_uuid", UUID, 0, 0, false, gen_random_uuid),
    // That of the extension uuid-ossp.
    Definition("uuid_generate_v4", UUID, 0, 0, false, gen_random_uuid),
    Definition("pg_sleep", TEXT, 1, 1, true, pg_sleep),
];

fn random(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(SystemValue::Float(view.random()))
}

/// A number, or the number that a text spells.
fn number(value: &SystemValue) -> SqlResult<f64> {
    match value {
        SystemValue::Float(number) => Ok(*number),
        SystemValue::Int(number) => Ok(*number as f64),
        SystemValue::Text(text) => text.trim().parse().map_err(|_| {
            let message = format!("invalid input syntax for type double precision: \"{text}\"");
            SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        }),
        _ => Err(SqlError::new(SqlState::DATATYPE_MISMATCH, "a number is expected")),
    }
}

fn setseed(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let seed = number(&arguments[0])?;
    if !(-1.0..=1.0).contains(&seed) {
        let message = format!("setseed parameter {seed} is out of allowed range [-1,1]");
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let seed = (((1u64 << 52) - 1) as f64 * seed) as i64;
    view.seed(seed as u64);
    Ok("".into())
}

/// Version 4 (RFC 9562), from the operating system's source.
fn gen_random_uuid(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let mut bytes: [u8; 16] = runtime::entropy();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(SystemValue::Bytes(bytes.to_vec()))
}

/// Notes how long to wait: the query waits before its rows go on, so that no worker stands still.
fn pg_sleep(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let seconds = number(&arguments[0])?;
    // What is too long for a clock is cancelled before it ends.
    let time =
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::from_secs(1 << 40));
    view.sleep(time);
    Ok("".into())
}
