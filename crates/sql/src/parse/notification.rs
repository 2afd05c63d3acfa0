//! `LISTEN`, `UNLISTEN` and `NOTIFY`.

use datafusion_sql::sqlparser::tokenizer::Token;
use types::SqlResult;

use super::tokens::Tokens;
use super::words::Words;

/// A statement about notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationStatement {
    /// `LISTEN channel`.
    Listen(String),
    /// `UNLISTEN channel`; `None` is all of them.
    Unlisten(Option<String>),
    /// `NOTIFY channel, 'payload'`.
    Notify {
        /// The channel.
        channel: String,
        /// Empty where the statement gives none.
        payload: String,
    },
}

/// The statement, if it is one of these.
pub(super) fn statement(text: &str, tokens: &Tokens) -> Option<SqlResult<NotificationStatement>> {
    let mut words = Words::new(text, tokens);
    match () {
        () if words.eat("listen") => Some(listen(words)),
        () if words.eat("unlisten") => Some(unlisten(words)),
        () if words.eat("notify") => Some(notify(words)),
        () => None,
    }
}

fn listen(mut words: Words<'_>) -> SqlResult<NotificationStatement> {
    let channel = words.name()?;
    words.end()?;
    Ok(NotificationStatement::Listen(channel))
}

fn unlisten(mut words: Words<'_>) -> SqlResult<NotificationStatement> {
    let channel = match words.eat_token(&Token::Mul) {
        true => None,
        false => Some(words.name()?),
    };
    words.end()?;
    Ok(NotificationStatement::Unlisten(channel))
}

fn notify(mut words: Words<'_>) -> SqlResult<NotificationStatement> {
    let channel = words.name()?;
    let payload = match words.comma() {
        true => words.text().ok_or_else(|| words.unexpected())?,
        false => String::new(),
    };
    words.end()?;
    Ok(NotificationStatement::Notify { channel, payload })
}
