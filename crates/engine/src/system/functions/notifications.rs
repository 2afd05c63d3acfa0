//! Notifications of the session's transaction.

use sql::SystemValue;
use sql::parse::NotificationStatement;
use types::{LogicalType, SqlResult};

use super::Definition;
use crate::system::View;

pub(super) const EFFECTS: &[Definition] =
    &[Definition("pg_notify", LogicalType::Text, 2, 2, false, notify)];

/// Nulls are empty texts, as in PostgreSQL.
fn notify(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let text = |i: usize| arguments[i].text().unwrap_or_default().to_owned();
    let statement = NotificationStatement::Notify { channel: text(0), payload: text(1) };
    view.mailbox.note(statement).map(|()| "".into())
}
