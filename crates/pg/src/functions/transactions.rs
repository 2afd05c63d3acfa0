//! Numbers of transactions: there are none to keep versions of rows apart, so a statement's number
//! stands for them. What clients want of them is that they are there and grow.

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::view::View;

const BIGINT: LogicalType = LogicalType::Int64;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("txid_current", BIGINT, 0, 0, false, number),
    Definition("pg_current_xact_id", BIGINT, 0, 0, false, number),
    Definition("txid_current_if_assigned", BIGINT, 0, 0, false, none),
    Definition("pg_current_xact_id_if_assigned", BIGINT, 0, 0, false, none),
    // The catalog's rows have its version in the place of their transaction.
    Definition("catalog_version", LogicalType::Oid, 0, 0, false, version),
    Definition("transaction_age", LogicalType::Int32, 1, 1, true, age),
    // Nobody counts the scans of an index.
    Definition("pg_stat_get_numscans", BIGINT, 1, 1, true, none),
    // No table has partitions.
    Definition(
        "pg_partition_ancestors_array",
        LogicalType::Array(&LogicalType::Oid),
        1,
        1,
        true,
        |_, _| Ok(SystemValue::List(vec![])),
    ),
];

/// A transaction that only reads has none on a replica.
fn number(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    if view.settings().in_recovery() {
        let message = "cannot execute pg_current_xact_id() during recovery";
        return Err(SqlError::new(SqlState("25006"), message));
    }
    Ok((view.activities().query_count() as i64).into())
}

fn version(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok((view.checkpoint() as i64 & i64::from(u32::MAX)).into())
}

fn age(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let since = view.checkpoint() as i64 - arguments[0].int().unwrap_or_default();
    Ok(since.clamp(0, i64::from(i32::MAX)).into())
}

/// A statement that only reads has no number in PostgreSQL, and others have none here.
fn none(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(SystemValue::Null)
}
