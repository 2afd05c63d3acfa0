//! Notifications of the session's transaction.

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::view::View;

pub(super) const EFFECTS: &[Definition] =
    &[Definition("pg_notify", LogicalType::Text, 2, 2, false, notify)];

/// Nulls are empty texts, as in PostgreSQL.
fn notify(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    if view.settings().in_recovery() {
        let message = "cannot execute NOTIFY during recovery";
        return Err(SqlError::new(SqlState("25006"), message));
    }
    let text = |i: usize| arguments[i].text().unwrap_or_default().to_owned();
    view.notify(text(0), text(1)).map(|()| "".into())
}
