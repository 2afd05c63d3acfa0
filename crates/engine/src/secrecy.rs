//! Passwords in the text of statements: left out before the text is kept for others to read.

use std::sync::Arc;

/// What stands in the place of what was left out.
const HIDDEN: &str = "'********'";

/// The text up to the first password that it sets, which `PASSWORD` and a quote begin.
pub(crate) fn without_passwords(text: Arc<str>) -> Arc<str> {
    match first_password(&text) {
        Some(at) => format!("{}{HIDDEN}", &text[..at]).into(),
        None => text,
    }
}

/// Where the first text behind the word `PASSWORD` begins. Lower case keeps places: only ASCII
/// letters change.
fn first_password(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let behind = lower.match_indices("password").map(|(at, word)| at + word.len());
    behind.filter(|at| is_literal(lower[*at..].trim_start())).min()
}

/// Whether a string begins here, in any of the forms that a string may have, or a comment that
/// might stand before one.
fn is_literal(text: &str) -> bool {
    ["'", "e'", "u&'", "$", "--", "/*"].iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests;
