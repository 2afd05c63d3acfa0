//! Numbers of transactions: there are none to keep versions of rows apart, so a statement's number
//! stands for them. What clients want of them is that they are there and grow.

use sql::SystemValue;
use types::{LogicalType, SqlResult};

use super::Definition;
use crate::system::View;

const BIGINT: LogicalType = LogicalType::Int64;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("txid_current", BIGINT, 0, 0, false, number),
    Definition("pg_current_xact_id", BIGINT, 0, 0, false, number),
    Definition("txid_current_if_assigned", BIGINT, 0, 0, false, none),
    Definition("pg_current_xact_id_if_assigned", BIGINT, 0, 0, false, none),
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

fn number(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok((view.monitor.activities.query_count() as i64).into())
}

/// A statement that only reads has no number in PostgreSQL, and others have none here.
fn none(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(SystemValue::Null)
}
