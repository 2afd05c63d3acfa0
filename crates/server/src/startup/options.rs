//! The parameter `options` of a start-up message: settings in the form of flags, as `PGOPTIONS` has
//! them.

use types::{SqlError, SqlResult, SqlState};

/// Names and values of `-c name=value` and `--name=value`.
///
/// # Errors
/// 42601 for anything else.
pub(crate) fn settings(options: &str) -> SqlResult<Vec<(String, String)>> {
    let words = words(options);
    let (mut settings, mut words) = (vec![], words.into_iter());
    while let Some(word) = words.next() {
        let given = match word.strip_prefix("--") {
            Some(rest) => Some(rest.to_owned()),
            None => match word.strip_prefix("-c") {
                Some("") => words.next(),
                rest => rest.map(str::to_owned),
            },
        };
        let pair = given.as_deref().and_then(|given| given.split_once('='));
        let (name, value) = pair.ok_or_else(|| {
            let message = format!("invalid command-line argument for server process: {word}");
            SqlError::new(SqlState::SYNTAX_ERROR, message)
                .with_hint("Settings are given as -c name=value.")
        })?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// The words between blanks; a backslash makes the next character one of the word.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut chars) = (vec![], String::new(), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.extend(chars.next()),
            blank if blank.is_whitespace() => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests;
