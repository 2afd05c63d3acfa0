//! Answers of a test's own, as those of a catalog, which looks at queries and headers.

use std::collections::BTreeMap;

use super::{Answer, Asked, Server};

/// What is asked.
pub struct Question<'a> {
    pub path: &'a str,
    pub query: &'a BTreeMap<String, String>,
    pub headers: &'a BTreeMap<String, String>,
}

/// Status and body; `None` leaves the answer to the store.
pub type Replies = Box<dyn FnMut(&Question<'_>) -> Option<(u16, String)>>;

impl Server {
    pub(super) fn answer(&self, asked: &Asked) -> Answer {
        let Asked { path, query, headers, .. } = asked;
        let mut replies = self.replies.borrow_mut();
        let reply = replies.as_mut().and_then(|reply| reply(&Question { path, query, headers }));
        match reply {
            Some((status, body)) => Answer::with(status, body.into_bytes()),
            None => self.state.borrow_mut().answer(asked),
        }
    }
}
