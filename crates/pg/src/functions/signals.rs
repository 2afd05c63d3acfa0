//! Ending what other sessions do, and the sessions themselves.

use engine::Activity;
use engine::system::{SIGNAL_BACKEND, Signals};
use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::view::View;

const BOOL: LogicalType = LogicalType::Bool;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("pg_cancel_backend", BOOL, 1, 1, true, |view, arguments| {
        signal(view, arguments, &CANCEL, Signals::cancel)
    }),
    Definition("pg_terminate_backend", BOOL, 1, 2, true, |view, arguments| {
        if arguments.get(1).and_then(SystemValue::int).is_some_and(|ms| ms != 0) {
            return Err(SqlError::unsupported("pg_terminate_backend with a timeout"));
        }
        signal(view, arguments, &TERMINATE, Signals::terminate)
    }),
    Definition(
        "pg_blocking_pids",
        LogicalType::Array(&LogicalType::Int32),
        1,
        1,
        true,
        blocking_pids,
    ),
];

/// The sessions that keep a session from the lock that it waits for.
fn blocking_pids(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let sessions = view.activities().sessions();
    let pid = |activity: &Activity| Some(i64::from(activity.signals()?.pid));
    let waiting = sessions.iter().find(|activity| pid(activity) == arguments[0].int());
    let blocking = waiting.map(|waiting| view.blocking(waiting.session_id));
    let blocking = blocking.unwrap_or_default();
    let of_blocking = sessions.iter().filter(|activity| blocking.contains(&activity.session_id));
    let pids = of_blocking.filter_map(|activity| pid(activity)).map(SystemValue::Int);
    Ok(SystemValue::List(pids.collect()))
}

/// How a refusal says what was wanted.
struct Words {
    superuser: &'static str,
    of_role: &'static str,
}

const CANCEL: Words =
    Words { superuser: "cancel superuser query", of_role: "query is being canceled" };
const TERMINATE: Words =
    Words { superuser: "terminate superuser process", of_role: "process is being terminated" };

/// Whether there is such a session, and it can be told.
fn signal(
    view: &View,
    arguments: &[SystemValue],
    words: &Words,
    send: fn(&Signals) -> bool,
) -> SqlResult<SystemValue> {
    let sessions = view.activities().sessions();
    let mut known = sessions.iter().filter_map(|activity| activity.signals());
    let Some(signals) = known.find(|s| Some(i64::from(s.pid)) == arguments[0].int()) else {
        return Ok(false.into());
    };
    let access = view.access();
    let denied = |message| Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    if access.is_superuser(signals.role) && !access.is_superuser(view.role()) {
        return denied(format!("must be a superuser to {}", words.superuser));
    }
    let may = |role| access.has_privileges_of(view.role(), role);
    if !may(signals.role) && !may(SIGNAL_BACKEND) {
        let what = words.of_role;
        return denied(format!(
            "must be a member of the role whose {what} or member of pg_signal_backend"
        ));
    }
    Ok(send(&signals).into())
}
