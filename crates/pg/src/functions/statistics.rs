//! What is counted of statements, forgotten.

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::view::View;

const RESET: &str = "pg_stat_statements_reset";

pub(super) const FUNCTIONS: &[Definition] =
    &[Definition(RESET, LogicalType::Text, 0, 3, true, reset)];

/// By role, database and shape; 0 means all.
fn reset(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    if !view.access().is_superuser(view.role()) {
        let message = format!("permission denied for function {RESET}");
        return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    let given = |i: usize| arguments.get(i).and_then(SystemValue::int).filter(|id| *id != 0);
    let roles = &view.access().roles;
    let user = given(0).map(|id| {
        let role = u32::try_from(id).ok().and_then(|id| roles.get(&id));
        // Nothing was counted of a role that is none.
        role.map_or("", |role| role.name.as_str())
    });
    view.activities().statistics.reset(user, given(2));
    Ok("".into())
}
