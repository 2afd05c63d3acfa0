//! `EXCLUDE` of a window's frame, which the library's parser does not know.

use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use types::{SqlError, SqlResult};

use super::tokens::Tokens;

/// Leaves out `EXCLUDE NO OTHERS`, which is what a frame does without it.
///
/// # Errors
/// 0A000 for what excludes rows.
pub(super) fn nothing(tokens: &mut Tokens) -> SqlResult<()> {
    while let Some(at) = (1..tokens.len()).find(|&at| is_exclusion(tokens, at)) {
        let word = |behind: usize| tokens.get(at + behind).and_then(word);
        let [first, second] = [word(1), word(2)].map(Option::unwrap_or_default);
        if (first.as_str(), second.as_str()) != ("NO", "OTHERS") {
            let what = if first == "CURRENT" { "CURRENT ROW" } else { first.as_str() };
            return Err(SqlError::unsupported(format!("EXCLUDE {what} in a window's frame")));
        }
        tokens.drain(at..at + 3);
    }
    Ok(())
}

/// Whether the word is an `EXCLUDE` behind the bounds of a frame.
fn is_exclusion(tokens: &Tokens, at: usize) -> bool {
    let is = |at: usize, words: &[&str]| {
        tokens.get(at).and_then(word).is_some_and(|word| words.contains(&word.as_str()))
    };
    is(at, &["EXCLUDE"])
        && is(at - 1, &["ROW", "PRECEDING", "FOLLOWING"])
        && is(at + 1, &["CURRENT", "GROUP", "TIES", "NO"])
}

fn word(token: &TokenWithSpan) -> Option<String> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_uppercase()),
        _ => None,
    }
}
