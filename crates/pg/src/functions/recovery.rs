//! Databases that follow another one: how far they are, and how they become one of their own.

use engine::LogPosition;
use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::view::View;

const TEXT: LogicalType = LogicalType::Text;
const BOOL: LogicalType = LogicalType::Bool;
const BIGINT: LogicalType = LogicalType::Int64;

/// Functions that change the server.
pub(super) const EFFECTS: &[Definition] = &[Definition("pg_promote", BOOL, 0, 2, true, promote)];

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("pg_is_in_recovery", BOOL, 0, 0, false, is_in_recovery),
    Definition("pg_is_wal_replay_paused", BOOL, 0, 0, false, is_paused),
    Definition("pg_current_wal_lsn", TEXT, 0, 0, false, current),
    Definition("pg_current_wal_flush_lsn", TEXT, 0, 0, false, current),
    Definition("pg_current_wal_insert_lsn", TEXT, 0, 0, false, current),
    Definition("pg_last_wal_receive_lsn", TEXT, 0, 0, false, |view, _| {
        Ok(view.replica().map(|replica| shown(replica.received)).into())
    }),
    Definition("pg_last_wal_replay_lsn", TEXT, 0, 0, false, |view, _| {
        Ok(view.replica().map(|replica| shown(replica.replayed)).into())
    }),
    Definition(
        "pg_last_xact_replay_timestamp",
        LogicalType::TimestampTz,
        0,
        0,
        false,
        |view, _| Ok(view.replica().and_then(|replica| replica.replayed_us).into()),
    ),
    Definition("pg_wal_lsn_diff", BIGINT, 2, 2, true, difference),
];

/// A place in the log as PostgreSQL shows it: the checkpoint, then the bytes behind it.
pub(crate) fn shown(position: LogPosition) -> String {
    format!("{:X}/{:X}", position.checkpoint, position.bytes)
}

fn is_in_recovery(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(view.settings().in_recovery().into())
}

/// 55000 while the database does not follow another one.
fn check_in_recovery(view: &View) -> SqlResult<()> {
    if view.settings().in_recovery() {
        return Ok(());
    }
    Err(SqlError::new(SqlState("55000"), "recovery is not in progress")
        .with_hint("Recovery control functions can only be executed during recovery."))
}

fn is_paused(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    check_in_recovery(view).map(|()| false.into())
}

fn current(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    if view.settings().in_recovery() {
        return Err(SqlError::new(SqlState("55000"), "recovery is in progress")
            .with_hint("WAL control functions cannot be executed during recovery."));
    }
    Ok(shown(view.log_position()).into())
}

/// Statements that begin from now on wait until it is done, or has failed.
fn promote(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    check_in_recovery(view)?;
    if !view.access().is_superuser(view.role()) {
        let message = "permission denied for function pg_promote";
        return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(view.promote().into())
}

/// Bytes from the second place to the first one. What a checkpoint takes is not counted.
fn difference(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let place = |at: usize| {
        let text = arguments[at].text().unwrap_or_default();
        let parts = text.split_once('/').and_then(|(checkpoint, bytes)| {
            let number = |digits| u32::from_str_radix(digits, 16).ok();
            Some((i64::from(number(checkpoint)?) << 32) + i64::from(number(bytes)?))
        });
        parts.ok_or_else(|| {
            let message = format!("invalid input syntax for type pg_lsn: \"{text}\"");
            SqlError::new(SqlState("22P02"), message)
        })
    };
    Ok(place(0)?.wrapping_sub(place(1)?).into())
}
