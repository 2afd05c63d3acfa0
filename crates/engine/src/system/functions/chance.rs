//! Chance and time: random numbers, UUIDs, and waiting.
//!
//! Random numbers are those of PostgreSQL 15 (xoroshiro128**), so that a seed gives the same ones.

use std::time::Duration;

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::Definition;
use crate::system::View;

const TEXT: LogicalType = LogicalType::Text;
const DOUBLE: LogicalType = LogicalType::Float64;
const UUID: LogicalType = LogicalType::Uuid;

/// Functions that give something else each time.
pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("random", DOUBLE, 0, 0, false, random),
    Definition("setseed", TEXT, 1, 1, true, setseed),
    Definition("gen_random_uuid", UUID, 0, 0, false, gen_random_uuid),
    Definition("pg_sleep", TEXT, 1, 1, true, pg_sleep),
];

/// The generator of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator {
    s0: u64,
    s1: u64,
}

impl Generator {
    /// One that nobody can foresee.
    fn fresh() -> Generator {
        Generator::seeded(u64::from_ne_bytes(runtime::entropy()))
    }

    fn seeded(mut seed: u64) -> Generator {
        let (s0, s1) = (split_mix(&mut seed), split_mix(&mut seed));
        Generator { s0, s1 }
    }

    fn next(&mut self) -> u64 {
        let mixed = self.s1 ^ self.s0;
        let value = self.s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.s0 = self.s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        value
    }

    /// From 0 to 1 without 1, with 52 bits.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 12) as f64 / (1u64 << 52) as f64
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = *state;
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

fn random(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let mut generator = view.chance.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(SystemValue::Float(generator.get_or_insert_with(Generator::fresh).fraction()))
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
    let mut generator = view.chance.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    *generator = Some(Generator::seeded(seed as u64));
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
    view.sleep.owe(time);
    Ok("".into())
}
