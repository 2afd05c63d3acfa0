//! Advisory locks. A function that has to wait only says so; who passes the query's rows on waits.

use engine::system::{AdvisoryKey as Key, AdvisoryWish as Wish};
use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::view::View;

const VOID: LogicalType = LogicalType::Text;
const BOOL: LogicalType = LogicalType::Bool;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("pg_advisory_lock", VOID, 1, 2, true, |v, a| wait(v, wish(a, false, false)?)),
    Definition("pg_advisory_lock_shared", VOID, 1, 2, true, |v, a| wait(v, wish(a, true, false)?)),
    Definition("pg_advisory_xact_lock", VOID, 1, 2, true, |v, a| wait(v, wish(a, false, true)?)),
    Definition("pg_advisory_xact_lock_shared", VOID, 1, 2, true, |v, a| {
        wait(v, wish(a, true, true)?)
    }),
    Definition("pg_try_advisory_lock", BOOL, 1, 2, true, |v, a| attempt(v, wish(a, false, false)?)),
    Definition("pg_try_advisory_lock_shared", BOOL, 1, 2, true, |v, a| {
        attempt(v, wish(a, true, false)?)
    }),
    Definition("pg_try_advisory_xact_lock", BOOL, 1, 2, true, |v, a| {
        attempt(v, wish(a, false, true)?)
    }),
    Definition("pg_try_advisory_xact_lock_shared", BOOL, 1, 2, true, |v, a| {
        attempt(v, wish(a, true, true)?)
    }),
    Definition("pg_advisory_unlock", BOOL, 1, 2, true, |v, a| release(v, a, false)),
    Definition("pg_advisory_unlock_shared", BOOL, 1, 2, true, |v, a| release(v, a, true)),
    Definition("pg_advisory_unlock_all", VOID, 0, 0, false, |view, _| {
        view.unlock_all();
        Ok("".into())
    }),
];

fn key(arguments: &[SystemValue]) -> SqlResult<Key> {
    let number = |i: usize| arguments.get(i).and_then(SystemValue::int);
    let (Some(first), Some(second)) = (number(0), number(1)) else {
        return Ok(Key::One(number(0).unwrap_or_default()));
    };
    match (i32::try_from(first), i32::try_from(second)) {
        (Ok(first), Ok(second)) => Ok(Key::Two(first, second)),
        // PostgreSQL has no such function for larger types.
        _ => {
            let message = "keys of two numbers are integers: they have 32 bits each";
            Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message))
        }
    }
}

fn wish(arguments: &[SystemValue], shared: bool, in_transaction: bool) -> SqlResult<Wish> {
    Ok(Wish { key: key(arguments)?, shared, in_transaction })
}

fn wait(view: &View, wish: Wish) -> SqlResult<SystemValue> {
    view.wait_for(wish);
    Ok("".into())
}

fn attempt(view: &View, wish: Wish) -> SqlResult<SystemValue> {
    Ok(view.try_lock(wish).into())
}

fn release(view: &View, arguments: &[SystemValue], shared: bool) -> SqlResult<SystemValue> {
    Ok(view.unlock(key(arguments)?, shared).into())
}
