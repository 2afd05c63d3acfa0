//! What a session tells others when its transaction commits, and what others tell it.

use sql::parse::NotificationStatement;
use types::SqlResult;

use super::state::Session;
use crate::notifications::Notification;
use crate::result::{StatementResult, tag};

impl Session {
    pub(super) fn notification(
        &mut self,
        statement: NotificationStatement,
    ) -> SqlResult<StatementResult> {
        let name = match &statement {
            NotificationStatement::Listen(_) => "LISTEN",
            NotificationStatement::Unlisten(_) => "UNLISTEN",
            NotificationStatement::Notify { .. } => "NOTIFY",
        };
        self.mailbox.note(statement).map(|()| tag(name))
    }

    /// Whether notifications may come, or have come.
    pub fn listens(&self) -> bool {
        self.mailbox.is_used()
    }

    /// Takes the notifications that have come, in their order.
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        self.mailbox.take()
    }

    /// Waits until a notification has come.
    pub async fn notified(&self) {
        self.mailbox.arrival().await;
    }
}
