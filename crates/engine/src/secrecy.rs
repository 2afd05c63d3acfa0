//! Passwords and keys in the text of statements: left out before the text is kept for others to read.

use std::sync::Arc;

/// What stands in the place of what was left out.
const HIDDEN: &str = "'********'";

/// Words that stand before what is nobody's business.
const WORDS: [&str; 6] =
    ["password", "secret", "key_id", "session_token", "encryption_key", "credential"];

/// The text up to the first password or key in it, which one of these words and a quote begin; nothing
/// is left of what is in the parentheses of `CREATE SECRET`.
pub(crate) fn without_passwords(text: Arc<str>) -> Arc<str> {
    match first_secret(&text) {
        Some(at) => format!("{}{HIDDEN}", &text[..at]).into(),
        None => text,
    }
}

/// The same of a statement that somebody else keeps, as shells do.
pub fn without_secrets(text: &str) -> String {
    without_passwords(text.into()).to_string()
}

/// Where the first thing begins that is to be hidden. Lower case keeps places: only ASCII letters
/// change.
fn first_secret(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let behind = WORDS.iter().flat_map(|word| lower.match_indices(word));
    let behind = behind.map(|(at, word)| (at, at + word.len()));
    let hidden = behind.filter(|(at, end)| {
        let rest = lower[*end..].trim_start_matches([' ', '\t', '\n', '\r', '=', ':']);
        is_literal(rest) || (lower[*at..*end] == *"secret" && is_created(&lower[..*at]))
    });
    hidden.map(|(_, end)| end).min()
}

/// Whether a string begins here, in any of the forms that a string may have, or a comment that
/// might stand before one.
fn is_literal(text: &str) -> bool {
    ["'", "e'", "u&'", "$", "--", "/*"].iter().any(|start| text.starts_with(start))
}

/// Whether what follows is to be created.
fn is_created(before: &str) -> bool {
    let before = before.trim_end();
    ["create", "replace", "*/"].iter().any(|end| before.ends_with(end))
}

#[cfg(test)]
mod tests;
